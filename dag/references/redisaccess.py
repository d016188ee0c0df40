"""The Redis of the rate limit service: its Secrets, and how it is reached.

The Secrets are in the namespace of the ContourConfiguration. Elsewhere: who counts in it
(`dag.ratelimitservice`).
"""

from collections.abc import Iterator
from urllib.parse import quote

from crds.meta import NamespacedName, ObjectRef
from crds.ratelimitservice import PASSWORD
from crds.ratelimitservice import Redis as Written
from crds.records import dataclass
from dag import nodes, tables
from dag.engine.view import Table, View
from dag.references import trust

LACKING: Table[tuple[()], str] = Table("why no Redis can be asked")
"""On one machine: what is missing there for counting in any Redis; no row if nothing is."""


@dataclass(frozen=True, slots=True)
class Redis:
    """How a client connects to a Redis."""

    url: str
    """`redis://` or, with TLS, `rediss://`; with the password, if there is one."""
    authority: bytes = b""
    """The PEM of the authorities of its certificate; empty: those of the machine."""


def read(written: Written) -> Iterator[tuple[str, str]]:
    """The Secrets that are read, and the entry of each."""
    if written.tls is not None and written.tls.ca_secret is not None:
        yield written.tls.ca_secret, "ca.crt"
    if written.password_secret is not None:
        yield written.password_secret, PASSWORD


def missing(view: View, written: Written | None, namespace: str) -> Iterator[tuple[str, str]]:
    """Why the Redis cannot be used: the field of `written`, and what is wrong with it."""
    if written is None:
        return
    if lacking := view.read(LACKING, ()):
        yield "address", lacking
    if written.tls is not None and written.tls.ca_secret is not None:
        ref = ObjectRef("Secret", namespace, written.tls.ca_secret)
        if refusal := view.ask(trust.refusal, nodes.Trust((ref,))):
            yield "tls.caSecret", refusal.message
    if (password := written.password_secret) is not None:
        name = NamespacedName(namespace, password)
        found = view.read(tables.SECRETS, name)
        if found is None:
            yield "passwordSecret", f"Secret {name} not found"
        elif not found.data.get(PASSWORD):
            yield "passwordSecret", f"Secret {name} has no {PASSWORD}"
        elif _is_padded(found.data[PASSWORD]) and view.read(tables.HOST_PORTS, ()) is None:
            text = f"the {PASSWORD} of Secret {name} begins or ends with white space"
            yield "passwordSecret", f"{text}, such as a line break"


def _is_padded(password: bytes) -> bool:
    """Whether there is white space around a password. Pods get it as it is, and Redis refuses it;
    on one machine it is left out (`reached`)."""
    return password != password.strip()


def content(view: View, written: Written, namespace: str) -> Iterator[bytes]:
    """The contents of the Secrets, in the order of `read`; missing ones are left out."""
    for name, key in read(written):
        secret = view.read(tables.SECRETS, NamespacedName(namespace, name))
        if secret is not None:
            yield secret.data.get(key, b"")


def reached(view: View, written: Written, namespace: str) -> Redis | None:
    """How to connect to the Redis; None while something is missing."""
    if next(missing(view, written, namespace), None) is not None:
        return None
    names = (key for _, key in read(written))
    held = dict(zip(names, content(view, written, namespace), strict=True))
    scheme = "redis" if written.tls is None else "rediss"
    login = _login(held.get(PASSWORD, b"").decode(errors="replace").strip())
    return Redis(f"{scheme}://{login}{written.address}", held.get("ca.crt", b""))


def _login(password: str) -> str:
    """The user part of a URL. The entry is a password, or `USER:PASSWORD`."""
    first, has_user, rest = password.partition(":")
    user, word = (first, rest) if has_user else ("", first)
    return f"{quote(user, safe='')}:{quote(word, safe='')}@" if password else ""

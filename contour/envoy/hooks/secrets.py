"""Removes private parts from Secrets for extensions, and handles the Secrets of an answer.

An extension gets a Secret without its private key, password and the like. In its answer these
private parts are restored, by the Secret's name. It may add Secrets of its own, with private parts.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from envoy.config.core.v3 import base_pb2
from envoy.extensions.transport_sockets.tls.v3 import common_pb2, secret_pb2

from contour.envoy import encoding, names
from contour.envoy.hooks import trust

Secret = secret_pb2.Secret
MOST_BYTES: Final = 1 << 20
"""The size limit of a Secret that an extension has changed or added, as in Kubernetes."""
MOST_ADDED: Final = 1_000
"""Secrets that one answer may add."""
_Private = Literal["private_key", "password", "pkcs12", "private_key_provider"]
_PRIVATE: tuple[_Private, ...] = ("private_key", "password", "pkcs12", "private_key_provider")
"""Fields of a TLS certificate."""
_KEYS: tuple[_Private, ...] = ("private_key", "pkcs12", "private_key_provider")
"""A TLS certificate is unusable without one of these."""


def without_private_parts(body: bytes) -> bytes:
    """An encoded Secret without private keys, passwords, session ticket keys, generic secrets."""
    secret = Secret.FromString(body)
    strip(secret)
    return encoding.encoded(secret)


def strip(secret: Secret) -> None:
    """Takes the private parts out of a Secret."""
    match secret.WhichOneof("type"):
        case "tls_certificate":
            for it in _PRIVATE:
                secret.tls_certificate.ClearField(it)
        case "session_ticket_keys":
            secret.session_ticket_keys.Clear()
            secret.session_ticket_keys.SetInParent()
        case "generic_secret":
            secret.generic_secret.Clear()
            secret.generic_secret.SetInParent()
        case _:
            pass


def with_private_parts(body: bytes, ours: bytes) -> bytes:
    """A Secret of a reply with the private parts of the one that we hold under its name.

    What the extension has set itself stays. If the extension has replaced the certificate of a
    Secret, the private key is not restored, because it belongs to the old certificate.
    """
    found, own = Secret.FromString(body), Secret.FromString(ours)
    kind = found.WhichOneof("type")
    if kind != own.WhichOneof("type"):
        return body
    if kind == "tls_certificate":
        _put_back(found.tls_certificate, own.tls_certificate)
    elif kind in ("session_ticket_keys", "generic_secret") and body == without_private_parts(ours):
        return ours
    return encoding.encoded(found)


def _put_back(target: common_pb2.TlsCertificate, ours: common_pb2.TlsCertificate) -> None:
    if target.certificate_chain != ours.certificate_chain:
        return
    for it in _PRIVATE:
        if ours.HasField(it) and not target.HasField(it):
            getattr(target, it).CopyFrom(getattr(ours, it))  # each of a type of its own


class Taken(NamedTuple):
    """The changed Secrets of an answer, checked."""

    secrets: Mapping[str, bytes | None]
    """By name, with their private parts; None where nothing is served."""
    refused: tuple[tuple[str, str], ...]
    """The names of those that are not served as the answer says, and why."""


def taken(found: Iterable[Secret], held: Mapping[str, bytes]) -> Taken:
    """Checks the changed Secrets; `held` are those that the extension was asked about, with their
    private parts."""
    secrets: dict[str, bytes | None] = {}
    refused: list[tuple[str, str]] = []
    added = 0
    for it in found:
        ours = held.get(it.name)
        added += ours is None
        if ours is not None and it == Secret(name=it.name):
            secrets[it.name] = None
            continue
        body = encoding.encoded(it)
        whole = body if ours is None else with_private_parts(body, ours)
        why = next(_refusals(Secret.FromString(whole), ours), None)
        if why is None and added > MOST_ADDED:
            why = f"beyond the {MOST_ADDED} that one answer may add"
        if why is None:
            secrets[it.name] = whole
            continue
        refused.append((it.name, why))
        if ours is not None:
            secrets[it.name] = None
    return Taken(secrets, tuple(refused))


def put_back(body: bytes, ours: bytes | None) -> bytes | None:
    """A Secret that was stored without private parts, with those of `ours`; None if it is
    unusable."""
    found = body if ours is None else with_private_parts(body, ours)
    return found if _can_serve(Secret.FromString(found)) else None


def _refusals(found: Secret, ours: bytes | None) -> Iterator[str]:
    if found.ByteSize() > MOST_BYTES:
        yield f"to {found.ByteSize()} bytes, of which {MOST_BYTES} are allowed"
    if ours is None and ("/" in found.name or found.name in names.OWN_SECRETS):
        yield "whose name is one of Contour's own"
    own = Secret.FromString(ours) if ours is not None else Secret()
    if ours is not None and found.WhichOneof("type") != own.WhichOneof("type"):
        yield "into one of another type"
    if not _can_serve(found):
        yield "without its private parts"
    if own.validation_context.HasField("trusted_ca") and not _verifies(found):
        yield "so that certificates are not verified"
    if found != own and any(_foreign(found)):
        yield "to refer to files or variables of Envoy's machine"


def _can_serve(found: Secret) -> bool:
    match found.WhichOneof("type"):
        case "tls_certificate":
            return any(found.tls_certificate.HasField(it) for it in _KEYS)
        case "session_ticket_keys":
            return bool(found.session_ticket_keys.keys)
        case "generic_secret":
            generic = found.generic_secret
            return generic.HasField("secret") or bool(generic.secrets)
        case it:
            return it is not None


def _verifies(found: Secret) -> bool:
    context = found.validation_context
    accepts = common_pb2.CertificateValidationContext.ACCEPT_UNTRUSTED
    return context.HasField("trusted_ca") and context.trust_chain_verification != accepts


def _foreign(found: Secret) -> Iterator[str]:
    """References to files or variables of Envoy's machine, other than its authorities."""
    rest = Secret()
    rest.CopyFrom(found)
    if rest.HasField("validation_context"):
        rest.validation_context.ClearField("trusted_ca")
    for it in trust.messages(rest):
        if isinstance(it, base_pb2.DataSource):
            which = it.WhichOneof("specifier") or ""
            if which in ("filename", "environment_variable"):
                yield which
        if isinstance(it, base_pb2.WatchedDirectory):
            yield "watched_directory"

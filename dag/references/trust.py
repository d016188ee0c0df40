"""Authorities that certificates are checked against, and what they revoked.

Read from Secrets and ConfigMaps (`ca.crt`) and Secrets (`crl.pem`). Envoy refuses a bundle in which
one certificate cannot be read, so each is parsed here; what cannot serve has no answer, and whoever
refers to it is closed: nothing is trusted then. Who may refer to which is decided by the APIs.
"""

from collections.abc import Iterator

from cryptography import x509

from crds.meta import NamespacedName, ObjectRef
from dag import hints, nodes, tables
from dag.engine.view import View, query
from dag.problems import Problem, referents

MAX_PEM = 1024 * 1024
"""Bytes of all authorities or revocations of one bundle."""


@query
def bundle(view: View, key: nodes.Trust) -> nodes.TrustBundle | None:
    """What is trusted; None while a part of it is missing or cannot be read."""
    if view.ask(refusal, key) is not None:
        return None
    authorities = b"\n".join(_authorities(view, it) or b"" for it in key.authorities)
    return nodes.TrustBundle(authorities, _revocations(view, key) or b"")


@query
def refusal(view: View, key: nodes.Trust) -> Problem | None:
    """The first thing wrong with a bundle; who refers to one asks this."""
    return next(_problems(view, key), None)


def _problems(view: View, key: nodes.Trust) -> Iterator[Problem]:
    for ref in key.authorities:
        if why := authorities_refusal(_authorities(view, ref)):
            yield referents.content_not_valid(ref, why + _hint(view, ref))
    if key.revocations is not None and (why := revocations_refusal(_revocations(view, key))):
        ref = ObjectRef("Secret", *key.revocations)
        yield referents.content_not_valid(ref, why + _hint(view, ref))


def _hint(view: View, ref: ObjectRef) -> str:
    """Which object may be meant, if this one is not there."""
    is_there = view.read(tables.BY_KIND[ref.kind], ref.key) is not None
    return "" if is_there else hints.hint(view, ref)


def authorities_refusal(pem: bytes | None) -> str | None:
    """Why this cannot be trusted, as the end of a sentence; None if it can. No object is None."""
    if pem is None:
        return "not found"
    if not pem.strip():
        return "has no ca.crt"
    if len(pem) > MAX_PEM:
        return f"has a ca.crt of more than {MAX_PEM} bytes"
    try:
        x509.load_pem_x509_certificates(pem)
    except ValueError:
        return "has a ca.crt that cannot be read"
    return None


def revocations_refusal(pem: bytes | None) -> str | None:
    """Why this is no list of revocations, as the end of a sentence; None if it is."""
    if pem is None:
        return "not found"
    if not pem.strip():
        return "has no crl.pem"
    if len(pem) > MAX_PEM:
        return f"has a crl.pem of more than {MAX_PEM} bytes"
    try:
        for block in _blocks(pem):
            x509.load_pem_x509_crl(block)
    except ValueError:
        return "has a crl.pem that cannot be read"
    return None


_END = b"-----END X509 CRL-----"


def _blocks(pem: bytes) -> Iterator[bytes]:
    blocks = [it for it in pem.split(_END) if it.strip()]
    return (it + _END for it in blocks)


def _authorities(view: View, ref: ObjectRef) -> bytes | None:
    name = NamespacedName(ref.namespace, ref.name)
    if ref.kind == "ConfigMap":
        texts = view.read(tables.CONFIG_MAPS, name)
        return texts.data.get("ca.crt", "").encode() if texts is not None else None
    found = view.read(tables.SECRETS, name)
    return found.data.get("ca.crt", b"") if found is not None else None


def _revocations(view: View, key: nodes.Trust) -> bytes | None:
    found = view.read(tables.SECRETS, key.revocations) if key.revocations else None
    return found.data.get("crl.pem", b"") if found is not None else None

"""Trust bundles: authorities that verify certificates, and their revocation lists.

Read from Secrets and ConfigMaps (`ca.crt`, `ca.crl`), ClusterTrustBundles, and Secrets (`crl.pem`).
Envoy refuses a bundle in which one certificate cannot be read, so each is parsed here. An unusable
bundle has no answer, and what refers to it is closed: nothing is trusted then. The rules of each
API decide which references are permitted.
"""

from collections.abc import Callable, Iterator

from crds.clustertrustbundle import GROUP
from crds.meta import NamespacedName, ObjectRef
from dag import hints, nodes, tables
from dag.engine.view import View, query
from dag.problems import Problem, referents
from dag.references import parsing

MAX_PEM = 1024 * 1024
"""Bytes of all authorities or revocations of one bundle."""


CLUSTER_TRUST_BUNDLE = "ClusterTrustBundle"


def kind_refusal(view: View, group: str, kind: str) -> str | None:
    """Why an object of the Gateway API may not refer to authorities of a kind; None if it may."""
    if (group, kind) in {("", "ConfigMap"), ("", "Secret")}:
        return None
    named = f"{group}/{kind}".lstrip("/")
    if (group, kind) != (GROUP, CLUSTER_TRUST_BUNDLE):
        return f"kind {named} is not supported; use ConfigMap, Secret or {CLUSTER_TRUST_BUNDLE}"
    if view.read(tables.ABSENT, kind):
        return f"the API server does not serve kind {named}; use ConfigMap or Secret"
    return None


def named(kind: str, name: NamespacedName) -> ObjectRef:
    """An object with authorities; a ClusterTrustBundle is in no namespace."""
    return ObjectRef(kind, "" if kind == CLUSTER_TRUST_BUNDLE else name.namespace, name.name)


@query
def bundle(view: View, key: nodes.Trust) -> nodes.TrustBundle | None:
    """The bundle; None while a part of it is missing or cannot be read."""
    if view.ask(refusal, key) is not None:
        return None
    authorities = b"\n".join(written(view, it, "ca.crt") or b"" for it in key.authorities)
    revoked = b"\n".join(written(view, ref, entry) or b"" for ref, entry in _lists(key))
    return nodes.TrustBundle(authorities, revoked)


@query
def refusal(view: View, key: nodes.Trust) -> Problem | None:
    """The first problem of a bundle; for rules that refer to one, which a renewal does not wake."""
    return next(_problems(view, key), None)


def _problems(view: View, key: nodes.Trust) -> Iterator[Problem]:
    for ref in key.authorities:
        if why := authorities_refusal(written(view, ref, "ca.crt"), _entry(ref)):
            yield referents.content_not_valid(ref, why + _hint(view, ref))
    for ref, entry in _lists(key):
        if why := revocations_refusal(written(view, ref, entry), entry):
            yield referents.content_not_valid(ref, why + _hint(view, ref))


def _lists(key: nodes.Trust) -> Iterator[tuple[ObjectRef, str]]:
    """The objects with revocations, each with its entry."""
    if key.revocations is not None:
        yield ObjectRef("Secret", *key.revocations), "crl.pem"
    for ref in key.lists:
        yield ref, "ca.crl"


def _hint(view: View, ref: ObjectRef) -> str:
    """A hint which object is probably meant, if this one does not exist."""
    is_there = view.read(tables.BY_KIND[ref.kind], ref.key) is not None
    return "" if is_there else hints.hint(view, ref)


def _entry(ref: ObjectRef) -> str:
    return "trustBundle" if ref.kind == CLUSTER_TRUST_BUNDLE else "ca.crt"


def authorities_refusal(pem: bytes | None, entry: str = "ca.crt") -> str | None:
    """Why these authorities cannot be used, as the end of a sentence; None if they can. `pem` is
    None if there is no object."""
    return _refusal(pem, entry, parsing.certificates)


def revocations_refusal(pem: bytes | None, entry: str = "crl.pem") -> str | None:
    """Why this is no list of revocations, as the end of a sentence; None if it is."""
    return _refusal(pem, entry, _revocation_lists)


def _refusal(pem: bytes | None, entry: str, parse: Callable[[bytes], object]) -> str | None:
    if pem is None:
        return "not found"
    if not pem.strip():
        return f"has no {entry}"
    if len(pem) > MAX_PEM:
        return f"has a {entry} of more than {MAX_PEM} bytes"
    try:
        parse(pem)
    except ValueError:
        return f"has a {entry} that cannot be read"
    return None


_END = b"-----END X509 CRL-----"


def _revocation_lists(pem: bytes) -> None:
    for block in pem.split(_END):
        if block.strip():
            parsing.revocation_list(block + _END)


def written(view: View, ref: ObjectRef, entry: str) -> bytes | None:
    """The certificates in an object, unread: of a Secret or ConfigMap those of an entry."""
    if ref.kind == CLUSTER_TRUST_BUNDLE:
        trusted = view.read(tables.CLUSTER_TRUST_BUNDLES, ref.key)
        return trusted.spec.trust_bundle.encode() if trusted is not None else None
    if ref.kind == "ConfigMap":
        texts = view.read(tables.CONFIG_MAPS, ref.key)
        return texts.data.get(entry, "").encode() if texts is not None else None
    found = view.read(tables.SECRETS, ref.key)
    return found.data.get(entry, b"") if found is not None else None

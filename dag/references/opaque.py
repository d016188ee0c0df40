"""Entries of Opaque Secrets that objects of Envoy Gateway refer to."""

from collections.abc import Callable

from crds.envoygateway.policycredentials import SecretReference
from crds.kinds import ENVOY_GATEWAY
from crds.meta import NamespacedName, ObjectRef
from dag import hints, tables
from dag.engine.view import View
from dag.problems import Refused
from dag.problems.places import Place
from dag.references import grants
from dag.values import headers

Refusing = Callable[[Place, str], Refused]
"""Makes the error to raise, from the field that cannot be served and the reason."""


def entries(view: View, at: Place, written: SecretReference, refused: Refusing) -> dict[str, bytes]:
    """The entries of a Secret; Refused if the object may not refer to it, or it does not exist."""
    if (written.group, written.kind) != ("", "Secret"):
        kind = f"{written.group}/{written.kind}".lstrip("/")[:60]
        raise refused(at, f"kind {kind} is not supported; use Secret")
    own = at.subject.namespace
    key = NamespacedName(written.namespace or own, written.name)
    referrer = grants.Referrer(ENVOY_GATEWAY, at.subject.kind, own)
    if not grants.is_granted(view, referrer, grants.Target("", "Secret", *key)):
        why = f"no ReferenceGrant in namespace {key.namespace} permits Secret {key}"
        raise refused(at, why)
    found = view.read(tables.SECRETS, key)
    if found is None:
        hint = hints.hint(view, ObjectRef("Secret", *key))
        raise refused(at, f"Secret {key} not found{hint}")
    if found.type != "Opaque":
        raise refused(at, f"Secret {key} is of type {found.type[:60]}, not Opaque")
    return found.data


def as_text(entry: bytes) -> str:
    """The value as text, without the line break that editors append; empty if it is no header
    value."""
    try:
        found = entry.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        return ""
    return found if headers.value_refusal(found) is None else ""

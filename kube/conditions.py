"""Conditions in a status (Kubernetes API conventions, "Typical status properties")."""

from collections.abc import Mapping

from crds import raw
from crds.raw import Raw


def by_type(status: Mapping[str, object]) -> dict[str, Raw]:
    """The conditions of a status."""
    found = filter(raw.is_mapping, raw.items(status.get("conditions")))
    return {str(it["type"]): it for it in found if "type" in it}


def stamped(condition: Raw, before: Mapping[str, object], now: str) -> Raw:
    """A condition with its lastTransitionTime: kept as long as its status stays the same."""
    is_same = before.get("status") == condition["status"]
    since = before.get("lastTransitionTime") if is_same else None
    return {**condition, "lastTransitionTime": since or now}

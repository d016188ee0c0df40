"""Conditions in a status (Kubernetes API conventions, "Typical status properties")."""

from collections.abc import Mapping
from typing import Any

Raw = dict[str, Any]


def by_type(status: Mapping[str, Any]) -> dict[str, Raw]:
    """The conditions of a status."""
    return {it["type"]: it for it in status.get("conditions") or () if "type" in it}


def stamped(condition: Raw, before: Mapping[str, Any], now: str) -> Raw:
    """With the time of its last transition: kept as long as its status is what it was before."""
    is_same = before.get("status") == condition["status"]
    since = before.get("lastTransitionTime") if is_same else None
    return {**condition, "lastTransitionTime": since or now}

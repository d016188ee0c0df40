"""On which node does a pod run? What a scheduler decides, as far as tests need it. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

Raw = dict[str, Any]


def choice(pod: Raw, nodes: Sequence[Raw], pods: Sequence[Raw]) -> str | None:
    """The fitting node with the fewest pods of the same owner, then of all; None if none fits."""
    fitting: list[str] = [it["metadata"]["name"] for it in nodes if _fits(pod, it)]
    if not fitting:
        return None
    owner = _owner(pod)
    placed = [it for it in pods if it["spec"].get("nodeName")]
    same = Counter(it["spec"]["nodeName"] for it in placed if owner and _owner(it) == owner)
    total = Counter(it["spec"]["nodeName"] for it in placed)
    return min(fitting, key=lambda it: (same[it], total[it], it))


def _fits(pod: Raw, node: Raw) -> bool:
    labels = node["metadata"].get("labels") or {}
    wanted = pod["spec"].get("nodeSelector") or {}
    if any(labels.get(name) != value for name, value in wanted.items()):
        return False
    return _is_tolerated(pod, node) and _is_affine(pod, node)


def _is_affine(pod: Raw, node: Raw) -> bool:
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    fields = {"metadata.name": node["metadata"]["name"]}
    labels = node["metadata"].get("labels") or {}
    return any(
        all(_matches(it, labels) for it in term.get("matchExpressions") or ())
        and all(_matches(it, fields) for it in term.get("matchFields") or ())
        for term in required["nodeSelectorTerms"]
    )


def _matches(wish: Raw, found: Mapping[str, str]) -> bool:
    value, values = found.get(wish["key"]), wish.get("values") or ()
    match wish["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None


def _is_tolerated(pod: Raw, node: Raw) -> bool:
    taints = [it for it in node["spec"].get("taints") or () if it["effect"] != "PreferNoSchedule"]
    tolerations = pod["spec"].get("tolerations") or ()
    return all(any(_tolerates(one, taint) for one in tolerations) for taint in taints)


def _tolerates(toleration: Raw, taint: Raw) -> bool:
    if toleration.get("effect") not in {None, "", taint["effect"]}:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return toleration.get("key") in {None, "", taint["key"]}
    wanted = toleration.get("key"), toleration.get("value", "")
    return wanted == (taint["key"], taint.get("value", ""))


def _owner(pod: Raw) -> str:
    return next((str(it["uid"]) for it in pod["metadata"].get("ownerReferences") or ()), "")

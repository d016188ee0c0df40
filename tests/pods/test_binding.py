"""On which node a pod runs."""

from typing import Any

import pytest

from tests.pods import binding

Raw = dict[str, Any]


def node(name: str, taints: tuple[Raw, ...] = (), **labels: str) -> Raw:
    return {"metadata": {"name": name, "labels": labels}, "spec": {"taints": list(taints)}}


def pod(name: str, owner: str = "", place: str = "", **spec: Any) -> Raw:
    owners = [{"uid": owner}] if owner else []
    spec |= {"nodeName": place} if place else {}
    return {"metadata": {"name": name, "ownerReferences": owners}, "spec": spec}


def pinned(name: str) -> Raw:
    wish = {"key": "metadata.name", "operator": "In", "values": [name]}
    terms = {"nodeSelectorTerms": [{"matchFields": [wish]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}
NODES = [node("a", zone="x"), node("b", zone="y"), node("c", (TAINT,))]


@pytest.mark.parametrize(
    ("spec", "chosen"),
    [
        ({}, "a"),
        ({"nodeSelector": {"zone": "y"}}, "b"),
        ({"nodeSelector": {"zone": "z"}}, None),
        ({"affinity": pinned("b")}, "b"),
        ({"affinity": pinned("c")}, None),
        ({"affinity": pinned("c"), "tolerations": [{"operator": "Exists"}]}, "c"),
        ({"affinity": pinned("c"), "tolerations": [{"key": "k", "value": "v"}]}, "c"),
        ({"affinity": pinned("c"), "tolerations": [{"key": "k", "value": "w"}]}, None),
    ],
)
def test_a_pod_runs_where_it_fits(spec: Raw, chosen: str | None) -> None:
    assert binding.choice(pod("p", **spec), NODES, []) == chosen


def test_pods_of_an_owner_are_spread_and_then_all() -> None:
    placed = [pod("1", "o", "a"), pod("2", "other", "b"), pod("3", "other", "b")]
    assert binding.choice(pod("p", "o"), NODES, placed) == "b"
    assert binding.choice(pod("p", "new"), NODES, placed) == "a"

"""Statuses as Kubernetes stores them."""

from typing import Any

import pytest

from contour.status import rendering
from crds.gateway.references import ParentReference
from dag import statuses

Raw = dict[str, Any]

GROUP = "gateway.networking.k8s.io"


@pytest.mark.parametrize(
    ("parent", "told"),
    [
        (ParentReference(name="edge"), {"group": GROUP, "kind": "Gateway", "name": "edge"}),
        # The schema fills in the group of the Gateway API where there is none.
        (
            ParentReference(group="", kind="Service", name="echo", port=50051),
            {"group": "", "kind": "Service", "name": "echo", "port": 50051},
        ),
    ],
)
def test_a_parent_is_named_as_the_route_names_it(parent: ParentReference, told: Raw) -> None:
    found = statuses.RouteStatus((statuses.ParentStatus(parent, "example.com/ours", ()),))
    entry: Raw = {"parentRef": told, "controllerName": "example.com/ours", "conditions": []}
    assert rendering.status(found) == {"parents": [entry]}

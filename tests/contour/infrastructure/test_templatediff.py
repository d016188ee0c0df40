"""Which settings are said to have changed between two templates."""

import json
from dataclasses import replace
from typing import Any

import pytest

from contour.infrastructure import desired, templatediff
from contour.infrastructure.desired import Release
from contour.infrastructure.newpods import MARK
from crds.custombootstrap import CustomBootstrap
from dag.envoyproxy.asked import OwnBootstrap
from dag.fleets import Fleet
from provisioning.keeping import annotations
from provisioning.keeping.ownership import Owner
from tests.contour.infrastructure.rig import of

USUAL = of(type="Deployment")
OTHER_PODS = of(type="Deployment", pod_annotations={"a": "b"}, drain_time_seconds=7)


def _starting(name: str, fleet: Fleet = USUAL, port: int = 19000) -> Fleet:
    admin = {"address": {"socket_address": {"address": "127.0.0.1", "port_value": port}}}
    value = {"admin": admin, "static_resources": {"clusters": [{"name": name}]}}
    custom = CustomBootstrap(type="Merge", value=json.dumps(value))
    return replace(fleet, bootstrap=OwnBootstrap(custom, "spec.envoy.bootstrap"))


def _template(fleet: Fleet) -> dict[str, Any]:
    every = desired.documents(Release(Owner("system", "contour")), fleet, "contour")
    (workload,) = (it for it in every if it["kind"] == "Deployment")
    return dict(annotations.template(workload))


def _as_stored(template: dict[str, Any]) -> dict[str, Any]:
    """With what an API server adds, and the mark of another template."""
    found = json.loads(json.dumps(annotations.annotated(template, {MARK: "other"})))
    for part in ("initContainers", "containers"):
        for container in found["spec"][part]:
            container["terminationMessagePath"] = "/dev/termination-log"
            container.setdefault("env", [])
    return {**found, "metadata": {**found["metadata"], "creationTimestamp": None}}


@pytest.mark.parametrize(
    ("before", "after", "concern"),
    [
        (USUAL, _starting("a"), "bootstrap"),
        (_starting("a"), _starting("b"), "bootstrap"),
        (_starting("a"), _starting("a", port=19001), "bootstrap"),
        (_starting("a"), USUAL, "bootstrap"),
        (USUAL, OTHER_PODS, "workload"),
        (_starting("a"), _starting("a", OTHER_PODS), "workload"),
        (_starting("a"), _starting("b", OTHER_PODS), "all"),
    ],
)
def test_the_bootstrap_is_told_apart_from_the_rest(
    before: Fleet, after: Fleet, concern: str
) -> None:
    assert templatediff.changed_setting(_as_stored(_template(before)), _template(after)) == concern

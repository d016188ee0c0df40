"""A fleet on the real API server: made, kept and left alone by `contour serve`."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.e2e import incluster
from tests.e2e.incluster import Instance
from tests.testbed.apiserver import RefusedError

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]

CONFIGURATION: Raw = {
    "apiVersion": "projectcontour.io/v1alpha1",
    "kind": "ContourConfiguration",
    "metadata": {"name": "contour"},
}
PUBLISHED: Raw = {"networkPublishing": {"type": "ClusterIPService"}}

_VERSIONS = {
    "ServiceAccount": "v1",
    "Service": "v1",
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "PodDisruptionBudget": "policy/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
}


@pytest.fixture
def instance(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Instance]:
    with incluster.instance(cluster, namespace, tmp_path) as found:
        yield found


def test_a_fleet_is_made_repaired_and_left_alone_when_it_is_handed_over(
    instance: Instance,
) -> None:
    configure(instance, PUBLISHED)
    instance.start_replica()
    instance.until(lambda: len(fleet(instance)) == 4, "the fleet")
    assert set(fleet(instance)) == {"ServiceAccount", "Service", "DaemonSet", "NetworkPolicy"}
    service = fleet(instance)["Service"]
    assert {it["name"]: it["port"] for it in service["spec"]["ports"]} == {"http": 80, "https": 443}
    assert all("ownerReferences" not in it["metadata"] for it in fleet(instance).values())
    instance.until_condition("ContourConfiguration", "contour", "Valid", status="True")
    # What others have edited or removed is as it was.
    edit(instance, "Service", {"metadata": {"annotations": {"example.com/foreign": "kept"}}})
    image = "example.com/other:1"
    edit(instance, "DaemonSet", {"spec": {"template": {"spec": {"containers": [
        {"name": "envoy", "image": image}]}}}})  # fmt: skip
    instance.until(lambda: image not in json.dumps(fleet(instance)["DaemonSet"]), "the image")
    delete(instance, "Service")
    instance.until(lambda: "Service" in fleet(instance), "the Service")
    # Handed over, it belongs to its users.
    configure(instance, PUBLISHED | {"managed": False})


def configure(instance: Instance, envoy: Raw, **spec: Any) -> None:
    """Says how the fleet is to be."""
    metadata = CONFIGURATION["metadata"] | {"namespace": instance.namespace}
    document = CONFIGURATION | {"metadata": metadata, "spec": {"envoy": envoy, **spec}}
    instance.cluster.apply(document)


def fleet(instance: Instance, name: str = "envoy") -> dict[str, Raw]:
    """The objects of that name, by kind."""
    found = {}
    for kind in _VERSIONS:
        with contextlib.suppress(RefusedError):
            found[kind] = instance.cluster.get(named(instance, kind, name))
    return found


def named(instance: Instance, kind: str, name: str = "envoy") -> Raw:
    metadata = {"name": name, "namespace": instance.namespace}
    return {"apiVersion": _VERSIONS[kind], "kind": kind, "metadata": metadata}


def edit(instance: Instance, kind: str, change: Raw) -> None:
    """As `kubectl edit` would."""
    path = instance.cluster.path(named(instance, kind))
    media = "application/strategic-merge-patch+json"
    instance.cluster.ask("PATCH", path, change, media, fieldManager="kubectl-edit")


def delete(instance: Instance, kind: str) -> None:
    instance.cluster.delete(named(instance, kind))

"""Whether Envoys wait for the control plane, by the images of both; on the double."""

from typing import Any

import pytest

from contour.infrastructure.desired import Release
from contour.infrastructure.upgrading import Upgrades
from kube.client import Client
from provisioning.keeping.ownership import Owner
from tests.cluster.double.server import Double
from tests.kube.unguarded import Unguarded

Raw = dict[str, Any]

OURS, ENVOY = "ghcr.io/example/contour:2", "docker.io/envoyproxy/envoy:v1"
COMPLETE: Raw = dict.fromkeys(("observedGeneration", "replicas", "updatedReplicas"), 1)
WAITS = "Envoys wait for a control plane of the newest release"


def workload(name: str, *images: str) -> Raw:
    """A Deployment with these images, completely rolled out."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "home", "generation": 1},
        "spec": {
            "replicas": 1,
            "template": {"spec": {"containers": [{"image": it} for it in images]}},
        },
        "status": COMPLETE | {"availableReplicas": 1},
    }


MIRROR = "mirror.example:5000"


@pytest.mark.parametrize(
    ("release", "control_plane", "live", "told"),
    [
        pytest.param(OURS, OURS, ENVOY, "", id="the same"),
        pytest.param(OURS, f"{MIRROR}/contour:2", f"{MIRROR}/envoy:v1", "", id="mirrored"),
        pytest.param(OURS, f"{MIRROR}/a/contour:2", f"{MIRROR}/envoy:v0", "", id="upgrade"),
        pytest.param(OURS, f"{OURS}@sha256:ab", f"{ENVOY}@sha256:cd", "", id="resolved"),
        pytest.param(OURS, f"{MIRROR}/contour:1", f"{MIRROR}/envoy:v0", WAITS, id="older"),
        pytest.param(
            f"{OURS}@sha256:ab", f"{OURS}@sha256:cd", f"{MIRROR}/envoy:v0", WAITS, id="other digest"
        ),
    ],
)
async def test_envoys_wait_for_a_control_plane_of_the_newest_release(
    release: str, control_plane: str, live: str, told: str
) -> None:
    async with Double() as double, Client(Unguarded(double.url)) as client:
        double.add_namespace("home")
        double.put(workload("contour", control_plane))
        upgrades = Upgrades(client, Release(Owner("home", "contour"), image=release))
        found = await upgrades.obstacle(workload("envoy", ENVOY), workload("envoy", live))
    assert (found.message if found else "") == told

"""A cluster with pods and our installation in it, ready for the suite.

All of it is what users have: a real API server, manifests of ours as `kubectl apply` takes them,
the installed wheel as pods with their own rights, Envoys that the instance makes for each Gateway.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.cluster import prepared
from tests.cluster.cluster import OURS, Cluster
from tests.conformance import command
from tests.conformance.programs import Release
from tests.pods import images, runner
from tests.testbed.processes import CONTOUR

Raw = dict[str, Any]

CONTROLLER = "projectcontour.io/gateway-controller"
NAMESPACE = "projectcontour"
_UNUSABLE = "203.0.113.9"  # for documentation only (RFC 5737): no balancer has it

_CLASS: Raw = {
    "apiVersion": "gateway.networking.k8s.io/v1",
    "kind": "GatewayClass",
    "metadata": {"name": command.GATEWAY_CLASS},
    "spec": {"controllerName": CONTROLLER},
}
_CLASS_NAME = f"gatewayclass/{command.GATEWAY_CLASS}"
_CONFIGURATION: Raw = {
    "apiVersion": "projectcontour.io/v1alpha1",
    "kind": "ContourConfiguration",
    "metadata": {"name": "contour", "namespace": NAMESPACE},
    "spec": {
        "gateway": {"controllerName": CONTROLLER, "mode": "PerGateway"},
        "envoy": {
            "networkPublishing": {"type": "LoadBalancerService"},
            "workload": {"type": "Deployment", "replicas": 1},
        },
    },
}


@dataclass(frozen=True, slots=True)
class World:
    """What the suite has to know."""

    kubeconfig: Path
    usable_address: str
    unusable_address: str = _UNUSABLE


@contextmanager
def running(folder: Path, release: Release, channel: str) -> Iterator[World]:
    """Starts everything; what was written to logs is in the folder in the end."""
    shutil.rmtree(folder / "logs", ignore_errors=True)
    with (
        prepared.running(folder / "cluster", OURS, release.crds(channel)) as cluster,
        runner.running(cluster) as pods,
        tempfile.TemporaryDirectory() as place,
    ):
        _add_images(pods, release, Path(place))
        try:
            _install(cluster)
            pods.until_ready(NAMESPACE, "app=contour", count=2)
            _kubectl(cluster, "wait", "--for=condition=Accepted", _CLASS_NAME, "--timeout=60s")
            yield World(cluster.admin, pods.spare_address)
        finally:
            _keep_logs(pods, folder / "logs")


def _add_images(pods: runner.Pods, release: Release, place: Path) -> None:
    """What the suite deploys lies where no volume of its pods hides it: CoreDNS mounts /root."""
    pods.known("contour-ingress:*", images.ours())
    pods.known("docker.io/envoyproxy/envoy:*", images.envoy())
    for pattern, program in release.servers.items():
        pods.add_image(pattern, str(shutil.copy(program.path, place / program.name)))


def _install(cluster: Cluster) -> None:
    """As the documents say, with Envoys that the instance makes instead of those beside it."""
    printed = subprocess.run(
        [*CONTOUR, "manifests", "--gateway-fleets"], capture_output=True, text=True, check=True
    ).stdout
    documents = yaml.load_all(printed, yaml.CSafeLoader)
    chosen = [it for it in documents if it["metadata"]["name"] != "envoy"]
    chosen = [it for it in chosen if it["kind"] != "ContourConfiguration"]
    _apply(cluster, [*chosen, _CONFIGURATION, _CLASS])


def _apply(cluster: Cluster, documents: list[Raw]) -> None:
    manifest = {"apiVersion": "v1", "kind": "List", "items": documents}
    _kubectl(cluster, "apply", "-f", "-", stdin=json.dumps(manifest))


def _kubectl(cluster: Cluster, *arguments: str, stdin: str = "") -> None:
    found = cluster.kubectl(*arguments, stdin=stdin)
    if found.returncode:
        raise RuntimeError(found.stderr)


def _keep_logs(pods: runner.Pods, folder: Path) -> None:
    """Of the control plane: those of the suite's backends are the suite's business."""
    folder.mkdir(parents=True, exist_ok=True)
    for pod in pods.all(NAMESPACE):
        name = pod["metadata"]["name"]
        (folder / f"{name}.log").write_text(pods.logs(NAMESPACE, name))

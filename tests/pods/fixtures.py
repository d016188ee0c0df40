"""The fixtures of pods: a control plane of its own for each worker, with nodes.

Where pods cannot run, the tests that ask for them are skipped and say why; in CI (`CI=true`) that
is an error.
"""

import os
from collections.abc import Iterator

import pytest

from tests import golang
from tests.cluster import assets, controlplane, prepared
from tests.cluster.cluster import default_crds
from tests.pods import images, runner

CONTROLLERS = (
    *controlplane.CONTROLLERS,
    *("cronjob-controller", "node-lifecycle-controller", "taint-eviction-controller"),
)


def demand() -> None:
    """Skips the test where pods cannot run; in CI, fails."""
    missing = runner.missing()
    try:
        assets.commands()
        assets.gateway_api_crds()
    except golang.MissingError as error:
        missing = missing or str(error)
    if missing and os.environ.get("CI", "") not in {"", "false", "0"}:
        pytest.fail(f"CI needs pods: {missing}")
    if missing:
        pytest.skip(f"pods: {missing}")


@pytest.fixture(scope="session")
def pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[runner.Pods]:
    """All CRDs, two nodes; images `shell` (/bin/sh -c) and `backends` (`contour.demo.backends`)."""
    demand()
    folder = tmp_path_factory.mktemp("pods") / "cluster"
    with (
        prepared.running(folder, *default_crds(), controllers=CONTROLLERS) as cluster,
        runner.running(cluster, nodes=2) as it,
    ):
        it.add_image("shell", "/bin/sh", "-c")
        it.known("backends", images.backends())
        yield it


@pytest.fixture(scope="session")
def installed(pods: runner.Pods) -> runner.Pods:
    """The same, with Envoy's image and ours: the wheel, installed."""
    pods.known("docker.io/envoyproxy/envoy:*", images.envoy())
    pods.known("contour-ingress:*", images.ours())
    return pods


@pytest.fixture
def space(pods: runner.Pods) -> Iterator[str]:
    """A namespace, which is deleted with its pods; nobody waits for that."""
    name = pods.cluster.namespace()
    yield name
    pods.cluster.delete_namespace(name)

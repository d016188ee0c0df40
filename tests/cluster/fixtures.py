"""The fixtures of a real cluster, which `tests/conftest.py` makes known to all tests.

Without the binaries, tests that use these fixtures are skipped with the reason; in CI (`CI=true`)
the binaries are built before the first test, and no test is skipped.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import golang
from tests.cluster import assets, controlplane, prepared, shared
from tests.cluster.cluster import Cluster

Start = Callable[[], controlplane.ControlPlane]


def pytest_configure(config: pytest.Config) -> None:
    """Registers the marker of tests that need a real API server."""
    config.addinivalue_line("markers", "cluster: needs a real kube-apiserver")


def pytest_sessionstart(session: pytest.Session) -> None:
    """In CI, builds the binaries once, before the workers start: in a test it would take too
    long."""
    if _is_ci() and not hasattr(session.config, "workerinput"):
        try:
            assets.build()
        except golang.MissingError as error:
            pytest.exit(f"CI needs a real cluster: {error}", returncode=3)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Cluster]:
    """A cluster that all tests of this run share, with our CRDs and those of the Gateway API.

    A test has to use a namespace of its own, since others use the cluster at the same time.
    """
    _demand(assets.commands, assets.gateway_api_crds)
    temporary = tmp_path_factory.getbasetemp()
    with shared.joined(
        (temporary if worker_id == "master" else temporary.parent) / "cluster"
    ) as it:
        yield it


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """A new namespace of the shared cluster, which is deleted afterwards."""
    name = cluster.namespace()
    yield name
    cluster.delete_namespace(name)


@pytest.fixture(scope="session")
def empty_namespace(cluster: Cluster) -> str:
    """A namespace shared by tests that store nothing in it (`dryRun`), because deleting one costs
    the controllers some 140 requests."""
    return cluster.namespace("empty")


@pytest.fixture
def start_control_plane(tmp_path: Path) -> Iterator[Start]:
    """Starts a control plane of the test's own (3 s), without CRDs, to stop, restart and rewind.

    `Cluster(it.folder)` sends requests to it.
    """
    _demand(assets.commands)
    with ExitStack() as running:
        count = iter(range(10))
        yield lambda: running.enter_context(
            controlplane.ControlPlane(tmp_path / f"cluster-{next(count)}", stored=prepared.stored())
        )


def _demand(*needs: Callable[[], object]) -> None:
    try:
        for need in needs:
            need()
    except golang.MissingError as error:
        if _is_ci():
            raise
        pytest.skip(f"real cluster: {error}")


def _is_ci() -> bool:
    return os.environ.get("CI", "") not in {"", "false", "0"}

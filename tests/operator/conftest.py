"""The rigs that the tests of the operator ask for."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.operator.operators import Rig, namespace


@pytest.fixture
def rig(cluster: Cluster, tmp_path: Path) -> Iterator[Rig]:
    """Rights and a namespace of its own; no operator yet."""
    with _granted(cluster, tmp_path) as found, _with_namespace(found) as it:
        yield it


@pytest.fixture
def operated(operator_of_worker: Rig) -> Iterator[Rig]:
    """A namespace of its own, where an operator is at work that is not to be harmed."""
    with _with_namespace(operator_of_worker) as it:
        yield it


@pytest.fixture(scope="session")
def operator_of_worker(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """An operator that lives as long as the tests."""
    with _granted(cluster, tmp_path_factory.mktemp("operator")) as found:
        found.start(f"--watch-namespaces={found.prefix}-*")
        yield found


@contextmanager
def _granted(cluster: Cluster, folder: Path) -> Iterator[Rig]:
    home = cluster.namespace("home")
    found = Rig(cluster, home, home.replace("home", "instance"), folder)
    found.grant()
    try:
        yield found
    finally:
        for it in found.operators:
            it.process.kill()
            it.process.wait()
        found.revoke()
        cluster.delete(namespace(home))


@contextmanager
def _with_namespace(rig: Rig) -> Iterator[Rig]:
    name = rig.cluster.namespace(rig.prefix)
    yield dataclasses.replace(rig, namespace=name)
    rig.cluster.delete(namespace(name))

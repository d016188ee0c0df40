"""The rigs that the tests of the operator ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.operator import operators
from tests.operator.operators import Rig


@pytest.fixture
def rig(cluster: Cluster, tmp_path: Path) -> Iterator[Rig]:
    """Rights and a namespace of its own; no operator yet."""
    with operators.granted(cluster, tmp_path) as found, operators.in_a_namespace(found) as it:
        yield it


@pytest.fixture
def operated(operator_of_worker: Rig) -> Iterator[Rig]:
    """A namespace of its own, where an operator is at work that is not to be harmed."""
    with operators.in_a_namespace(operator_of_worker) as it:
        yield it


@pytest.fixture(scope="session")
def operator_of_worker(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """An operator that lives as long as the tests."""
    with operators.granted(cluster, tmp_path_factory.mktemp("operator")) as found:
        found.start(f"--watch-namespaces={found.prefix}-*")
        yield found

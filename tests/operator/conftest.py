"""The rig that the tests of the operator ask for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.operator.operators import Rig


@pytest.fixture
def rig(cluster: Cluster, tmp_path: Path) -> Iterator[Rig]:
    """Rights and namespaces; no operator yet."""
    found = Rig(cluster, cluster.namespace("home"), cluster.namespace("instance"), tmp_path)
    found.grant()
    yield found
    for it in found.operators:
        it.process.kill()
        it.process.wait()
    found.revoke()
    for name in (found.home, found.namespace):
        cluster.delete({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

"""Sites: each test, or file, has a control plane of its own, for what our manifests make is
cluster-wide."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster import assets, prepared
from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import Start
from tests.pods.fixtures import demand
from tests.workflows.site import Site, opened


@pytest.fixture
def bare_site(start_control_plane: Start) -> Iterator[Site]:
    """Without any CRD."""
    demand()
    with opened(Cluster(start_control_plane().folder)) as it:
        yield it


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """With the CRDs of the Gateway API."""
    with _prepared(tmp_path / "cluster") as it:
        yield it


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """As `site`, for a file whose tests can follow one another in any order."""
    with _prepared(tmp_path_factory.mktemp("site")) as it:
        yield it


@contextmanager
def _prepared(folder: Path) -> Iterator[Site]:
    demand()
    with (
        prepared.running(folder, assets.gateway_api_crds()) as cluster,
        opened(cluster) as it,
    ):
        yield it

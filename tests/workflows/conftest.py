"""Sites: each test, or file, has a control plane of its own, for what our manifests make is
cluster-wide."""

from collections.abc import Iterator

import pytest

from tests.cluster import assets, controlplane
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
def site(bare_site: Site) -> Site:
    """With the CRDs of the Gateway API, as its guide installs them."""
    bare_site.cluster.install_crds(assets.gateway_api_crds())
    return bare_site


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """As `site`, for a file whose tests can follow one another in any order."""
    demand()
    folder = tmp_path_factory.mktemp("site")
    with (
        controlplane.ControlPlane(folder) as running,
        opened(Cluster(running.folder)) as it,
    ):
        it.cluster.install_crds(assets.gateway_api_crds())
        yield it

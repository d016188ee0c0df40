"""One instance for all tests that need nothing but answers: every host belongs to one of them."""

from collections.abc import Iterator

import pytest

from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, flaky_backend, pairs
from tests.testbed.processes import wait

_MANIFESTS = (
    *("services.yaml", "ingress.yaml", "conditions.yaml", "httpproxy.yaml", "tls.yaml"),
    *("gateway.yaml", "layers.yaml", "live.yaml", "hardened.yaml"),
)


@pytest.fixture(scope="session")
def _common(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    authority = certificates.authority()
    pair = certificates.issued(authority, "*.example.com")
    files = {name: manifest(name) for name in _MANIFESTS}
    files["secret.yaml"] = pairs.of("certificate", pair)
    folder = tmp_path_factory.mktemp("standalone")
    with flaky_backend.serving() as port, standalone(folder, files, {"flaky": port}) as running:
        running.authority = authority
        yield running


@pytest.fixture
def instance(_common: Standalone) -> Iterator[Standalone]:
    """The instance as every other test finds it: what a test changes is undone after it."""
    before = _common.written()
    told, chains = _common.status(), _common.filter_chains()
    yield _common
    if _common.written() != before:
        _common.write_all(before)
        wait(lambda: _common.status() == told, "the statuses as they were before the test")
        wait(lambda: _common.filter_chains() == chains, "the filter chains as before")

"""One instance for all tests that need nothing but answers: every host belongs to one of them."""

from collections.abc import Iterator

import pytest

from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, flaky_backend, pairs

_MANIFESTS = (
    *("services.yaml", "ingress.yaml", "conditions.yaml", "httpproxy.yaml", "tls.yaml"),
    *("gateway.yaml", "layers.yaml", "live.yaml"),
)


@pytest.fixture(scope="session")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    authority = certificates.authority()
    pair = certificates.issued(authority, "*.example.com")
    files = {name: manifest(name) for name in _MANIFESTS}
    files["secret.yaml"] = pairs.of("certificate", pair)
    folder = tmp_path_factory.mktemp("standalone")
    with flaky_backend.serving() as port, standalone(folder, files, {"flaky": port}) as running:
        running.authority = authority
        yield running

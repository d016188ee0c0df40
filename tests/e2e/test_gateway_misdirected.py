"""Requests for a host of another listener, by a real Envoy: the table of the API's own suite."""

import http.client
import ssl
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.dag.gateway import test_misdirected as table
from tests.e2e.standalone import Standalone, exchange, manifest, standalone
from tests.testbed import certificates, pairs

pytestmark = pytest.mark.envoy


@pytest.fixture(scope="module", name="running")
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    pair = certificates.issued(certificates.authority(), "example.org")
    files = {
        "services.yaml": manifest("services.yaml"),
        "gateway.yaml": table.manifests("one"),
        "secret.yaml": pairs.of("cert", pair),
    }
    with standalone(tmp_path_factory.mktemp("misdirected"), files) as running:
        yield running


@pytest.mark.parametrize(("server_name", "requested", "status"), table.ROWS)
def test_what_a_request_is_answered(
    running: Standalone, server_name: str, requested: str, status: int
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPConnection("127.0.0.1", running.ports["https"], timeout=10)
    connection.connect()
    connection.sock = context.wrap_socket(connection.sock, server_hostname=server_name)
    with closing(connection):
        assert exchange(connection, requested, "/").status == status

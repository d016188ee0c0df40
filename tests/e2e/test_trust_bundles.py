"""ClusterTrustBundles as authorities of clients and of backends (Gateway API 1.7, experimental)."""

import contextlib
import http.client
import ssl
from collections.abc import Iterator

import pytest

from tests.e2e import peers
from tests.e2e.standalone import Standalone, exchange, manifest, standalone
from tests.testbed import certificates, pairs
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_GOOD, _OTHER = certificates.authority("good"), certificates.authority("other")
_HOST = "www.example.com"
_POLICY = "BackendTLSPolicy default/proving"


@pytest.fixture(scope="module", name="trusting")
def _trusting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    folder = tmp_path_factory.mktemp("bundles")
    shown = certificates.issued(_GOOD, "inner.example.com")
    (folder / "backend").mkdir()
    with peers.over_tls(shown, _GOOD, folder / "backend") as port:
        files = {
            "gateway.yaml": manifest("trust_bundles.yaml"),
            "certificate.yaml": pairs.of("certificate", certificates.issued(_GOOD, _HOST)),
            "service.yaml": peers.service("proving", port),
            "doubted.yaml": peers.service("doubted", port),
            "others.yaml": pairs.trust_bundle("others", _OTHER.pem),
            "clients.yaml": pairs.trust_bundle("clients", _GOOD.pem),
            "backends.yaml": pairs.trust_bundle("backends", _GOOD.pem),
        }
        with standalone(folder, files, {"proving": port}) as running:
            running.authority = _GOOD
            yield running


_UNUSABLE = {"deleted": None, "empty": b"", "unreadable": b"-----BEGIN CERTIFICATE-----"}


def _spoil(running: Standalone, name: str, pem: bytes | None) -> None:
    if pem is None:
        running.remove(f"{name}.yaml")
    else:
        running.write(f"{name}.yaml", pairs.trust_bundle(name, pem))


@pytest.mark.parametrize("pem", _UNUSABLE.values(), ids=_UNUSABLE)
def test_a_backend_gets_no_request_while_its_bundle_cannot_be_read(
    trusting: Standalone, pem: bytes | None
) -> None:
    trusting.until_status(f"http://{_HOST}/", 200)
    _spoil(trusting, "backends", pem)
    trusting.until_status(f"http://{_HOST}/", 500)
    assert "ClusterTrustBundle backends" in trusting.reasons(_POLICY)
    trusting.write("backends.yaml", pairs.trust_bundle("backends", _GOOD.pem))
    trusting.until_status(f"http://{_HOST}/", 200)


def test_a_backend_of_another_authority_gets_no_request(trusting: Standalone) -> None:
    trusting.until_status(f"http://{_HOST}/doubted", 503)
    assert trusting.reasons("BackendTLSPolicy default/doubted") == ""
    trusting.write("others.yaml", pairs.trust_bundle("others", _GOOD.pem))
    trusting.until_status(f"http://{_HOST}/doubted", 200)


@pytest.mark.parametrize(
    "pem", [*_UNUSABLE.values(), _OTHER.pem], ids=[*_UNUSABLE, "of another authority"]
)
def test_a_client_gets_in_only_while_the_bundle_has_its_authority(
    trusting: Standalone, pem: bytes | None
) -> None:
    wait(lambda: _gets_in(trusting), "a client that gets in")
    assert not _gets_in(trusting, _OTHER), "a certificate of another authority"
    assert not _gets_in(trusting, None), "no certificate"
    _spoil(trusting, "clients", pem)
    wait(lambda: not _gets_in(trusting), "a client that is refused")
    trusting.write("clients.yaml", pairs.trust_bundle("clients", _GOOD.pem))
    wait(lambda: _gets_in(trusting), "a client that gets in again")


def _gets_in(running: Standalone, by: certificates.Pair | None = _GOOD) -> bool:
    """Whether a client with a certificate of an authority is answered."""
    context = running.trusting()
    if by is not None:
        certificates.show(context, certificates.issued(by, "client"))
    try:
        port, address = running.ports["https"], "127.0.0.1"
        with contextlib.closing(
            http.client.HTTPConnection(address, port, timeout=10)
        ) as connection:
            connection.connect()
            connection.sock = context.wrap_socket(connection.sock, server_hostname=_HOST)
            return exchange(connection, _HOST, "/").status == 200
    except (ConnectionError, ssl.SSLError):
        return False

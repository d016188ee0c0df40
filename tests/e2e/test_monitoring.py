"""Where Envoy tells how it is, as the configuration says: live, and no more than was asked for."""

import contextlib
import http.client
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates
from tests.testbed.ports import free_ports
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy


@dataclass
class Watched:
    """An instance, and ports that nobody has."""

    instance: Standalone
    ports: tuple[int, ...]
    folder: Path
    clients: certificates.Pair

    def configure(self, envoy: str) -> None:
        self.instance.write(
            "configuration.yaml",
            "apiVersion: projectcontour.io/v1alpha1\nkind: ContourConfiguration\n"
            f"metadata: {{name: contour}}\nspec: {{envoy: {envoy}}}\n",
        )

    def status(self, port: int, path: str, method: str = "GET") -> int:
        """0 if nobody listens."""
        return _status(http.client.HTTPConnection("127.0.0.1", port, timeout=5), path, method)

    def status_over_tls(self, port: int, path: str, *, shown: bool) -> int:
        tls = self.instance.trusting()
        if shown:
            tls.load_cert_chain(self.folder / "client.crt", self.folder / "client.key")
        connection = http.client.HTTPSConnection("localhost", port, timeout=5, context=tls)
        return _status(connection, path)

    def until(self, status: int, port: int, path: str) -> None:
        wait(lambda: self.status(port, path) == status, f"{path} of {port}: {status}")


def _status(connection: http.client.HTTPConnection, path: str, method: str = "GET") -> int:
    with contextlib.closing(connection):
        try:
            connection.request(method, path)
            return connection.getresponse().status
        except (ConnectionError, ssl.SSLError, http.client.HTTPException):
            return 0


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    files = {name: manifest(name) for name in ("services.yaml", "live.yaml")}
    folder = tmp_path_factory.mktemp("watched")
    with standalone(folder, files) as running:
        clients = certificates.authority("clients")
        found = Watched(running, tuple(free_ports(4)), folder, clients)
        _write(folder, "server", certificates.issued(running.authority, "localhost"))
        _write(folder, "client", certificates.issued(clients, "scraper"))
        (folder / "ca.crt").write_bytes(clients.pem)
        yield found


def _write(folder: Path, name: str, pair: certificates.Pair) -> None:
    (folder / f"{name}.crt").write_bytes(pair.pem)
    (folder / f"{name}.key").write_bytes(pair.key_pem)


def test_health_and_metrics_are_where_the_configuration_says_and_move_with_it(
    watched: Watched,
) -> None:
    one, two, *_ = watched.ports
    watched.configure(f"{{health: {{port: {one}}}, metrics: {{port: {one}}}}}")
    watched.until(200, one, "/ready")
    asked = [("/stats", "GET"), ("/stats/prometheus?usedonly", "GET"), ("/ready", "POST")]
    asked += [("/config_dump", "GET"), ("/quitquitquit", "POST"), ("/ready/../certs", "GET")]
    assert [watched.status(one, *it) for it in asked] == [200, 200, 404, 404, 404, 404]
    watched.configure(f"{{health: {{port: {two}}}, metrics: {{port: {one}}}}}")
    watched.until(200, two, "/ready")
    watched.until(404, one, "/ready")
    assert [watched.status(it, "/stats") for it in (one, two)] == [200, 404]
    watched.configure("{}")
    watched.until(0, two, "/ready")
    watched.until(0, one, "/stats")


def test_what_envoy_cannot_open_is_told_and_the_last_good_one_stays(watched: Watched) -> None:
    one, *_ = watched.ports
    watched.configure(f"{{health: {{port: {one}}}}}")
    watched.until(200, one, "/ready")
    watched.configure(f"{{health: {{port: {one}, address: 192.0.2.1}}}}")
    watched.instance.until_told("ContourConfiguration default/contour", "192.0.2.1")
    assert watched.status(one, "/ready") == 200
    watched.configure("{}")
    watched.until(0, one, "/ready")


def test_metrics_over_tls_are_for_those_with_a_certificate(watched: Watched) -> None:
    one, *_ = watched.ports
    files = {"certFile": "server.crt", "keyFile": "server.key", "caFile": "ca.crt"}
    tls = ", ".join(f"{name}: {watched.folder / file}" for name, file in files.items())
    watched.configure(f"{{metrics: {{port: {one}, tls: {{{tls}}}}}}}")
    path = "/stats/prometheus"
    wait(lambda: watched.status_over_tls(one, path, shown=True) == 200, "metrics over TLS")
    assert watched.status_over_tls(one, path, shown=False) == 0
    assert watched.status(one, path) == 0
    assert watched.status_over_tls(one, "/ready", shown=True) == 404
    watched.configure("{}")
    watched.until(0, one, path)


def test_health_under_load_and_the_admin_pages_have_ports_of_their_own(watched: Watched) -> None:
    _, _, enforced, admin = watched.ports
    watched.configure(
        f"{{omEnforcedHealth: {{port: {enforced}}}, network: {{adminPort: {admin}}}}}"
    )
    watched.until(200, enforced, "/ready")
    watched.until(200, admin, "/memory")
    asked = [(enforced, "/stats"), (admin, "/config_dump"), (admin, "/quitquitquit")]
    assert [watched.status(*it) for it in asked] == [404, 200, 404]
    assert watched.status(admin, "/quitquitquit", "POST") == 404
    watched.configure("{}")
    watched.until(0, enforced, "/ready")
    watched.until(0, admin, "/memory")

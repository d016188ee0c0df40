"""What Envoy counts: what limits refuse, by the names in the documents, and no certificate."""

import contextlib
import http.client
import re
import socket
import ssl
from collections.abc import Iterator, Mapping

import pytest

from contour import host, rundir
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, pairs
from tests.testbed.processes import ROOT, wait

pytestmark = pytest.mark.envoy

WORLD = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: contour}
spec: {controllerName: projectcontour.io/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec:
  gatewayClassName: contour
  listeners:
  - {name: http, protocol: HTTP, port: 80}
  - {name: https, protocol: HTTPS, port: 443, tls: {certificateRefs: [{name: edge}]}}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: ClientTrafficPolicy
metadata: {name: web}
spec:
  targetRefs:
  - {group: gateway.networking.k8s.io, kind: Gateway, name: web, sectionName: http}
  connection: {connectionLimit: {value: 2}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: global}
spec:
  parentRefs: [{name: web}]
  hostnames: [global.example.com]
  rules: [{backendRefs: [{name: one, port: 80}]}]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: global}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: global}]
  rateLimit: {global: {rules: [{limit: {requests: 1, unit: Hour}}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: local}
spec:
  parentRefs: [{name: web}]
  hostnames: [local.example.com]
  rules: [{backendRefs: [{name: one, port: 80}]}]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: local}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: local}]
  rateLimit: {local: {rules: [{limit: {requests: 1, unit: Hour}}]}}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: stream}
spec:
  virtualhost:
    fqdn: stream.example.com
    tls: {secretName: edge}
    rateLimitPolicy: {local: {requests: 1, unit: hour}}
  tcpproxy: {services: [{name: one, port: 80}]}
"""


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """An instance whose limits have refused something each."""
    pair = certificates.self_signed("stream.example.com")
    files = {
        "services.yaml": manifest("services.yaml"),
        "world.yaml": WORLD,
        "secret.yaml": pairs.of("edge", pair),
    }
    with standalone(tmp_path_factory.mktemp("counted"), files) as running:
        wait(
            lambda: running.status()["BackendTrafficPolicy default/global"]["state"] == "ok",
            "the global limit is programmed",
        )
        for name in ("global", "local"):
            url = f"http://{name}.example.com/"
            assert [running.ask(url).status for _ in range(2)] == [200, 429]
        assert [_is_served(running, pair) for _ in range(2)] == [True, False]
        with contextlib.ExitStack() as opened:
            for _ in range(3):
                at = ("127.0.0.1", running.ports["http"])
                opened.enter_context(socket.create_connection(at, timeout=10))
            wait(lambda: _metrics(running)[CONNECTIONS] > 0, "a connection is refused")
        yield running


CONNECTIONS = "envoy_connection_limit_limited_connections"


def _is_served(it: Standalone, pair: certificates.Pair) -> bool:
    """Whether a connection of the stream leads to its backend."""
    tls = ssl.create_default_context(cadata=pair.pem.decode())
    plain = socket.create_connection(("127.0.0.1", it.ports["https"]), timeout=10)
    try:
        with tls.wrap_socket(plain, server_hostname="stream.example.com") as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            return connection.recv(4096).startswith(b"HTTP/1.1 200")
    except (ConnectionError, ssl.SSLError):
        return False


def _metrics(it: Standalone) -> Mapping[str, float]:
    """The sums of Envoy's metrics, by name."""
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.connect(str(rundir.socket(it.state, host.ADMIN)))
        client = http.client.HTTPConnection("envoy")
        client.sock = connection
        client.request("GET", "/stats/prometheus")
        text = client.getresponse().read().decode()
    found: dict[str, float] = {}
    for name, value in re.findall(r"^(\w+)(?:\{.*\})? (\S+)$", text, re.MULTILINE):
        found[name] = found.get(name, 0.0) + float(value)
    return found


def test_the_counters_of_limits_are_those_of_the_document(counted: Standalone) -> None:
    text = (ROOT / "docs" / "observability.md").read_text()
    table = text.partition("What limits have refused:")[2].partition("\n## ")[0]
    documented = set(re.findall(r"`(envoy_\w+[a-z])`", table))
    found = _metrics(counted)
    assert documented - found.keys() == UNUSED
    for name in REFUSED:
        assert name in documented
        assert found[name] > 0


REFUSED = {
    CONNECTIONS,
    "envoy_http_local_rate_limit_rate_limited",
    "envoy_local_rate_limit_rate_limited",
    "envoy_cluster_ratelimit_over_limit",
}
UNUSED = {
    "envoy_ratelimit_over_limit",
    "envoy_ratelimit_error",
    "envoy_cluster_ratelimit_error",
}
"""Those of a rate limit service that nobody has configured, or that has always answered."""


def test_certificates_are_not_counted(counted: Standalone) -> None:
    found = _metrics(counted)
    assert "envoy_listener_ssl_handshake" in found
    assert not [it for it in found if "expiration" in it]

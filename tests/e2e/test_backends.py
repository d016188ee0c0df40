"""Backends of Envoy Gateway with `contour run`: names, addresses, sockets, TLS and fallbacks."""

import contextlib
import json
import socket
import socketserver
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import peers
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, pairs
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_ports
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_AUTHORITY, _OTHER = certificates.authority("good"), certificates.authority("other")
_HOST = "www.example.com"
_URL = f"http://{_HOST}/"
_BACKEND, _ROUTE = "Backend default/far", "HTTPRoute default/main"
_CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour, namespace: projectcontour}}
spec:
  gateway: {{controllerName: projectcontour.io/gateway-controller}}
  envoy: {{cluster: {{dnsLookupFamily: v4}}}}
  enableBackend: {allowed}
"""


def _backend(fields: str, name: str = "far") -> str:
    return f"""---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: Backend
metadata: {{name: {name}}}
spec: {{{fields}}}
"""


def _address(port: str, rest: str = "", hostname: str = "") -> str:
    named = f", hostname: {hostname}" if hostname else ""
    return f"endpoints: [{{ip: {{address: 127.0.0.1, port: {port}}}{named}}}]{rest}"


def _name(port: str, rest: str = "") -> str:
    return f"endpoints: [{{fqdn: {{hostname: localhost, port: {port}}}}}]{rest}"


class _Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def tell(self, status: int, told: dict[str, Any]) -> None:
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
        """Says nothing."""


@dataclass
class _Switch:
    """A backend that fails while its switch is off."""

    name: str
    status: int = 200
    seen: Counter[int] = field(default_factory=Counter)


@contextlib.contextmanager
def _switched(switch: _Switch) -> Iterator[int]:
    class Handler(_Quiet):
        def do_GET(self) -> None:
            switch.seen[switch.status] += 1
            self.tell(switch.status, {"backend": switch.name})

    with peers.served(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        yield port


@contextlib.contextmanager
def _socketed(path: str) -> Iterator[None]:
    class Handler(_Quiet):
        def do_GET(self) -> None:
            self.tell(200, {"backend": "socket"})

    class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        daemon_threads = True

        def get_request(self) -> tuple[Any, Any]:
            request, _ = super().get_request()
            return request, ("socket", 0)

    with peers.served(Server(path, Handler)):
        yield


@pytest.fixture(scope="module", name="active")
def _active() -> _Switch:
    return _Switch("active")


@pytest.fixture(scope="module", name="leading")
def _leading(tmp_path_factory: pytest.TempPathFactory, active: _Switch) -> Iterator[Standalone]:
    folder = tmp_path_factory.mktemp("backends")
    (folder / "backend").mkdir()
    shown = certificates.issued(_AUTHORITY, _HOST)
    with contextlib.ExitStack() as stack:
        ports = {
            "proving": stack.enter_context(peers.over_tls(shown, _AUTHORITY, folder / "backend")),
            "active": stack.enter_context(_switched(active)),
            "passive": stack.enter_context(_switched(_Switch("passive"))),
            "stream": free_ports(1)[0],
        }
        files = {
            "configuration.yaml": _CONFIGURATION.format(allowed="true"),
            "services.yaml": manifest("services.yaml"),
            "gateway.yaml": manifest("backends.yaml"),
            "backend.yaml": _backend(_address("$one")),
            "good.yaml": pairs.trust_bundle("good", _AUTHORITY.pem),
            "other.yaml": pairs.trust_bundle("other", _OTHER.pem),
            "envoy.yaml": pairs.of("envoy", certificates.issued(_AUTHORITY, "envoy")),
        }
        with standalone(folder, files, ports) as running:
            yield running


def _lead(running: Standalone, fields: str) -> None:
    running.write("backend.yaml", _backend(fields))


def test_requests_go_to_an_address_and_keep_their_host(leading: Standalone) -> None:
    _lead(leading, _address("$one"))
    leading.until(_URL, "one")
    assert leading.ask(_URL).seen["headers"]["host"] == _HOST
    assert leading.reasons(_BACKEND) == leading.reasons(_ROUTE) == ""
    _lead(leading, _address("$two"))
    leading.until(_URL, "two")


def test_requests_go_to_a_name(leading: Standalone) -> None:
    _lead(leading, _name("$one"))
    leading.until(_URL, "one")
    _lead(leading, _name("$two"))
    leading.until(_URL, "two")


@pytest.mark.parametrize("kind", ["ip", "fqdn"])
def test_several_endpoints_share_the_requests(leading: Standalone, kind: str) -> None:
    what = {"ip": "ip: {address: 127.0.0.1", "fqdn": "fqdn: {hostname: localhost"}[kind]
    both = ", ".join(f"{{{what}, port: {it}}}}}" for it in ("$one", "$two"))
    _lead(leading, f"endpoints: [{both}]")
    wait(lambda: {leading.ask(_URL).backend for _ in range(20)} == {"one", "two"}, "both")


def test_requests_go_to_a_socket(leading: Standalone) -> None:
    with tempfile.TemporaryDirectory() as folder, _socketed(str(Path(folder) / "it.sock")):
        _lead(leading, f"endpoints: [{{unix: {{path: {folder}/it.sock}}}}]")
        leading.until(_URL, "socket")


def _tls(rest: str, bundle: str = "good", named: str = "") -> str:
    ref = f"{{group: certificates.k8s.io, kind: ClusterTrustBundle, name: {bundle}}}"
    trust = f"caCertificateRefs: [{ref}]" if bundle else "insecureSkipVerify: true"
    return _address("$proving", f", tls: {{{trust}{rest}}}", named)


@pytest.mark.parametrize(
    ("fields", "sni"),
    [
        (_tls(""), _HOST),
        (_tls(f", sni: {_HOST}"), _HOST),
        (_tls(", autoSNIFromEndpointHostname: true", named=_HOST), _HOST),
        (_tls(", autoSNIFromEndpointHostname: true", "", "odd.com"), "odd.com"),
        (_tls("", ""), _HOST),
        (_tls(", sni: odd.com", ""), "odd.com"),
        (_tls(", minVersion: '1.3', alpnProtocols: [h2, 'http/1.1']"), _HOST),
    ],
)
def test_tls_asks_for_a_name(leading: Standalone, fields: str, sni: str) -> None:
    _lead(leading, _address("$one"))
    leading.until(_URL, "one")
    _lead(leading, fields)
    leading.until(_URL, "tls")
    assert leading.ask(_URL).seen["sni"] == sni


@pytest.mark.parametrize(
    "fields",
    [
        _tls("", "other"),
        _tls(", sni: odd.com"),
        _tls(", autoSNIFromEndpointHostname: true", named="odd.com"),
    ],
)
def test_a_certificate_of_somebody_else_is_refused(leading: Standalone, fields: str) -> None:
    _lead(leading, _address("$one"))
    leading.until(_URL, "one")
    _lead(leading, fields)
    leading.until_status(_URL, 503)


def test_the_certificate_must_be_for_the_host_of_the_request(leading: Standalone) -> None:
    _lead(leading, _tls(""))
    leading.until(_URL, "tls")
    assert leading.ask("http://odd.example.com/").status == 503


def test_a_certificate_is_shown(leading: Standalone) -> None:
    _lead(leading, _tls(", clientCertificateRef: {name: envoy}"))
    wait(lambda: leading.ask(_URL).seen.get("client") == "envoy", "a certificate that is shown")


def test_a_policy_says_whom_to_trust(leading: Standalone) -> None:
    policy = """
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: far}
spec:
  targetRefs: [{group: gateway.envoyproxy.io, kind: Backend, name: far}]
  validation:
    hostname: www.example.com
    caCertificateRefs: [{group: certificates.k8s.io, kind: ClusterTrustBundle, name: BUNDLE}]
"""
    _lead(leading, _address("$proving"))
    leading.until_status(_URL, 503)
    leading.write("policy.yaml", policy.replace("BUNDLE", "good"))
    leading.until(_URL, "tls")
    leading.write("policy.yaml", policy.replace("BUNDLE", "other"))
    leading.until_status(_URL, 503)
    leading.remove("policy.yaml")


def test_bytes_reach_it(leading: Standalone) -> None:
    def greeting() -> bytes:
        address = ("127.0.0.1", leading.ports["stream"])
        with contextlib.suppress(OSError), socket.create_connection(address, PATIENCE) as it:
            return it.recv(1024)
        return b""

    wait(lambda: greeting() == b"", "a connection that is closed")
    with peers.streams("bytes") as port:
        leading.write("bytes.yaml", _backend(_address(str(port)), "bytes"))
        wait(lambda: greeting() == b"bytes", "what it says")


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ("type: DynamicResolver", "spec.type"),
        ("endpoints: [{ip: {address: 169.254.169.254, port: 80}}]", "is link-local"),
        ("endpoints: [{fqdn: {hostname: '2130706433', port: 80}}]", "in disguise"),
    ],
)
def test_what_cannot_be_served_gets_no_request(leading: Standalone, fields: str, word: str) -> None:
    _lead(leading, _address("$one"))
    leading.until(_URL, "one")
    _lead(leading, fields)
    leading.until_status(_URL, 500)
    leading.until_told(_BACKEND, word)
    leading.until_told(_ROUTE, "cannot be served")


def test_it_is_closed_without_the_word_of_the_configuration(leading: Standalone) -> None:
    _lead(leading, _address("$one"))
    leading.until(_URL, "one")
    leading.write("configuration.yaml", _CONFIGURATION.format(allowed="false"))
    leading.until_status(_URL, 500)
    leading.until_told(_BACKEND, "enableBackend")
    leading.write("configuration.yaml", _CONFIGURATION.format(allowed="true"))
    leading.until(_URL, "one")


_EJECTED = """
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: passive-health-check}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: ha}]
  healthCheck:
    passive:
      {baseEjectionTime: 1s, interval: 1s, maxEjectionPercent: 100, consecutive5XxErrors: 1,
       consecutiveGatewayErrors: 0, consecutiveLocalOriginFailures: 1,
       splitExternalLocalOriginErrors: false}
"""


@pytest.mark.parametrize("of", [_address, _name])
def test_a_fallback_takes_over_while_the_others_fail(
    leading: Standalone, active: _Switch, of: Any
) -> None:
    url = "http://ha.example.com/"
    active.status = 200
    spare = of("$passive", ", fallback: true")
    leading.write("ha.yaml", _backend(of("$active"), "active") + _backend(spare, "passive"))
    leading.write("health.yaml", _EJECTED)
    leading.until(url, "active")
    assert {leading.ask(url).backend for _ in range(30)} == {"active"}
    active.status = 503
    leading.until(url, "passive")
    active.status = 200
    leading.until(url, "active")
    wait(lambda: {leading.ask(url).backend for _ in range(20)} == {"active"}, "the active one")
    leading.remove("ha.yaml")
    leading.until_status(url, 500)

"""What is written wrongly, or at the limit, with v1.7 of the Gateway API, through a real Envoy.

Told, closed where it guards something, and nothing else is hurt. Filters that deny or are not there
are in `test_listener_filters`, bundles in `test_trust_bundles`, policies in `test_telemetry`.
"""

import contextlib
import socket
import ssl
from collections.abc import Iterator
from functools import partial

import pytest

from tests.e2e import deciders, peers
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_ports
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_LONG = "n" * 253
_GATEWAY = f"Gateway default/{_LONG}"
_ALLOWING = (
    "{type: ExternalAuth, externalAuth: {protocol: HTTP, http: {path: %s},"
    " backendRef: {name: deciding, port: 80}}}"
)
_EXTENSION = "{type: ExtensionRef, extensionRef: {group: x.com, kind: Foo, name: f}}"


@pytest.fixture(scope="module", name="running")
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    text = manifest("gateway_bad_input.yaml").replace("$long", _LONG)
    text = text.replace("$allowing", _ALLOWING % "/allow/0").replace(
        "$denying", _ALLOWING % "/deny"
    )
    with deciders.Deciding().serving() as port:
        files = {
            "gateway.yaml": text,
            "services.yaml": manifest("services.yaml"),
            "deciding.yaml": peers.service("deciding", port),
        }
        ports = {"deciding": port, "stream": free_ports(1)[0]}
        with standalone(tmp_path_factory.mktemp("bad"), files, ports) as found:
            found.until("http://www.example.com/", "one")
            yield found


def test_names_of_253_characters_are_served(running: Standalone) -> None:
    for it in ("www", "set"):
        running.until(f"http://{it}.example.com/", "one")
    assert running.ask("http://denied.example.com/").status == 403
    for kind in ("Gateway", "ListenerSet", "HTTPRoute", "XTelemetryPolicy"):
        assert running.reasons(f"{kind} default/{_LONG}") == "", kind


def _set(protocol: str, filters: str = "") -> str:
    """A ListenerSet, whose CRD takes filters with each protocol, and a route of it."""
    host, kind = {
        "TCP": ("port: $stream", "TCPRoute"),
        "TLS": ("port: $stream, hostname: bad.example.com, tls: {mode: Passthrough}", "TLSRoute"),
        "HTTP": ("port: 80, hostname: bad.example.com", "HTTPRoute"),
    }[protocol]
    given = f", filters: {{requests: [{filters}]}}" if filters else ""
    hosts = "hostnames: [bad.example.com]" if protocol == "TLS" else ""
    return f"""
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {{name: bad}}
spec:
  parentRef: {{name: {_LONG}}}
  listeners: [{{name: bad, protocol: {protocol}, {host}{given}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: {kind}
metadata: {{name: bad}}
spec:
  parentRefs: [{{kind: ListenerSet, name: bad}}]
  rules: [{{backendRefs: [{{name: one, port: 80}}]}}]
  {hosts}
"""


@pytest.mark.parametrize("protocol", ["TCP", "TLS"])
def test_filters_on_a_stream_close_it(running: Standalone, protocol: str) -> None:
    """Without them its route is served, so it is they that close it."""
    running.write("bad.yaml", _set(protocol))
    wait(lambda: _passes(running, protocol), "a connection that is passed on")
    running.write("bad.yaml", _set(protocol, _ALLOWING % "/allow/0"))
    running.until_told("ListenerSet default/bad", f"with protocol HTTP or HTTPS, not {protocol}")
    wait(lambda: not _passes(running, protocol), "a connection that is closed")
    running.until("http://www.example.com/", "one")
    running.remove("bad.yaml")


def test_a_port_that_changes_its_protocol_on_and_on_is_served(running: Standalone) -> None:
    """Its listener is another one each time, and the changes soon wait for one another."""
    for protocol in ("TCP", "TLS") * 4:
        running.write("bad.yaml", _set(protocol))
        wait(partial(_passes, running, protocol), f"{protocol} that is passed on")
    running.remove("bad.yaml")


def _passes(running: Standalone, protocol: str) -> bool:
    """Whether bytes come from the backend: an answer, or what it says to a client's hello."""
    sent = b"GET / HTTP/1.0\r\n\r\n" if protocol == "TCP" else _hello()
    try:
        address = ("127.0.0.1", running.ports["stream"])
        with socket.create_connection(address, PATIENCE) as connection:
            connection.sendall(sent)
            return bool(connection.recv(1))
    except OSError:
        return False


def _hello() -> bytes:
    """What a client of TLS says first, with the server name of the listener."""
    sent = ssl.MemoryBIO()
    context = ssl.create_default_context()
    session = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="bad.example.com")
    with contextlib.suppress(ssl.SSLWantReadError):
        session.do_handshake()
    return sent.read()


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (_EXTENSION, "filters.requests[1].type: the type ExtensionRef is not supported"),
        (
            (_ALLOWING % "/allow/0").replace("deciding", "nobody"),
            "filters.requests[1].externalAuth.backendRef: Service default/nobody not found",
        ),
        (
            (_ALLOWING % "/allow/0").replace("name: deciding", "name: two, namespace: elsewhere"),
            "filters.requests[1].externalAuth.backendRef: no ReferenceGrant",
        ),
    ],
)
def test_a_filter_that_cannot_be_served_closes_its_listener_alone(
    running: Standalone, bad: str, word: str
) -> None:
    good = _ALLOWING % "/allow/0"
    running.write("bad.yaml", _set("HTTP", good))
    running.until("http://bad.example.com/", "one")
    running.write("bad.yaml", _set("HTTP", f"{good}, {bad}"))
    running.until_status("http://bad.example.com/", 503)
    running.until_told("ListenerSet default/bad", word)
    assert running.ask("http://www.example.com/").backend == "one"
    running.remove("bad.yaml")


def _route(rule: str) -> str:
    return f"""
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: odd}}
spec:
  parentRefs: [{{name: {_LONG}}}]
  hostnames: [www.example.com]
  rules: [{{matches: [{{path: {{value: /odd}}}}], {rule}}}]
"""


_TO_TWO = "backendRefs: [{name: two, port: 80}]"


def test_a_route_with_both_spellings_of_a_session_is_refused_and_the_last_good_one_serves(
    running: Standalone,
) -> None:
    running.write("odd.yaml", _route(_TO_TWO))
    running.until("http://www.example.com/odd", "two")
    both = "sessionPersistence: {sessionName: a, cookie: {name: a}}"
    running.write("odd.yaml", _route(f"{_TO_TWO.replace('two', 'one')}, {both}"))
    running.until_told("HTTPRoute default/odd", "sessionName and cookieConfig of v1.6 must not be")
    assert running.ask("http://www.example.com/odd").backend == "two"
    running.remove("odd.yaml")


def test_a_reference_to_an_xbackend_with_a_port_leads_nowhere_and_says_so(
    running: Standalone,
) -> None:
    far = f"""---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {{name: {_LONG}}}
spec:
  type: ExternalHostname
  externalHostname: {{hostname: {socket.gethostname().lower()}}}
  port: {{number: $one}}
---
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {{name: contour, namespace: projectcontour}}
spec:
  gateway: {{controllerName: projectcontour.io/gateway-controller}}
  enableExternalNameService: true
"""
    to = f"backendRefs: [{{group: gateway.networking.x-k8s.io, kind: XBackend, name: {_LONG}%s}}]"
    running.write("odd.yaml", _route(to % "") + far)
    running.until("http://www.example.com/odd", "one")
    running.write("odd.yaml", _route(to % ", port: 80") + far)
    running.until_status("http://www.example.com/odd", 500)
    running.until_told("HTTPRoute default/odd", "Must not have port for XBackend")
    assert running.ask("http://www.example.com/").backend == "one"
    running.remove("odd.yaml")


def test_a_gateway_with_a_routability_of_kubernetes_is_refused_and_the_last_good_one_serves(
    running: Standalone,
) -> None:
    before = (running.manifests / "gateway.yaml").read_text()
    asked = "  addresses: [{routability: k8s.io/x}]\n"
    bad = before.replace("  allowedListeners", f"{asked}  allowedListeners")
    running.write("gateway.yaml", bad.replace("www.example.com", "new.example.com"))
    running.until_told(_GATEWAY, "routability must be empty, Cluster, or a DNS subdomain")
    assert running.ask("http://www.example.com/").backend == "one"
    running.write("gateway.yaml", before)
    wait(lambda: running.reasons(_GATEWAY) == "", "a Gateway that is fine again")

"""What extended features of the Gateway API do to requests, calls, connections and packets."""

import contextlib
import http.client
import select
import socket
import ssl
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import grpc
import pytest

from tests.e2e import peers
from tests.e2e.cases import Case, check
from tests.e2e.standalone import Standalone, exchange, manifest, standalone
from tests.testbed import certificates, flaky_backend, pairs
from tests.testbed.ports import free_ports
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_LISTENERS = ("mutual", "fallback", "passed", "stream", "packets", "lossy")
_NUMBERS = {"tls": 443, "stranger": 443, "untrusted": 443, "packets": 53}
_NAMES = {"tls": "https", "packets": "dns"}


@dataclass
class More:
    """An instance with listeners of every protocol, and who is behind it."""

    running: Standalone
    counted: Counter[str]
    authority: certificates.Pair


@pytest.fixture(scope="module", name="more")
def _more(tmp_path_factory: pytest.TempPathFactory) -> Iterator[More]:
    authority = certificates.authority()
    shown = certificates.issued(authority, "*.example.com", "gateway")
    inner = certificates.issued(authority, "inner.example.com")
    folder = tmp_path_factory.mktemp("more")
    with contextlib.ExitStack() as stack:
        enter = stack.enter_context
        counting, counted = enter(peers.counting())
        ports = {"counting": counting, "flaky": enter(flaky_backend.serving())}
        ports |= {"calls": enter(peers.calls("calls")), "deciding": enter(peers.deciding())}
        secret = enter(peers.over_tls(inner, authority, tmp_path_factory.mktemp("tls")))
        ports |= {"tls": secret, "stranger": secret, "untrusted": secret}
        ports |= {"stream": enter(peers.streams("stream")), "packets": enter(peers.packets("dns"))}
        files = {name: manifest(name) for name in ("services.yaml", "gateway_more.yaml")}
        files["peers.yaml"] = "---\n".join(_service(name, port) for name, port in ports.items())
        files["secret.yaml"] = pairs.of("certificate", shown)
        files["brand.yaml"] = pairs.of("brand", certificates.issued(authority, "brand.example.com"))
        files["clients.yaml"] = _authority(authority)
        numbers = dict(zip(_LISTENERS, free_ports(len(_LISTENERS)), strict=True))
        running = enter(standalone(folder, files, numbers))
        running.authority = authority
        yield More(running, counted, authority)


def _service(name: str, port: int) -> str:
    protocol = "UDP" if name == "packets" else "TCP"
    own = f"name: {_NAMES.get(name, 'http')}, protocol: {protocol}"
    return f"""
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec: {{ports: [{{{own}, port: {_NUMBERS.get(name, 80)}}}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: {name}, labels: {{kubernetes.io/service-name: {name}}}}}
addressType: IPv4
ports: [{{{own}, port: {port}}}]
endpoints: [{{addresses: [127.0.0.1]}}]
"""


def _authority(found: certificates.Pair) -> str:
    text = "\n".join(f"    {line}" for line in found.pem.decode().splitlines())
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: clients}\ndata:"
    return f"{head}\n  ca.crt: |\n{text}\n"


_CASES = [
    Case("http://more.example.com/", backend="one"),
    Case("http://set.example.com/", backend="two"),
    Case("http://nearest.example.com/some/long/path", backend="one"),
    Case("http://nearest.example.com/some/long/path", backend="two", headers={"X-Near": "yes"}),
    Case("http://more.example.com/tried/by-code?status=503", 200, answered={"x-flaky": "yes"}),
    Case("http://more.example.com/once/by-code?status=503", 503),
    Case("http://more.example.com/never/by-code?status=503", 503, answered={"x-flaky": "yes"}),
    Case("http://more.example.com/default/by-code?status=503", 503, answered={"x-flaky": "yes"}),
    Case("http://more.example.com/reset/of-a-connection?status=0", 503),
    Case("http://more.example.com/reset-in-time/of-a-connection?status=0", 200),
    Case("http://more.example.com/slow/wait?seconds=9", 504),
    Case(
        "http://more.example.com/away/x",
        308,
        answered={"location": "http://b.example.com/away/x"},
    ),
    Case("http://more.example.com/secret", backend="tls"),
    Case("https://more.example.com/secret", backend="tls"),
    Case("http://more.example.com/stranger", 503),
    Case("http://more.example.com/untrusted", 500),
    Case("http://more.example.com/(bad", backend="one"),
    Case("https://more.example.com/", backend="one"),
    Case("https://second.example.com/", backend="two"),
    Case("https://third.example.com/", 404),
    Case("https://brand.example.com/", backend="two"),
    Case(
        "http://more.example.com/guarded/x",
        backend="one",
        headers={"X-Word": "open"},
        seen={"x-who": "/decide/guarded/x"},
    ),
    Case("http://more.example.com/guarded/x", 403),
    Case("http://more.example.com/unguarded", 500),
]


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_a_request(more: More, case: Case) -> None:
    check(more.running, case)


def test_a_backend_over_tls_is_asked_for_by_its_name_and_shown_our_certificate(more: More) -> None:
    seen = more.running.ask("http://more.example.com/secret").seen
    assert (seen["sni"], seen["client"]) == ("inner.example.com", "*.example.com")


def test_every_request_is_copied_or_a_share_of_them(more: More) -> None:
    for _ in range(100):
        more.running.ask("http://more.example.com/sampled")
    more.running.ask("http://more.example.com/copied")
    wait(lambda: more.counted["/copied"] == 1, "the copy")
    assert 20 <= more.counted["/sampled"] <= 80


def test_requests_are_drawn_for_backends_with_filters_of_their_own(more: More) -> None:
    answers = [more.running.ask("http://drawn.example.com/drawn") for _ in range(400)]
    met = Counter((it.backend, it.seen["path"]) for it in answers)
    assert met.keys() == {("one", "/drawn"), ("two", "/drawn"), ("one", "/rewritten")}
    # Six standard deviations of a fair draw.
    assert abs(met["one", "/drawn"] - 100) < 52
    assert abs(met["two", "/drawn"] - 200) < 60
    wait(lambda: more.counted["/drawn"] == met["one", "/drawn"], "a copy of each, and no other")


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        ("https://www.example.org", True),
        ("https://a.partner.org", True),
        ("https://a.b.partner.org", True),
        ("https://partner.org", False),
        ("http://www.example.org", False),
        ("https://www.example.org:8443", False),
        ("https://evil-www.example.org", False),
    ],
)
def test_pages_of_other_origins(more: More, origin: str, is_allowed: bool) -> None:
    asked = {"Origin": origin, "Access-Control-Request-Method": "PUT"}
    told = more.running.ask("http://more.example.com/cors", "OPTIONS", asked).headers
    assert told.get("access-control-allow-origin") == (origin if is_allowed else None)
    if is_allowed:
        assert told["access-control-allow-methods"].replace(" ", "") == "GET,PUT"
        assert told["access-control-allow-headers"] == "x-a"
        assert told["access-control-allow-credentials"] == "true"
        assert told["access-control-max-age"] == "60"


@pytest.mark.parametrize(
    ("origin", "method", "status", "is_allowed"),
    [
        ("https://www.example.org", "GET", 200, True),
        ("https://put.example.org", "PUT", 200, True),
        ("https://www.example.org", "PUT", 200, False),
        ("https://www.example.org", "DELETE", 404, False),
        ("https://www.example.org", "", 404, False),
        ("", "GET", 404, False),
    ],
)
def test_a_match_with_a_method_takes_preflights_and_no_other_options(
    more: More, origin: str, method: str, status: int, is_allowed: bool
) -> None:
    asked = {"Origin": origin, "Access-Control-Request-Method": method}
    answer = more.running.ask("http://methods.example.com/", "OPTIONS", asked)
    assert (answer.status, answer.backend) == (status, "")
    assert answer.headers.get("access-control-allow-origin") == (origin if is_allowed else None)


def test_each_backend_is_sent_its_own_host(more: More) -> None:
    answers = [more.running.ask("http://more.example.com/hosts").seen for _ in range(30)]
    assert {(it["backend"], it["host"]) for it in answers} == {
        ("one", "one.inner"),
        ("two", "two.inner"),
    }


def test_requests_of_one_session_go_to_one_backend(more: More) -> None:
    url = "http://more.example.com/sticky"
    first = more.running.ask(url)
    cookie = first.headers["set-cookie"].partition(";")[0]
    assert cookie.startswith("sticky=")
    answers = {more.running.ask(url, headers={"Cookie": cookie}).backend for _ in range(10)}
    assert answers == {first.backend}


def test_a_route_may_bring_a_certificate_for_its_host(more: More) -> None:
    context = more.running.trusting()
    for name, shown in (("brand", "brand.example.com"), ("more", "*.example.com")):
        with secured(more, "https", f"{name}.example.com", context) as found:
            names = dict(it[0] for it in found.getpeercert()["subject"])  # type: ignore[index,misc]
            assert names["commonName"] == shown


def call(more: More, method: str) -> str:
    """The answer to a call, or how it failed."""
    target = f"127.0.0.1:{more.running.ports['http']}"
    options = [("grpc.default_authority", "more.example.com")]
    with grpc.insecure_channel(target, options=options) as channel:
        try:
            return bytes(channel.unary_unary(method, None, None)(b"hello", timeout=10)).decode()
        except grpc.RpcError as error:
            return str(error.code().name)


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("/a.Echo/Say", "calls /a.Echo/Say hello"),
        ("/a.Gone/Say", "UNAVAILABLE"),
    ],
)
def test_a_call(more: More, method: str, answer: str) -> None:
    assert call(more, method) == answer


def test_a_call_that_no_route_takes_is_not_implemented_behind_tls_too(more: More) -> None:
    trusted = grpc.ssl_channel_credentials(more.authority.pem)
    options = [("grpc.ssl_target_name_override", "third.example.com")]
    target = f"127.0.0.1:{more.running.ports['https']}"
    channel = grpc.secure_channel(target, trusted, options=options)
    with channel, pytest.raises(grpc.RpcError) as told:
        channel.unary_unary("/a.Echo/Say", None, None)(b"hello", timeout=10)
    assert told.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_request_that_is_no_call_passes_the_rules_for_calls(more: More) -> None:
    assert more.running.ask("http://more.example.com/a.Echo/Say").backend == "one"


@pytest.mark.parametrize(
    ("server_name", "host", "status"),
    [
        ("more", "more", 200),
        ("more", "second", 421),
        ("second", "more", 421),
        ("second", "second", 200),
        ("third", "more", 200),
        ("third", "third", 404),
        ("second", "third", 421),
    ],
)
def test_a_request_for_a_host_of_another_listener(
    more: More, server_name: str, host: str, status: int
) -> None:
    url, sni = f"https://{host}.example.com/", f"{server_name}.example.com"
    assert more.running.ask(url, sni=sni).status == status


def dialled(more: More, listener: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", more.running.ports[listener]), 10)


def secured(more: More, listener: str, name: str, context: ssl.SSLContext) -> ssl.SSLSocket:
    return context.wrap_socket(dialled(more, listener), server_hostname=name)


def test_clients_without_a_certificate_of_ours_are_refused_on_their_port_alone(
    more: More, tmp_path: Any
) -> None:
    known = certificates.issued(more.authority, "client")
    stranger = certificates.issued(certificates.authority("other"), "client")
    for pair, is_served in ((known, True), (stranger, False), (None, False)):
        context = more.running.trusting()
        if pair is not None:
            context.load_cert_chain(*certificates.write(pair, more.authority, tmp_path)[:2])
        assert _is_served(more, "mutual", context) == is_served
        assert _is_served(more, "fallback", context)
    assert more.running.ask("https://second.example.com/").status == 200


def _is_served(more: More, listener: str, context: ssl.SSLContext) -> bool:
    connection = http.client.HTTPConnection(listener)
    try:
        connection.sock = secured(more, listener, "second.example.com", context)
        with contextlib.closing(connection):
            return exchange(connection, "second.example.com", "/").backend == "two"
    except (ssl.SSLError, ConnectionError):
        return False


def test_tls_that_is_passed_on_ends_at_the_backend(more: More) -> None:
    context = more.running.trusting()
    context.check_hostname = False
    with secured(more, "passed", "passed.example.com", context) as found:
        names = dict(it[0] for it in found.getpeercert()["subject"])  # type: ignore[index,misc]
        assert names["commonName"] == "inner.example.com"


@pytest.mark.parametrize("host", ["ended.example.com", "ended-nearest.example.com"])
def test_tls_that_ends_here_leaves_a_stream(more: More, host: str) -> None:
    with secured(more, "passed", host, more.running.trusting()) as found:
        names = dict(it[0] for it in found.getpeercert()["subject"])  # type: ignore[index,misc]
        assert names["commonName"] == "*.example.com"
        assert found.recv(100) == b"stream"


def test_a_server_name_that_no_route_has_is_refused(more: More) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        secured(more, "passed", "unknown.example.com", more.running.trusting())


def test_a_stream_goes_both_ways(more: More) -> None:
    with dialled(more, "stream") as found:
        assert found.recv(100) == b"stream"
        found.sendall(b"hello")
        assert found.recv(100) == b"hello"


def test_packets_go_both_ways(more: More) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.settimeout(10)
        found.sendto(b"hello", ("127.0.0.1", more.running.ports["packets"]))
        assert found.recv(100) == b"dns hello"


def test_packets_for_a_backend_that_is_not_there_are_dropped(more: More) -> None:
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(40)
        ]
        for it in clients:
            it.sendto(b"hello", ("127.0.0.1", more.running.ports["lossy"]))
        wait(lambda: _answered(clients) >= 15, "half of the answers")
        test_packets_go_both_ways(more)  # what was to come has come before
        assert _answered(clients) <= 25


def _answered(clients: list[socket.socket]) -> int:
    """How many clients have an answer to read."""
    return len(select.select(clients, [], [], 0)[0])


def test_a_rule_that_is_dropped_is_told(more: More) -> None:
    assert "Dropped Rule" in more.running.reasons("HTTPRoute default/more")

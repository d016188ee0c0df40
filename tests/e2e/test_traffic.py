"""BackendTrafficPolicies with `contour run`: each served field changes what a real Envoy answers.

Each request is also sent to a route without a policy, which answers otherwise: without its field a
policy would fail its proof.
"""

import contextlib
import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, cast

import pytest

from tests.dag.gateway.manifests import gateway, gateway_class, host, http
from tests.e2e import peers
from tests.e2e.standalone import Standalone, standalone

pytestmark = pytest.mark.envoy

GIVEN = (
    """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec:
  gateway: {controllerName: projectcontour.io/gateway-controller}
"""
    + gateway_class()
    + gateway(
        "web", http("http", host("*.example.com")), http("whole", host("*.whole.example.com"))
    )
    + """
---
apiVersion: v1
kind: Service
metadata: {name: both}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: left, labels: {kubernetes.io/service-name: both}}
addressType: IPv4
ports: [{name: http, port: $left}]
endpoints: [{addresses: [127.0.0.1]}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: right, labels: {kubernetes.io/service-name: both}}
addressType: IPv4
ports: [{name: http, port: $right}]
endpoints: [{addresses: [127.0.0.1]}]
"""
)
ROUTE = """---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME}
spec:
  parentRefs: [{name: web}]
  hostnames: [HOST]
  rules: [{backendRefs: [{name: both, port: 80}]}]
"""
POLICY = """---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: NAME}
spec: {targetRefs: [{group: gateway.networking.k8s.io, KIND}], SPEC}
"""


class Proof(NamedTuple):
    """A policy, requests, and what answers them: with the policy, and without."""

    spec: str
    path: str
    answers: tuple[int, ...]
    bare: tuple[int, ...]


_ALWAYS = "interval: 1s, baseEjectionTime: 60s, maxEjectionPercent: 100"
PROOFS = {
    "request-timeout": Proof("timeout: {http: {requestTimeout: 200ms}}", "/late", (504,), (200,)),
    "idle-timeout": Proof("timeout: {http: {streamIdleTimeout: 200ms}}", "/late", (504,), (200,)),
    "retry": Proof("retry: {}", "/flaky", (200, 200), (503, 200)),
    "retry-codes": Proof(
        "retry: {numRetries: 1, retryOn: {httpStatusCodes: [500]}}", "/flaky/500", (200,), (500,)
    ),
    "retry-trigger": Proof(
        "retry: {numRetries: 1, retryOn: {triggers: [5xx]}}", "/flaky/501", (200,), (501,)
    ),
    "per-retry": Proof(
        "retry: {numRetries: 1, retryOn: {triggers: [5xx]}, perRetry: {timeout: 200ms}}",
        "/late", (504,), (200,),
    ),
    "local-limit": Proof(
        "rateLimit: {local: {rules: [{limit: {requests: 2, unit: Hour}}]}}",
        "/", (200, 200, 429), (200, 200, 200),
    ),
    "no-requests": Proof("circuitBreaker: {maxParallelRequests: 0}", "/", (503,), (200,)),
    "active": Proof(
        "healthCheck: {active: {type: HTTP, unhealthyThreshold: 1, "
        "http: {path: /, expectedStatuses: [204]}}}",
        "/", (503,), (200,),
    ),
    "override": Proof(
        "responseOverride: [{match: {statusCodes: [{value: 404}]}, response: {statusCode: 410}}]",
        "/404", (410,), (404,),
    ),
    "override-range": Proof(
        "responseOverride: [{match: {statusCodes: [{type: Range, range: {start: 400, end: 404}}]},"
        " response: {statusCode: 410}}]",
        "/404", (410,), (404,),
    ),
    "max-stream": Proof("timeout: {http: {maxStreamDuration: 200ms}}", "/late", (504,), (200,)),
    "proxy-protocol": Proof("proxyProtocol: {version: V1}", "/proxied", (200,), (404,)),
    "check-method": Proof(
        "healthCheck: {active: {type: HTTP, unhealthyThreshold: 1, "
        "http: {path: /, method: HEAD}}}",
        "/", (503,), (200,),
    ),
    "check-answer": Proof(
        "healthCheck: {active: {type: HTTP, unhealthyThreshold: 1, "
        "http: {path: /, expectedResponse: {type: Text, text: nothing of it}}}}",
        "/", (503,), (200,),
    ),
    "check-exchange": Proof(
        "healthCheck: {active: {type: TCP, unhealthyThreshold: 1, tcp: "
        "{send: {type: Text, text: a}, receive: {type: Binary, binary: AAE=}}}}",
        "/", (503,), (200,),
    ),
    "closed": Proof("bandwidthLimit: {}", "/", (500,), (200,)),
}  # fmt: skip
MORE = {
    "panic": "healthCheck: {panicThreshold: 100, active: {type: HTTP, unhealthyThreshold: 1, "
    "http: {path: /, expectedStatuses: [204]}}}",
    "single": "circuitBreaker: {maxRequestsPerConnection: 1}",
    "buffer": "requestBuffer: {limit: 16}",
    "hash": "loadBalancer: {type: ConsistentHash, "
    "consistentHash: {type: Header, header: {name: x-user}}}",
    "cookie": "loadBalancer: {type: ConsistentHash, consistentHash: {type: Cookie, "
    "cookie: {name: c, ttl: 1h, attributes: {SameSite: Strict}}}}",
    "upgrade": "httpUpgrade: [{type: websocket}]",
    "passive": f"healthCheck: {{passive: {{consecutive5XxErrors: 1, {_ALWAYS}}}}}",
}


def _manifest(name: str, spec: str) -> str:
    route = ROUTE.replace("NAME", name).replace("HOST", f"{name}.example.com")
    target = f"kind: HTTPRoute, name: {name}"
    return route + POLICY.replace("NAME", name).replace("KIND", target).replace("SPEC", spec)


class _Handler(BaseHTTPRequestHandler):
    """Answers by the path of the request: late, with a status, or with an error the first time."""

    protocol_version = "HTTP/1.1"
    seen: Counter[str]
    raw_requestline: bytes
    is_proxied = False

    def parse_request(self) -> bool:
        if self.raw_requestline.startswith(b"PROXY TCP4 127.0.0.1 127.0.0.1 "):
            self.is_proxied = True
            self.raw_requestline = self.rfile.readline(65537)
        return super().parse_request()

    def do_GET(self) -> None:
        if self.headers.get("upgrade"):
            self.send_response(101)
            self.send_header("connection", "upgrade")
            self.send_header("upgrade", "websocket")
            self.end_headers()
            self.close_connection = True
            return
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self._tell(self._status())

    def do_POST(self) -> None:
        self.do_GET()

    def _status(self) -> int:
        first, *rest = self.path.strip("/").split("/")
        if first == "late":
            time.sleep(0.8)
        if first == "flaky":
            who = self.headers["host"]
            self.seen[who] += 1
            return 200 if self.seen[who] > 1 else int((rest or ["503"])[0])
        if first == "proxied":
            return 200 if self.is_proxied else 404
        return int(first) if first.isdigit() else 200

    def _tell(self, status: int) -> None:
        server = cast("ThreadingHTTPServer", self.server)
        peer = self.client_address[1]
        body = json.dumps({"port": server.server_port, "from": peer}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
        """Says nothing."""


@contextlib.contextmanager
def backends() -> Iterator[dict[str, int]]:
    """The ports of two backends that count together."""
    handler = type("Handler", (_Handler,), {"seen": Counter()})
    with contextlib.ExitStack() as stack:
        yield {
            name: stack.enter_context(peers.served(ThreadingHTTPServer(("127.0.0.1", 0), handler)))
            for name in ("left", "right")
        }


@pytest.fixture(scope="module", name="traffic")
def _traffic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    made = [_manifest(name, it.spec) for name, it in PROOFS.items()]
    made += [_manifest(name, spec) for name, spec in MORE.items()]
    bare = [*(f"bare-{it}" for it in (*PROOFS, *MORE)), "x.whole"]
    made += [ROUTE.replace("NAME", it).replace("HOST", f"{it}.example.com") for it in bare]
    listener = "kind: Gateway, name: web, sectionName: whole"
    whole = POLICY.replace("NAME", "whole").replace("KIND", listener)
    made.append(whole.replace("SPEC", PROOFS["request-timeout"].spec))
    with backends() as ports:
        files = {"given.yaml": GIVEN, "policies.yaml": "".join(made)}
        with standalone(tmp_path_factory.mktemp("traffic"), files, ports) as found:
            found.until_status("http://bare-closed.example.com/", 200)
            for it in ("active", "check-answer", "check-exchange"):
                found.until_status(f"http://{it}.example.com/", 503)
            yield found


@pytest.mark.parametrize("name", PROOFS)
def test_a_policy_changes_what_is_answered(traffic: Standalone, name: str) -> None:
    found = PROOFS[name]
    assert _answers(traffic, name, found.path, len(found.answers)) == found.answers
    assert _answers(traffic, f"bare-{name}", found.path, len(found.bare)) == found.bare


def _answers(instance: Standalone, host: str, path: str, times: int) -> tuple[int, ...]:
    url = f"http://{host}.example.com{path}"
    return tuple(instance.ask(url).status for _ in range(times))


def test_endpoints_that_fail_are_left_out(traffic: Standalone) -> None:
    traffic.until_status("http://passive.example.com/500", 503)
    assert _answers(traffic, "bare-passive", "/500", 4) == (500, 500, 500, 500)


def test_sick_endpoints_are_asked_in_panic(traffic: Standalone) -> None:
    assert _answers(traffic, "panic", "/", 4) == (200, 200, 200, 200)


def test_a_connection_carries_as_many_requests_as_the_policy_says(traffic: Standalone) -> None:
    seen = {host: _connections(traffic, host) for host in ("single", "bare-single")}
    assert len(seen["single"]) == _REQUESTS
    assert len(seen["bare-single"]) < _REQUESTS


_REQUESTS = 40
"""More than Envoy has workers for the two endpoints."""


def _connections(instance: Standalone, host: str) -> set[tuple[int, int]]:
    """The connections that reach backends, by the ports of both ends."""
    found = (instance.ask(f"http://{host}.example.com/").seen for _ in range(_REQUESTS))
    return {(it["port"], it["from"]) for it in found}


def test_a_policy_of_a_listener_is_for_its_routes(traffic: Standalone) -> None:
    assert _answers(traffic, "x.whole", "/late", 1) == (504,)


@pytest.mark.parametrize(("host", "status"), [("buffer", 413), ("bare-buffer", 200)])
def test_a_body_that_is_larger_than_the_buffer_is_refused(
    traffic: Standalone, host: str, status: int
) -> None:
    for size, expected in ((16, 200), (17, status)):
        with contextlib.closing(traffic.connection("http", "")) as connection:
            headers = {"host": f"{host}.example.com"}
            connection.request("POST", "/", body=b"x" * size, headers=headers)
            assert connection.getresponse().status == expected


def test_requests_with_the_same_hash_go_to_one_endpoint(traffic: Standalone) -> None:
    by_user = {user: _endpoints(traffic, "hash", user) for user in map(str, range(12))}
    assert all(len(it) == 1 for it in by_user.values())
    assert len(set(itertools.chain(*by_user.values()))) == 2
    assert len(_endpoints(traffic, "bare-hash", "1")) == 2


def test_the_cookie_of_a_hash_has_the_attributes_of_the_policy(traffic: Standalone) -> None:
    found = traffic.ask("http://cookie.example.com/").headers["set-cookie"]
    assert "SameSite=Strict" in found
    assert "set-cookie" not in traffic.ask("http://bare-cookie.example.com/").headers


def _endpoints(instance: Standalone, host: str, user: str) -> set[int]:
    url = f"http://{host}.example.com/"
    return {instance.ask(url, headers={"x-user": user}).seen["port"] for _ in range(8)}


@pytest.mark.parametrize(("host", "status"), [("upgrade", 101), ("bare-upgrade", 403)])
def test_requests_may_switch_to_websockets(traffic: Standalone, host: str, status: int) -> None:
    with contextlib.closing(traffic.connection("http", "")) as connection:
        headers = {"host": f"{host}.example.com", "connection": "upgrade", "upgrade": "websocket"}
        connection.request("GET", "/", headers=headers)
        assert connection.getresponse().status == status


def test_what_is_not_served_is_told(traffic: Standalone) -> None:
    told = traffic.reasons("BackendTrafficPolicy default/closed")
    assert "spec.bandwidthLimit" in told

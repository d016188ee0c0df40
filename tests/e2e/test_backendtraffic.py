"""XBackendTrafficPolicies with `contour run`: a real Envoy bounds retries and keeps sessions."""

import contextlib
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, cast

import pytest

from tests.dag.gateway.manifests import gateway, gateway_class
from tests.e2e import peers
from tests.e2e.standalone import Standalone, standalone
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_CLIENTS, _ATTEMPTS = 12, 3
_FAILS = 0.3
"""Seconds after which a request fails, while all others are under way, too."""
_GIVEN = (
    """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec:
  gateway: {controllerName: projectcontour.io/gateway-controller}
"""
    + gateway_class()
    + gateway("web")
)
_SERVICE = """---
apiVersion: v1
kind: Service
metadata: {name: NAME}
spec: {ports: [{name: http, port: 80}]}
"""
_SLICE = """---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: NAME-SIDE, labels: {kubernetes.io/service-name: NAME}}
addressType: IPv4
ports: [{name: http, port: $SIDE}]
endpoints: [{addresses: [127.0.0.1]}]
"""
_ROUTE = """---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME}
spec:
  parentRefs: [{name: web}]
  hostnames: [NAME.example.com]
  rules:
  - backendRefs: [BACKENDS]
    retry: {attempts: 3, codes: [503], backoff: 10ms}
    REST
"""
_POLICY = """---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackendTrafficPolicy
metadata: {name: NAME, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {targetRefs: [{group: "", kind: Service, name: TARGET}], SPEC}
"""
_RARE = "minRetryRate: {count: 1, interval: 1h}"
POLICIES = {
    "none": f"retryConstraint: {{budget: {{percent: 0}}, {_RARE}}}",
    "all": f"retryConstraint: {{budget: {{percent: 100}}, {_RARE}}}",
    "few": f"retryConstraint: {{budget: {{percent: 0}}, minRetryRate: {{count: {_CLIENTS}}}}}",
    "half": f"retryConstraint: {{budget: {{percent: 50, interval: 1h}}, {_RARE}}}",
    "cookie": "sessionPersistence: {cookie: {}}",
    "header": "sessionPersistence: {type: Header, header: {name: x-kept}}",
}


class _Handler(BaseHTTPRequestHandler):
    """Counts the attempts for each host; `/fail` fails while others are under way."""

    protocol_version = "HTTP/1.1"
    seen: list[str]

    def do_GET(self) -> None:
        self.seen.append(self.headers["host"])
        if self.path == "/fail":
            time.sleep(_FAILS)
        server = cast("ThreadingHTTPServer", self.server)
        body = json.dumps({"port": server.server_port}).encode()
        self.send_response(503 if self.path == "/fail" else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
        """Says nothing."""


class Served(NamedTuple):
    """The instance, and the hosts of the attempts that its backends have seen."""

    instance: Standalone
    seen: list[str]


def _to(name: str) -> str:
    """A reference to a Service that says in the answer whose share it was."""
    headers = f"responseHeaderModifier: {{set: [{{name: x-share, value: {name}}}]}}"
    filters = f"filters: [{{type: ResponseHeaderModifier, {headers}}}]"
    return f"{{name: {name}, port: 80, {filters}}}"


def _route(name: str, *services: str, rest: str = "") -> str:
    backends = ", ".join(map(_to, services or (name,)))
    return _ROUTE.replace("NAME", name).replace("BACKENDS", backends).replace("REST", rest)


def _policy(name: str, spec: str, target: str = "") -> str:
    found = _POLICY.replace("NAME", name).replace("TARGET", target or name)
    return found.replace("SPEC", spec)


@pytest.fixture(scope="module", name="served")
def _served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    seen: list[str] = []
    handler = type("Handler", (_Handler,), {"seen": seen})
    services = "".join(
        _SERVICE.replace("NAME", name)
        + "".join(_SLICE.replace("NAME", name).replace("SIDE", it) for it in ("left", "right"))
        for name in (*POLICIES, "bare")
    )
    routes = "".join(map(_route, (*POLICIES, "bare"))) + _route("shares", "cookie", "header")
    routes += _route("own", "cookie", rest="sessionPersistence: {cookie: {name: own}}")
    files = {"given.yaml": _GIVEN + services + routes}
    files |= {f"{name}.yaml": _policy(name, spec) for name, spec in POLICIES.items()}
    with contextlib.ExitStack() as stack:
        ports = {
            name: stack.enter_context(peers.served(ThreadingHTTPServer(("127.0.0.1", 0), handler)))
            for name in ("left", "right")
        }
        folder = tmp_path_factory.mktemp("backendtraffic")
        with standalone(folder, files, ports) as found:
            found.until_status("http://own.example.com/", 200)
            yield Served(found, seen)


def _attempts(served: Served, name: str) -> int:
    """How many attempts reach backends when several requests fail at once."""
    host = f"{name}.example.com"
    served.seen.clear()
    with ThreadPoolExecutor(_CLIENTS) as pool:
        asked = [pool.submit(served.instance.ask, f"http://{host}/fail") for _ in range(_CLIENTS)]
        assert [it.result().status for it in asked] == [503] * _CLIENTS
    return served.seen.count(host)


def test_a_budget_of_nothing_stops_retries(served: Served) -> None:
    assert _CLIENTS < _attempts(served, "none") <= _CLIENTS + 2 * _ATTEMPTS


def test_a_budget_of_all_requests_lets_each_be_retried(served: Served) -> None:
    assert _attempts(served, "all") == _CLIENTS * (1 + _ATTEMPTS)


def test_the_least_rate_lets_requests_be_retried_without_a_budget(served: Served) -> None:
    assert _attempts(served, "few") == _CLIENTS * (1 + _ATTEMPTS)


def test_requests_of_the_interval_count_although_they_are_answered(served: Served) -> None:
    for _ in range(4 * _CLIENTS):
        assert served.instance.ask("http://half.example.com/").status == 200
    assert _attempts(served, "half") == _CLIENTS * (1 + _ATTEMPTS)


def test_what_is_approximated_is_told(served: Served) -> None:
    served.instance.until_told("XBackendTrafficPolicy default/none", "1 retries may always be")


def _ports(
    served: Served, name: str, headers: dict[str, str], times: int = 12
) -> dict[str, set[int]]:
    """The endpoints that answer, by the share of the traffic."""
    found: dict[str, set[int]] = defaultdict(set)
    for _ in range(times):
        answer = served.instance.ask(f"http://{name}.example.com/", headers=headers)
        found[answer.headers["x-share"]].add(answer.seen["port"])
    return found


def _cookie(served: Served, name: str) -> str:
    found = served.instance.ask(f"http://{name}.example.com/").headers["set-cookie"]
    return found.partition(";")[0]


def test_a_client_stays_at_its_endpoint(served: Served) -> None:
    cookie = _cookie(served, "cookie")
    assert cookie.startswith("session-service-default-cookie=")
    assert len(_ports(served, "cookie", {"cookie": cookie})["cookie"]) == 1
    assert len(_ports(served, "cookie", {})["cookie"]) == 2
    assert len(_ports(served, "bare", {"cookie": cookie})["bare"]) == 2


def test_a_header_carries_the_session(served: Served) -> None:
    kept = served.instance.ask("http://header.example.com/").headers["x-kept"]
    assert len(_ports(served, "header", {"x-kept": kept})["header"]) == 1


def test_each_share_keeps_its_own_session(served: Served) -> None:
    headers: dict[str, str] = {}
    for _ in range(40):
        answer = served.instance.ask("http://shares.example.com/", headers=headers)
        if "set-cookie" in answer.headers:
            headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]
        if "x-kept" in answer.headers:
            headers["x-kept"] = answer.headers["x-kept"]
    found = _ports(served, "shares", headers, 30)
    assert {name: len(it) for name, it in found.items()} == {"cookie": 1, "header": 1}


def test_the_session_of_a_rule_counts_instead(served: Served) -> None:
    cookie = _cookie(served, "own")
    assert cookie.startswith("own=")
    assert len(_ports(served, "own", {"cookie": cookie})["cookie"]) == 1


def test_a_policy_that_comes_and_goes_changes_what_backends_get(served: Served) -> None:
    instance, subject = served.instance, "XBackendTrafficPolicy default/later"
    assert _attempts(served, "bare") < _CLIENTS * (1 + _ATTEMPTS)
    instance.write("later.yaml", _policy("later", POLICIES["all"], "bare"))
    instance.until_told(subject, "retries may always be")
    wait(lambda: _attempts(served, "bare") == _CLIENTS * (1 + _ATTEMPTS), "all are retried")
    younger = _policy("younger", POLICIES["none"], "bare").replace("2026", "2027")
    instance.write("younger.yaml", younger)
    instance.until_told("XBackendTrafficPolicy default/younger", "the older XBackendTrafficPolicy")
    assert _attempts(served, "bare") == _CLIENTS * (1 + _ATTEMPTS)
    instance.remove("later.yaml")
    wait(lambda: _attempts(served, "bare") <= _CLIENTS + 2 * _ATTEMPTS, "none is retried")
    instance.remove("younger.yaml")


def test_a_policy_that_cannot_be_read_leaves_the_last_good_one(served: Served) -> None:
    broken = POLICIES["none"].replace("percent: 0", "percent: 101")
    served.instance.write("none.yaml", _policy("none", broken))
    served.instance.until_told("XBackendTrafficPolicy default/none", "percent")
    assert _attempts(served, "none") <= _CLIENTS + 2 * _ATTEMPTS
    served.instance.write("none.yaml", _policy("none", POLICIES["none"]))

"""BackendTrafficPolicies with `contour run`: what clients get in place of answers, and compression.

Each request is also sent to a route without a policy, which answers otherwise: without its field a
policy would fail its proof.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import NamedTuple

import pytest

from tests.dag.gateway.manifests import gateway, gateway_class
from tests.e2e import peers
from tests.e2e.standalone import Answer, Standalone, standalone
from tests.testbed.patience import EARLY

pytestmark = pytest.mark.envoy

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
    + """
---
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: s, labels: {kubernetes.io/service-name: s}}
addressType: IPv4
ports: [{name: http, port: $plain}]
endpoints: [{addresses: [127.0.0.1]}]
---
apiVersion: v1
kind: Service
metadata: {name: nobody}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: pages}
data: {response.body: stored}
"""
)
_ROUTE = """---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME}
spec:
  parentRefs: [{name: web}]
  hostnames: [NAME.example.com]
  rules:
  - backendRefs: [{name: s, port: 80}]
  - matches: [{path: {value: /nobody}}]
    backendRefs: [{name: nobody, port: 80}]
  - matches: [{path: {value: /moved}}]
    filters:
    - {type: URLRewrite, urlRewrite: {path: {type: ReplacePrefixMatch, replacePrefixMatch: /}}}
    backendRefs: [{name: s, port: 80}]
"""
_POLICY = """---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: NAME}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: NAME}]
  SPEC
"""


class Proof(NamedTuple):
    """A policy, a request, and what answers it: with the policy, and without."""

    spec: str
    path: str
    expected: dict[str, object]
    bare: dict[str, object]
    """The same things of the answer without the policy."""
    sent: Mapping[str, str] = MappingProxyType({})


def _override(match: str, rest: str) -> str:
    return f"responseOverride: [{{match: {{{match}}}, {rest}}}]"


_BOTH = "responseHeaders: [{name: x-kind, value: {type: Prefix, value: mai}}]"
_NEW = "response: {statusCode: 418}"
_503 = "statusCodes: [{value: 503}]"
_404 = "statusCodes: [{value: 404}]"
_AT = "https://www.example.org:8443/get"
_READ = {"accept-encoding": "gzip, br, zstd"}
PROOFS = {
    "abort": Proof(
        "faultInjection: {abort: {httpStatus: 501}}", "/", {"status": 501}, {"status": 200}
    ),
    "abort-grpc": Proof(
        "faultInjection: {abort: {grpcStatus: 14}}", "/",
        {"status": 200, "grpc-status": "14"}, {"status": 200, "grpc-status": None},
        {"content-type": "application/grpc"},
    ),
    "never": Proof(
        "faultInjection: {abort: {httpStatus: 501, percentage: 0}, delay: {fixedDelay: 1ms}}", "/",
        {"status": 200}, {"status": 200},
    ),
    "header": Proof(
        _override(_BOTH, _NEW), "/200/maintenance", {"status": 418}, {"status": 200}
    ),
    "header-status": Proof(
        _override(f"{_404}, {_BOTH}", _NEW), "/404/maintenance", {"status": 418}, {"status": 404}
    ),
    "other-header": Proof(
        _override(f"{_404}, {_BOTH}", _NEW), "/404/other", {"status": 404}, {"status": 404}
    ),
    "suffix": Proof(
        _override("responseHeaders: [{name: X-Kind, value: {type: Suffix, value: ance}}]", _NEW),
        "/200/maintenance", {"status": 418}, {"status": 200},
    ),
    "regex": Proof(
        _override(
            "responseHeaders: [{name: x-kind, value: {type: RegularExpression, value: 'm.*e'}}]",
            _NEW,
        ),
        "/200/maintenance", {"status": 418}, {"status": 200},
    ),
    "stored": Proof(
        _override(
            _404,
            "response: {body: {type: ValueRef, "
            "valueRef: {group: '', kind: ConfigMap, name: pages}}}",
        ),
        "/404", {"status": 404, "body": b"stored"}, {"status": 404, "body": b"x" * 200},
    ),
    "operators": Proof(
        _override(_404, "response: {body: {inline: '100% of %REQ(x-who)%'}}"),
        "/404", {"body": b"100% of me"}, {"body": b"x" * 200}, {"x-who": "me"},
    ),
    "headers": Proof(
        _override(
            _404,
            "response: {header: "
            "{set: [{name: x-kind, value: a%b}], add: [{name: X-New, value: c}]}}",
        ),
        "/404/old", {"x-kind": "a%b", "x-new": "c"}, {"x-kind": "old", "x-new": None},
    ),
    "redirect": Proof(
        _override(
            _404,
            "redirect: {scheme: https, hostname: www.example.org, port: 8443, "
            "path: {type: ReplaceFullPath, replaceFullPath: /get}, statusCode: 301}",
        ),
        "/404", {"status": 301, "location": _AT}, {"status": 404, "location": None},
    ),
    "redirect-path": Proof(
        _override(_404, "redirect: {}"), "/moved/404?a=b",
        {"status": 302, "location": "http://redirect-path.example.com/moved/404?a=b"},
        {"status": 404, "location": None},
    ),
    "redirect-scheme": Proof(
        _override(_404, "redirect: {scheme: https}"), "/404",
        {"status": 302, "location": "https://redirect-scheme.example.com/404"},
        {"status": 404, "location": None},
    ),
    "redirect-told": Proof(
        _override(_404, "redirect: {port: 8443}"), "/404",
        {"status": 302, "location": "http://redirect-told.example.com:8443/404"},
        {"status": 404, "location": None},
        {"x-envoy-original-host": "evil.test", "x-envoy-original-path": "/evil"},
    ),
    "local": Proof(
        _override(_503, f"source: Local, {_NEW}"), "/nobody", {"status": 418}, {"status": 503}
    ),
    "not-local": Proof(
        _override(_503, f"source: Local, {_NEW}"), "/503", {"status": 503}, {"status": 503}
    ),
    "backend": Proof(
        _override(_503, f"source: Backend, {_NEW}"), "/503", {"status": 418}, {"status": 503}
    ),
    "not-backend": Proof(
        _override(_503, f"source: Backend, {_NEW}"), "/nobody", {"status": 503}, {"status": 503}
    ),
    "brotli": Proof(
        "compressor: [{type: Brotli}]", "/", {"content-encoding": "br"},
        {"content-encoding": None}, {"accept-encoding": "br"},
    ),
    "zstd": Proof(
        "compressor: [{type: Zstd}]", "/", {"content-encoding": "zstd"},
        {"content-encoding": "gzip"}, _READ,
    ),
    "first-zstd": Proof(
        "compressor: [{type: Zstd}, {type: Gzip}, {type: Brotli}]", "/",
        {"content-encoding": "zstd"}, {"content-encoding": "gzip"}, _READ,
    ),
    "first-brotli": Proof(
        "compressor: [{type: Brotli}, {type: Gzip}, {type: Zstd}]", "/",
        {"content-encoding": "br"}, {"content-encoding": "gzip"}, _READ,
    ),
    "liked": Proof(
        "compressor: [{type: Brotli}, {type: Gzip}, {type: Zstd}]", "/",
        {"content-encoding": "zstd"}, {"content-encoding": "gzip"},
        {"accept-encoding": "br;q=0.1, gzip;q=0.2, zstd"},
    ),
    "no-gzip": Proof(
        "compressor: [{type: Brotli}]", "/", {"content-encoding": None},
        {"content-encoding": "gzip"}, {"accept-encoding": "gzip"},
    ),
    "short": Proof(
        "compressor: [{type: Gzip, minContentLength: 201}]", "/", {"content-encoding": None},
        {"content-encoding": "gzip"}, _READ,
    ),
    "compression": Proof(
        "compression: [{type: Brotli}]", "/", {"content-encoding": "br"},
        {"content-encoding": "gzip"}, _READ,
    ),
}  # fmt: skip
SLOW = "faultInjection: {delay: {fixedDelay: 700ms}}"


def _manifest(name: str, spec: str) -> str:
    made = _ROUTE + (_POLICY.replace("SPEC", spec) if spec else "")
    return made.replace("NAME", name)


class _Handler(BaseHTTPRequestHandler):
    """Answers `/STATUS/KIND` with this status and a header with this kind."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        status, *rest = self.path.partition("?")[0].strip("/").split("/")
        self.send_response(int(status) if status.isdigit() else 200)
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", "200")
        for it in rest:
            self.send_header("x-kind", it)
        self.end_headers()
        self.wfile.write(b"x" * 200)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
        """Says nothing."""


@pytest.fixture(scope="module", name="traffic")
def _traffic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    made = [_manifest(name, it.spec) for name, it in PROOFS.items()]
    made += [_manifest("slow", SLOW), _manifest("bare", "")]
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(peers.served(server))
        files = {"given.yaml": _GIVEN, "policies.yaml": "".join(made)}
        folder = tmp_path_factory.mktemp("answers")
        found = stack.enter_context(standalone(folder, files, {"plain": port}))
        found.until_status("http://bare.example.com/", 200)
        found.until_status("http://abort.example.com/", 501)
        yield found


def _ask(instance: Standalone, name: str, path: str, sent: Mapping[str, str]) -> Answer:
    """A request with these headers alone: others say that they read no compression."""
    with contextlib.closing(instance.connection("http", "")) as connection:
        connection.request("GET", path, headers={"host": f"{name}.example.com", **sent})
        answer = connection.getresponse()
        headers = {key.lower(): value for key, value in answer.getheaders()}
        return Answer(answer.status, headers, answer.read())


def _of(found: Answer, names: dict[str, object]) -> dict[str, object]:
    every: dict[str, object] = {"status": found.status, "body": found.body}
    return {it: every[it] if it in every else found.headers.get(it) for it in names}


@pytest.mark.parametrize("name", PROOFS)
def test_a_policy_changes_what_is_answered(traffic: Standalone, name: str) -> None:
    proof = PROOFS[name]
    found = _ask(traffic, name, proof.path, proof.sent)
    assert _of(found, proof.expected) == proof.expected
    bare = _ask(traffic, "bare", proof.path, proof.sent)
    assert _of(bare, proof.bare) == proof.bare


@pytest.mark.parametrize(("host", "is_slow"), [("slow", True), ("bare", False)])
def test_requests_wait_on_purpose(traffic: Standalone, host: str, *, is_slow: bool) -> None:
    begun = time.monotonic()
    assert traffic.ask(f"http://{host}.example.com/").status == 200
    assert (time.monotonic() - begun >= 0.7 - EARLY) == is_slow

"""HTTPRouteFilters with `contour run`: URLs that are rewritten, and answers without a backend.

Each request is also sent to a route without a filter, which is served otherwise: without its field
a filter would fail its proof.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import pytest

from dag.evaluation import evaluator
from dag.evaluation.requests import Request
from tests.dag.gateway.manifests import gateway, gateway_class
from tests.dag.world import FLEET, world
from tests.e2e.standalone import Answer, Standalone, standalone
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

GIVEN = (
    """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec:
  gateway: {controllerName: projectcontour.io/gateway-controller}
  envoy: {cluster: {dnsLookupFamily: v4}}
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
ports: [{name: http, port: $one}]
endpoints: [{addresses: [127.0.0.1]}]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: Backend
metadata: {name: named}
spec: {endpoints: [{fqdn: {hostname: localhost, port: $one}}]}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: Backend
metadata: {name: called}
spec: {endpoints: [{ip: {address: 127.0.0.1, port: $one}, hostname: called.example.org}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: pages}
data: {response.body: '{"error": "stored"}'}
"""
)
_SERVICE = "{name: s, port: 80}"
_ROUTE = """---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME}
spec:
  parentRefs: [{name: web}]
  hostnames: [NAME.example.com]
  rules:
  - filters: [FILTERS]
    backendRefs: [BACKEND]
"""
FILTER = """---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: HTTPRouteFilter
metadata: {name: NAME}
spec: {SPEC}
"""
REF = (
    "{type: ExtensionRef, extensionRef: "
    "{group: gateway.envoyproxy.io, kind: HTTPRouteFilter, name: NAME}}"
)


class Proof(NamedTuple):
    """A filter, a request, and what comes of it: with the filter, and without."""

    spec: str
    path: str
    expected: dict[str, object]
    bare: dict[str, object]
    """The same without the filter."""
    sent: Mapping[str, str] = MappingProxyType({})
    backend: str = _SERVICE


def _path(pattern: str, substitution: str) -> str:
    replaced = f"{{pattern: '{pattern}', substitution: '{substitution}'}}"
    return f"urlRewrite: {{path: {{type: ReplaceRegexMatch, replaceRegexMatch: {replaced}}}}}"


def _host(rest: str, more: str = "") -> str:
    return f"urlRewrite: {{hostname: {{{rest}}}{more}}}"


def _backend(name: str) -> str:
    return f"{{group: gateway.envoyproxy.io, kind: Backend, name: {name}}}"


_HEADER = "type: Header, header: X-Custom-Host"
_JSON = "application/json; charset=utf-8"
_ASKED = {"x-custom-host": "other.example.org"}
_TENANT = "{pattern: '^/tenant/([a-z0-9-]+)/.*', substitution: '\\1.example.internal'}"
PROOFS = {
    "path": Proof(
        _path("^/service/([^/]+)(/.*)$", "\\2/instance/\\1"), "/service/foo/v1/api?a=/service/b/c",
        {"path": "/v1/api/instance/foo?a=/service/b/c"},
        {"path": "/service/foo/v1/api?a=/service/b/c"},
    ),
    "every-match": Proof(
        _path("(?i)one", "two"), "/One/yyy/one", {"path": "/two/yyy/two"}, {"path": "/One/yyy/one"}
    ),
    "no-match": Proof(_path("none", "two"), "/one", {"path": "/one"}, {"path": "/one"}),
    "header": Proof(
        _host(_HEADER), "/",
        {"host": "other.example.org", "x-forwarded-host": "header.example.com"},
        {"host": "bare.example.com", "x-forwarded-host": None}, _ASKED,
    ),
    "no-header": Proof(
        _host(_HEADER), "/", {"host": "no-header.example.com"}, {"host": "bare.example.com"}
    ),
    "untold": Proof(
        _host(_HEADER, ", appendXForwardedHost: false"), "/",
        {"host": "other.example.org", "x-forwarded-host": None},
        {"host": "bare.example.com", "x-forwarded-host": None}, _ASKED,
    ),
    "backend-name": Proof(
        _host("type: Backend"), "/", {"host": "localhost"}, {"host": "bare.example.com"},
        backend=_backend("named"),
    ),
    "backend-called": Proof(
        _host("type: Backend"), "/", {"host": "called.example.org"}, {"host": "bare.example.com"},
        backend=_backend("called"),
    ),
    "backend-service": Proof(
        _host("type: Backend"), "/", {"host": "backend-service.example.com"},
        {"host": "bare.example.com"},
    ),
    "host-of-path": Proof(
        _host(f"type: PathRegex, pathRegex: {_TENANT}"), "/tenant/tenant1/api?a=b",
        {"host": "tenant1.example.internal", "path": "/tenant/tenant1/api?a=b"},
        {"host": "bare.example.com", "path": "/tenant/tenant1/api?a=b"},
    ),
    "inline": Proof(
        "directResponse: {contentType: text/html, statusCode: 503, body: {type: Inline, "
        "inline: '<h1>100% gone</h1>'}}",
        "/", {"status": 503, "body": b"<h1>100% gone</h1>", "content-type": "text/html"},
        {"status": 200, "content-type": _JSON},
    ),
    "usual": Proof(
        "directResponse: {body: {type: Inline, inline: OK}}", "/",
        {"status": 200, "body": b"OK", "content-type": "text/plain"},
        {"content-type": _JSON},
    ),
    "stored": Proof(
        "directResponse: {contentType: application/json, statusCode: 500, body: {type: ValueRef, "
        "valueRef: {group: '', kind: ConfigMap, name: pages}}}",
        "/", {"status": 500, "body": b'{"error": "stored"}', "content-type": "application/json"},
        {"status": 200},
    ),
    "operators": Proof(
        "directResponse: {contentType: text/css, body: {type: Inline, inline: '%REQ(x-who)%: 1%'}}",
        "/", {"status": 200, "body": b"me: 1%", "content-type": "text/css"},
        {"content-type": _JSON}, {"x-who": "me"},
    ),
    "headers": Proof(
        "directResponse: {statusCode: 404, header: {set: [{name: X-A, value: a%b}], "
        "add: [{name: x-b, value: c}]}}",
        "/", {"status": 404, "x-a": "a%b", "x-b": "c"},
        {"status": 200, "x-a": None, "x-b": None},
    ),
}  # fmt: skip


def _manifest(name: str, spec: str, backend: str) -> str:
    made = _ROUTE.replace("FILTERS", REF if spec else "").replace("BACKEND", backend)
    return (made + (FILTER.replace("SPEC", spec) if spec else "")).replace("NAME", name)


@pytest.fixture(scope="module", name="filtered")
def _filtered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    made = [_manifest(name, it.spec, it.backend) for name, it in PROOFS.items()]
    made.append(_manifest("bare", "", _SERVICE))
    folder = tmp_path_factory.mktemp("filters")
    with standalone(folder, {"given.yaml": GIVEN, "filters.yaml": "".join(made)}) as found:
        found.until_status("http://bare.example.com/", 200)
        found.until_status("http://headers.example.com/", 404)
        yield found


def _of(found: Answer, names: dict[str, object]) -> dict[str, object]:
    """Some things of an answer, or of the request as the backend saw it."""
    seen = found.seen
    every: dict[str, object] = {"status": found.status, "body": found.body}
    every |= {"path": seen.get("path")}
    headers = seen.get("headers", found.headers)
    answered = {"content-type"}
    return {
        it: every[it] if it in every else (found.headers if it in answered else headers).get(it)
        for it in names
    }


@pytest.mark.parametrize("name", PROOFS)
def test_a_filter_changes_what_becomes_of_requests(filtered: Standalone, name: str) -> None:
    proof = PROOFS[name]
    found = filtered.ask(f"http://{name}.example.com{proof.path}", headers=proof.sent)
    assert _of(found, proof.expected) == proof.expected
    bare = filtered.ask(f"http://bare.example.com{proof.path}", headers=proof.sent)
    assert _of(bare, proof.bare) == proof.bare


def test_a_grpc_client_is_answered_in_its_protocol(filtered: Standalone) -> None:
    url, sent = "http://calls.example.com/a.B/C", {"content-type": "application/grpc"}
    answer = "directResponse: {contentType: text/html, statusCode: 403, body: {inline: no entry}}"
    made = _manifest("calls", answer, _SERVICE).replace("HTTPRoute\n", "GRPCRoute\n", 1)
    filtered.write("calls.yaml", made)
    wait(lambda: filtered.ask(url, "POST", sent).headers.get("grpc-status") == "7", "a refusal")
    found = filtered.ask(url, "POST", sent)
    assert found.status == 200
    assert found.headers["content-type"] == "application/grpc"
    assert found.headers["grpc-message"] == "no entry"
    filtered.remove("calls.yaml")


def test_an_edit_of_a_filter_a_configmap_or_a_route_takes_effect(filtered: Standalone) -> None:
    url = "http://edited.example.com/"
    stored = "directResponse: {statusCode: STATUS, body: {type: ValueRef, valueRef: " + (
        "{group: '', kind: ConfigMap, name: edited}}}"
    )
    page = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: edited}, data: {page: TEXT}}\n"
    made = _manifest("edited", stored, _SERVICE)
    filtered.write("edited.yaml", made.replace("STATUS", "410") + page.replace("TEXT", "one"))
    filtered.until_status(url, 410)
    assert filtered.ask(url).body == b"one"
    filtered.write("edited.yaml", made.replace("STATUS", "418") + page.replace("TEXT", "two"))
    filtered.until_status(url, 418)
    assert filtered.ask(url).body == b"two"
    filtered.write("edited.yaml", made.replace("STATUS", "418"))
    filtered.until_status(url, 500)
    assert "HTTPRouteFilter" in str(filtered.reasons("HTTPRoute default/edited"))
    filtered.write("edited.yaml", _manifest("edited", "", _SERVICE))
    filtered.until_status(url, 200)
    filtered.remove("edited.yaml")


_COOKIES = """---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cookies}
spec:
  parentRefs: [{name: web}]
  hostnames: [cookies.example.com]
  rules:
  - filters: [REF]
    backendRefs: [BACKEND]
  - backendRefs: [BACKEND]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: HTTPRouteFilter
metadata: {name: cookies}
spec:
  directResponse: {statusCode: 418}
  matches:
  - cookies:
    - {name: beta, value: "yes"}
    - {name: user, type: RegularExpression, value: "^[a-z]+@(one|two)$"}
  - cookies: [{name: every, type: RegularExpression, value: ".*"}]
"""
_REQUESTS: tuple[tuple[str, bool], ...] = (
    ("", False),
    ("beta=yes", False),
    ("beta=yes; user=me@one", True),
    ("user=me@two;beta=yes", True),
    ('a=b; user="me@two"; beta="yes"; c', True),
    ("beta=no; user=me@one", False),
    ("beta=yes; user=me@one!", False),
    ("beta=yes; user=x; user=me@one", True),
    ("xbeta=yes; user=me@one", False),
    ("a=beta=yes; user=me@one", False),
    ("every=", True),
    ("every", False),
    ("any=every=1", False),
)


def test_cookies_decide_whether_a_rule_takes_a_request(filtered: Standalone) -> None:
    made = _COOKIES.replace("REF", REF).replace("NAME", "cookies").replace("BACKEND", _SERVICE)
    filtered.write("cookies.yaml", made)
    url = "http://cookies.example.com/"
    filtered.until_status(url, 200)
    evaluated = world(GIVEN.replace("$one", "80") + made)
    for cookies, is_taken in _REQUESTS:
        sent = {"cookie": cookies} if cookies else {}
        assert (filtered.ask(url, headers=sent).status == 418) == is_taken, cookies
        asked = Request("cookies.example.com", headers=tuple(sent.items()))
        found = evaluator.evaluate(evaluated, FLEET, asked).answer
        assert (found.status == 418) == is_taken, (cookies, found)
    filtered.remove("cookies.yaml")

"""HTTPRouteFilters with credentials, with `contour run`: who sees them, and how they change."""

import contextlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.e2e import peers
from tests.e2e.standalone import Standalone, standalone
from tests.e2e.test_routefilters import FILTER, GIVEN, REF
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_ROUTE = """---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME}
spec:
  parentRefs: [{name: web}]
  hostnames: [NAME.example.com]
  rules:
  - filters: [FILTERS]
    backendRefs: [{name: checked, port: 80}]
  - matches: [{path: {value: /plain}}]
    backendRefs: [{name: checked, port: 80}]
"""
_CHECKED = """---
apiVersion: v1
kind: Service
metadata: {name: checked}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: checked, labels: {kubernetes.io/service-name: checked}}
addressType: IPv4
ports: [{name: http, port: $checked}]
endpoints: [{addresses: [127.0.0.1]}]
"""
_SECRET = """---
apiVersion: v1
kind: Secret
metadata: {name: NAME}
stringData: {credential: "VALUE"}
"""
_USUAL = "credentialInjection: {credential: {valueRef: {name: NAME}}}"
_NAMED = _USUAL.replace("{cred", "{header: X-Key, overwrite: true, cred")


class _Handler(BaseHTTPRequestHandler):
    """Answers with two headers of the request; 401 without any of them."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        found = {it: self.headers.get(it) for it in ("authorization", "x-key")}
        body = json.dumps({"backend": "checked", **found}).encode()
        self.send_response(200 if any(found.values()) else 401)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
        """Says nothing."""


def _manifest(name: str, spec: str, value: str = "") -> str:
    made = _ROUTE.replace("FILTERS", REF) + FILTER.replace("SPEC", spec)
    return (made + (_SECRET.replace("VALUE", value) if value else "")).replace("NAME", name)


@pytest.fixture(scope="module", name="injected")
def _injected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    files = {
        "given.yaml": GIVEN + _CHECKED,
        "usual.yaml": _manifest("usual", _USUAL, "Bearer one"),
        "named.yaml": _manifest("named", _NAMED, "k1"),
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(peers.served(server))
        folder = tmp_path_factory.mktemp("injections")
        found = stack.enter_context(standalone(folder, files, {"checked": port}))
        for name in ("usual", "named"):
            found.until_status(f"http://{name}.example.com/", 200)
        yield found


@pytest.mark.parametrize(
    ("name", "path", "sent", "expected"),
    [
        ("usual", "/", {}, ("Bearer one", None)),
        ("usual", "/", {"authorization": "mine"}, ("mine", None)),
        ("named", "/", {}, (None, "k1")),
        ("named", "/", {"x-key": "mine", "authorization": "a"}, ("a", "k1")),
        ("usual", "/plain", {"x-key": "mine"}, (None, "mine")),
        ("usual", "/plain", {}, (None, None)),
    ],
)
def test_the_backend_gets_the_credential(
    injected: Standalone,
    name: str,
    path: str,
    sent: dict[str, str],
    expected: tuple[str | None, str | None],
) -> None:
    found = injected.ask(f"http://{name}.example.com{path}", headers=sent).seen
    assert (found["authorization"], found["x-key"]) == expected


def _until(instance: Standalone, url: str, credential: str) -> None:
    wait(lambda: instance.ask(url).seen.get("authorization") == credential, credential)


_RELOADS = r"(lds\.update_success|rds\..*config_reload)$"
"""What Envoy counts when it takes other listeners or routes."""


def test_a_new_credential_loses_no_request_and_drains_no_connection(injected: Standalone) -> None:
    url = "http://rotated.example.com/"
    injected.write("rotated.yaml", _manifest("rotated", _USUAL, "Bearer 0"))
    injected.until_status(url, 200)
    before = injected.statistics(_RELOADS)
    assert before
    with injected.load(url).in_background() as answers:
        wait(lambda: answers.answers["checked"] > 10, "answers")
        for it in range(1, 6):
            injected.write("rotated.yaml", _manifest("rotated", _USUAL, f"Bearer {it}"))
            _until(injected, url, f"Bearer {it}")
    answers.require_all("checked")
    assert injected.statistics(_RELOADS) == before


def test_without_its_secret_a_rule_is_closed_and_says_so(injected: Standalone) -> None:
    url = "http://bare.example.com/"
    injected.write("bare.yaml", _manifest("bare", _USUAL))
    injected.until_status(url, 500)
    assert injected.ask(f"{url}plain").status == 401, "what stands beside is served"
    injected.until_told("HTTPRoute default/bare", "Secret default/bare not found")
    injected.write("bare.yaml", _manifest("bare", _USUAL, "Bearer late"))
    _until(injected, url, "Bearer late")
    injected.write("bare.yaml", _manifest("bare", _USUAL))
    injected.until_status(url, 500)
    injected.remove("bare.yaml")

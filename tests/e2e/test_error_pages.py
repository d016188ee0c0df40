"""What pages in place of answers have of these answers, with `contour run`."""

import contextlib
import socket
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.dag.gateway.manifests import gateway, gateway_class
from tests.e2e import peers
from tests.e2e.standalone import Standalone, standalone

pytestmark = pytest.mark.envoy

_GIVEN = (
    gateway_class()
    + gateway("web")
    + """
---
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec:
  gateway: {controllerName: projectcontour.io/gateway-controller}
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
kind: Secret
metadata: {name: users}
stringData: {.htpasswd: "me:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: ClientTrafficPolicy
metadata: {name: web}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  headers: {enableEnvoyHeaders: false}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: {name: login}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: login}]
  basicAuth: {users: {name: users}}
  cors: {allowOrigins: ['https://friend.test'], allowCredentials: true, exposeHeaders: [x-b]}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: proxy}
spec:
  virtualhost:
    fqdn: proxy.example.com
    corsPolicy: {allowOrigin: ['https://friend.test'], allowMethods: [GET]}
  routes:
  - services: [{name: s, port: 80}]
    errorPages: [{statuses: [{start: 400, end: 600}], body: page}]
  - conditions: [{prefix: /204}]
    errorPages: [{statuses: [{start: 400, end: 600}], statusCode: 204, body: page}]
    ipDenyPolicy: [{source: Peer, cidr: 127.0.0.0/8}]
    services: [{name: s, port: 80}]
  - conditions: [{prefix: /direct}]
    directResponsePolicy: {statusCode: 304, body: direct}
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
  - matches: [{path: {value: /old}}]
    filters:
    - type: URLRewrite
      urlRewrite:
        hostname: inside.test
        path: {type: ReplacePrefixMatch, replacePrefixMatch: /}
    backendRefs: [{name: s, port: 80}]
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: NAME}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: NAME}]
  SPEC
"""


def _replacing(rest: str) -> str:
    match = "{statusCodes: [{type: Range, range: {start: 300, end: 599}}]}"
    return f"responseOverride: [{{match: {match}, {rest}}}]"


_PAGE = _replacing("response: {body: {inline: page}}")
_LIMIT = "rateLimit: {local: {rules: [{limit: {requests: 1, unit: Hour}}]}}"
_ROUTES = {
    "login": _PAGE,
    "plain": _PAGE,
    "hidden": _replacing("response: {statusCode: 404, body: {inline: page}}"),
    "empty": _replacing("response: {statusCode: 204, body: {inline: page}}"),
    "limited": f"{_PAGE}\n  {_LIMIT}",
    "moved": _replacing("redirect: {}"),
    "port": _replacing("redirect: {port: 8443}"),
    "scheme": _replacing("redirect: {scheme: https}"),
    "faulty": "faultInjection: {abort: {httpStatus: 204}}",
}


class _Handler(BaseHTTPRequestHandler):
    """Answers `/STATUS` with this status and the headers that belong to it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        status = int(self.path.partition("?")[0].strip("/") or 200)
        self.send_response(status)
        for name, value in (
            *(() if status == 304 else (("content-length", "1"),)),
            ("www-authenticate", 'Basic realm="a"'),
            ("www-authenticate", 'Bearer realm="100%"'),
            ("vary", "cookie"),
            ("x-own", "a"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if status != 304:
            self.wfile.write(b"x")

    do_HEAD = do_GET  # noqa: N815 (its name)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
        """Says nothing."""


@pytest.fixture(scope="module", name="pages")
def _pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    made = [_ROUTE.replace("SPEC", it).replace("NAME", name) for name, it in _ROUTES.items()]
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(peers.served(server))
        files = {"given.yaml": _GIVEN, "routes.yaml": "".join(made)}
        folder = tmp_path_factory.mktemp("pages")
        found = stack.enter_context(standalone(folder, files, {"plain": port}))
        found.until_status("http://login.example.com/", 401)
        found.until_status("http://limited.example.com/", 429)
        for name in ("plain", "hidden", "empty", "moved", "port", "scheme", "proxy"):
            found.until_status(f"http://{name}.example.com/", 200)
        yield found


_ASKED = {"www-authenticate": 'Basic realm="http://login.example.com/"'}
_OPEN = {
    "access-control-allow-origin": "https://friend.test",
    "access-control-allow-credentials": "true",
    "access-control-expose-headers": "x-b",
}
_NEITHER = dict.fromkeys((*_ASKED, *_OPEN, "x-own"), "")


@pytest.mark.parametrize(
    ("name", "path", "origin", "status", "expected"),
    [
        ("login", "/", "", 401, _ASKED),
        ("login", "/", "https://friend.test", 401, {**_ASKED, **_OPEN}),
        ("login", "/", "https://foe.test", 401, _ASKED),
        (
            "plain",
            "/401",
            "https://friend.test",
            401,
            {"www-authenticate": 'Basic realm="a",Bearer realm="100%"', "vary": "cookie"},
        ),
        ("hidden", "/401", "", 404, {"vary": "cookie"}),
        ("limited", "/", "", 429, {"x-ratelimit-limit": "1", "x-ratelimit-remaining": "0"}),
        (
            "proxy",
            "/404",
            "https://friend.test",
            404,
            {
                "access-control-allow-origin": "https://friend.test",
                "www-authenticate": 'Basic realm="a",Bearer realm="100%"',
            },
        ),
    ],
)
def test_a_page_keeps_what_clients_need(
    pages: Standalone, name: str, path: str, origin: str, status: int, expected: Mapping[str, str]
) -> None:
    sent = {"origin": origin} if origin else {}
    found = pages.ask(f"http://{name}.example.com{path}", headers=sent)
    assert (found.status, found.body) == (status, b"page")
    wanted = {**_NEITHER, **expected}
    assert {it: found.headers.get(it, "") for it in wanted} == wanted


def _bytes(instance: Standalone, method: str, host: str, path: str) -> tuple[str, bytes]:
    """The status line of an answer, and all that comes after its head."""
    head = f"{method} {path} HTTP/1.1\r\nhost: {host}.example.com\r\nconnection: close\r\n\r\n"
    address = "127.0.0.1", instance.ports["http"]
    with contextlib.closing(socket.create_connection(address, timeout=10)) as connection:
        connection.sendall(head.encode())
        with connection.makefile("rb") as stream:
            told, _, rest = stream.read().partition(b"\r\n\r\n")
    return told.partition(b"\r\n")[0].decode(), rest


@pytest.mark.parametrize(
    ("method", "host", "path", "status"),
    [
        ("GET", "empty", "/404", 204),
        ("GET", "plain", "/304", 304),
        ("GET", "faulty", "/", 204),
        ("GET", "proxy", "/204", 204),
        ("GET", "proxy", "/direct", 304),
        ("HEAD", "plain", "/404", 404),
    ],
)
def test_no_answer_without_a_body_has_one(
    pages: Standalone, method: str, host: str, path: str, status: int
) -> None:
    """What follows its head is the next response to a client that keeps the connection."""
    told, rest = _bytes(pages, method, host, path)
    assert (told.split()[1], rest) == (str(status), b"")


@pytest.mark.parametrize(
    ("asked", "location"),
    [
        ("moved.example.com/old/404?a=b", "http://moved.example.com/old/404?a=b"),
        ("moved.example.com:81/old/404", "http://moved.example.com:81/old/404"),
        ("port.example.com:81/old/404", "http://port.example.com:8443/old/404"),
        ("scheme.example.com:81/404", "https://scheme.example.com/404"),
    ],
)
def test_a_redirect_repeats_what_was_asked_for(
    pages: Standalone, asked: str, location: str
) -> None:
    """And not what the route makes of it for its backends."""
    forged = {"x-envoy-original-host": "evil.test", "x-envoy-original-path": "/evil"}
    found = pages.ask(f"http://{asked}", headers=forged)
    assert (found.status, found.headers["location"]) == (302, location)

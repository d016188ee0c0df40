"""ClientTrafficPolicies whose word reaches routes and backends, with `contour run`: the names of
headers in upper and lower case, and the headers that tell of rate limits."""

import socketserver
from collections.abc import Iterator

import pytest

from tests.e2e import peers
from tests.e2e.standalone import Standalone, standalone
from tests.e2e.test_traffic import GIVEN, ROUTE
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_HOST = "a.example.com"
_POLICY = """
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: ClientTrafficPolicy
metadata: {name: clients}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  http1: {preserveHeaderCase: true}
  headers: {disableRateLimitHeaders: true}
"""
_LIMIT = """---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: NAME}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: NAME}]
  rateLimit: {local: {rules: [{MORElimit: {requests: 1000, unit: Hour}}]}}
"""


class _Raw(socketserver.StreamRequestHandler):
    """Answers with the lines of the request, as they came."""

    def handle(self) -> None:
        lines: list[bytes] = []
        while (line := self.rfile.readline(65537)).strip():
            lines.append(line)
        body = b"".join(lines)
        head = f"HTTP/1.1 200 OK\r\nX-Answer-ID: 1\r\nContent-Length: {len(body)}\r\n"
        # Said, so that Envoy sends no further request on a connection that is about to end.
        self.wfile.write(head.encode() + b"Connection: close\r\n\r\n" + body)


@pytest.fixture(scope="module", name="web")
def _web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    made = [ROUTE.replace("NAME", it).replace("HOST", f"{it}.example.com") for it in ("a", "b")]
    made.append(_LIMIT.replace("NAME", "a").replace("MORE", ""))
    made.append(_LIMIT.replace("NAME", "b").replace("MORE", "xRateLimitHeaders: DraftVersion03, "))
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Raw)
    with peers.served(server) as port:
        files = {"given.yaml": GIVEN, "routes.yaml": "".join(made)}
        ports = {"left": port, "right": port}
        with standalone(tmp_path_factory.mktemp("headers"), files, ports) as found:
            found.until_status(f"http://{_HOST}/", 200)
            yield found


def _exchanged(it: Standalone, host: str) -> str:
    """The whole answer, whose body is the request as the backend saw it."""
    asked = f"GET / HTTP/1.1\r\nHost: {host}\r\nX-Request-Kind: 1\r\nConnection: close\r\n\r\n"
    connection = it.connection("http", "")
    with connection.sock as client:
        client.sendall(asked.encode())
        return b"".join(iter(lambda: client.recv(4096), b"")).decode()


def test_a_policy_keeps_the_case_of_names_and_hides_limits(web: Standalone) -> None:
    bare = _exchanged(web, _HOST)
    assert "x-answer-id: 1\r\n" in bare
    assert "x-request-kind: 1\r\n" in bare
    assert "x-ratelimit-remaining" in bare
    web.write("policy.yaml", _POLICY)
    wait(lambda: "X-Answer-ID: 1\r\n" in _exchanged(web, _HOST), "the case of the answer is kept")
    found = _exchanged(web, _HOST)
    assert "X-Request-Kind: 1\r\n" in found
    assert "x-ratelimit" not in found.lower()
    assert "x-ratelimit-remaining" in _exchanged(web, "b.example.com").lower()
    assert not web.reasons("ClientTrafficPolicy default/clients")
    web.remove("policy.yaml")
    wait(lambda: "x-answer-id: 1\r\n" in _exchanged(web, _HOST), "names are in lower case again")

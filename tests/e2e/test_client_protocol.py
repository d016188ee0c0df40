"""BackendTrafficPolicies with `contour run` that say how connections to backends are opened: in the
HTTP of the client, and with buffers of the kernel."""

import contextlib
import re
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator

import grpc
import pytest

from tests.e2e import peers
from tests.e2e.standalone import Standalone, standalone
from tests.e2e.test_traffic import GIVEN, POLICY, ROUTE

pytestmark = pytest.mark.envoy

FIELDS = {"followed": "useClientProtocol: true", "buffered": "connection: {socketBufferLimit: 9Ki}"}


class _Raw(socketserver.StreamRequestHandler):
    """Notes the first line of each connection, answers one request and hangs up; late, if asked."""

    lines: list[str]

    def handle(self) -> None:
        self.lines.append(self.rfile.readline(65537).decode())
        if self.lines[-1].startswith("PRI"):
            return
        while self.rfile.readline(65537).strip():
            pass
        if "/late" in self.lines[-1]:
            time.sleep(1.5)
        self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")


@pytest.fixture(name="lines", scope="module")
def _lines() -> list[str]:
    return []


@pytest.fixture(name="it", scope="module")
def _it(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> Iterator[Standalone]:
    made = [
        ROUTE.replace("NAME", it).replace("HOST", f"{it}.example.com") for it in (*FIELDS, "bare")
    ]
    for name, spec in FIELDS.items():
        target = f"kind: HTTPRoute, name: {name}"
        made.append(POLICY.replace("NAME", name).replace("KIND", target).replace("SPEC", spec))
    handler = type("Handler", (_Raw,), {"lines": lines})
    with contextlib.ExitStack() as stack:
        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)
        server.daemon_threads, server.block_on_close = True, False
        port = stack.enter_context(peers.served(server))
        files = {"given.yaml": GIVEN, "routes.yaml": "".join(made)}
        folder = tmp_path_factory.mktemp("protocol")
        found = stack.enter_context(standalone(folder, files, {"left": port, "right": port}))
        found.until_status("http://bare.example.com/", 200)
        yield found


def _called(it: Standalone, host: str) -> None:
    """A call over HTTP/2, which the backend answers with nothing that is HTTP/2."""
    options = (("grpc.default_authority", host),)
    channel = grpc.insecure_channel(f"127.0.0.1:{it.ports['http']}", options)
    with channel, contextlib.suppress(grpc.RpcError):
        channel.unary_unary("/a/b")(b"", timeout=5)


def test_backends_are_spoken_to_as_the_client_speaks(it: Standalone, lines: list[str]) -> None:
    lines.clear()
    _called(it, "bare.example.com")
    assert lines[0].startswith("POST /a/b HTTP/1.1")
    lines.clear()
    assert it.ask("http://followed.example.com/").status == 200
    assert lines == ["GET / HTTP/1.1\r\n"]
    lines.clear()
    _called(it, "followed.example.com")
    assert lines[0] == "PRI * HTTP/2.0\r\n"


def test_the_kernel_buffers_as_much_as_the_policy_says(it: Standalone) -> None:
    assert _buffers(it, "buffered") == {2 * 9 * 1024}
    assert 2 * 9 * 1024 not in _buffers(it, "bare")


def _buffers(it: Standalone, host: str) -> set[int]:
    """Of the connections from Envoy to the backend while a request waits: what may be received."""
    asking = threading.Thread(target=it.ask, args=(f"http://{host}.example.com/late",))
    asking.start()
    command = ("ss", "-tmnH", "state", "established", "dport", f"= :{it.ports['left']}")
    found: set[int] = set()
    while asking.is_alive() and not found:
        told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=5).stdout
        found = {int(each) for each in re.findall(r"skmem:\(r\d+,rb(\d+)", told)}
    asking.join()
    return found

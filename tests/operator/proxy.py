"""Stands between an operator and the API server: writes down what is asked, and may strike.

Plain HTTP on this side, so that a kubeconfig with its URL is all that the operator needs to know.
"""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.cluster.cluster import Cluster

WRITES = {"POST", "PUT", "PATCH", "DELETE"}
_HOP = {"connection", "transfer-encoding", "keep-alive", "host", "content-length"}


class Request(NamedTuple):
    """What was asked."""

    method: str
    path: str
    query: dict[str, list[str]]

    @property
    def is_write(self) -> bool:
        """It changes something, other than who leads and what people are told of it."""
        told = "/leases" in self.path or "/events" in self.path
        return self.method in WRITES and not told


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that was killed is no news."""


class Proxy:
    """Forwards requests, one thread each."""

    def __init__(self, cluster: Cluster) -> None:
        self.requests: list[Request] = []
        self.answered: Callable[[Request, int], None] = lambda *_: None
        """Called before an answer of the API server is passed on."""
        self.refuse: Callable[[Request], bool] = lambda _: False
        """Whether the API server is to be out of order for this one."""
        self.refusal = 500
        """With what it refuses then."""
        self._where = urlsplit(cluster.url).netloc
        self._tls = cluster.tls
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def running(self) -> Iterator["Proxy"]:
        """While the block runs."""
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Exchange(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                self.upstream = proxy.connection()

            def finish(self) -> None:
                self.upstream.close()
                super().finish()

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                proxy.forward(self, self.upstream)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815 -- http.server's names

        return Exchange

    def connection(self) -> http.client.HTTPSConnection:
        """One to the API server for each of the client's."""
        return http.client.HTTPSConnection(self._where, timeout=600, context=self._tls)

    def forward(
        self, exchange: BaseHTTPRequestHandler, upstream: http.client.HTTPSConnection
    ) -> None:
        """One request, to its answer's end."""
        url = urlsplit(exchange.path)
        request = Request(exchange.command, url.path, parse_qs(url.query))
        body = exchange.rfile.read(int(exchange.headers.get("Content-Length") or 0))
        self.requests.append(request)
        if self.refuse(request):
            exchange.send_error(self.refusal)
            return
        headers = {k: v for k, v in exchange.headers.items() if k.lower() not in _HOP}
        try:
            upstream.request(request.method, exchange.path, body or None, headers)
            response = upstream.getresponse()
            self.answered(request, response.status)
            _pass_on(response, exchange)
        except (OSError, http.client.HTTPException):
            exchange.close_connection = True


def _pass_on(response: http.client.HTTPResponse, exchange: BaseHTTPRequestHandler) -> None:
    exchange.send_response(response.status)
    for name, value in response.getheaders():
        if name.lower() not in _HOP:
            exchange.send_header(name, value)
    exchange.send_header("Transfer-Encoding", "chunked")
    exchange.end_headers()
    while piece := response.read1(65536):
        exchange.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        exchange.wfile.flush()
    exchange.wfile.write(b"0\r\n\r\n")
    response.close()  # the connection can be asked again

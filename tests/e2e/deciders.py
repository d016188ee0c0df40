"""Servers that decide over requests, by HTTP and by gRPC, as Envoy asks them."""

import contextlib
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from envoy.service.auth.v3 import external_auth_pb2, external_auth_pb2_grpc

from tests.e2e import peers


@dataclass
class Deciding:
    """A server that decides, and the paths it was asked."""

    asked: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def serving(self) -> Iterator[int]:
        """Answers `/allow/N`, `/word` and `/deny`; the port."""
        asked = self.asked

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                _, kind, rest = self.path.split("/", 2)
                asked.append(self.path)
                number = rest.partition("/")[0]
                knows = self.headers.get("x-word") == "open"
                self.send_response(200 if kind == "allow" or (kind == "word" and knows) else 403)
                if kind == "allow":
                    before = self.headers.get("x-order")
                    self.send_header("x-order", f"{before},{number}" if before else number)
                if kind == "word":
                    self.send_header("x-tenant", "gold")
                    self.send_header("host", "other.example.com")
                self.send_header("content-length", "0")
                self.end_headers()

            do_POST = do_GET  # noqa: N815 (its name)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
                """Says nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        with peers.served(server) as port:
            yield port


class _Calls(external_auth_pb2_grpc.AuthorizationServicer):
    """Lets in who says the word and no secret; would send the request to another host."""

    def Check(self, request: Any, _: Any) -> Any:  # noqa: N802 (its name)
        result = external_auth_pb2.CheckResponse()
        told = request.attributes.request.http.headers
        result.status.code = 0 if "x-secret" not in told and told.get("x-word") == "open" else 7
        for name, value in (("x-tenant", "gold"), ("host", "b.com"), (":authority", "c.com")):
            added = result.ok_response.headers.add().header
            added.key, added.value = name, value
        return result


@contextlib.contextmanager
def calls() -> Iterator[int]:
    """Serves the one that is asked by gRPC; the port."""
    server = grpc.server(futures.ThreadPoolExecutor(2))
    external_auth_pb2_grpc.add_AuthorizationServicer_to_server(_Calls(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(grace=0).wait()

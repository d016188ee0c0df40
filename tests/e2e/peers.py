"""What stands on the other side of Envoy: backends for TLS, streams, packets, copies and calls.

Each runs in threads of the test's process, for as long as its context is open, and yields its port.
"""

import contextlib
import json
import socketserver
import ssl
from collections import Counter
from collections.abc import Iterator
from concurrent import futures
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, cast

import grpc

from tests.testbed import certificates


@contextlib.contextmanager
def over_tls(pair: certificates.Pair, clients: certificates.Pair, folder: Path) -> Iterator[int]:
    """Tells the server name it was asked for, and who the client proved to be."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificates.write(pair, clients, folder)[:2])
    context.load_verify_locations(cadata=clients.pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    asked: dict[int, str] = {}

    def note(sock: Any, name: str | None, _: object) -> None:
        asked[sock.fileno()] = name or ""

    context.sni_callback = note

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            shown = self.connection.getpeercert()
            name = dict(it[0] for it in shown["subject"])["commonName"] if shown else ""
            told = {"backend": "tls", "sni": asked[self.connection.fileno()], "client": name}
            body = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
            """Says nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def finish_request(self, request: Any, client_address: Any) -> None:
            with contextlib.suppress(ssl.SSLError, ConnectionError):
                secured = context.wrap_socket(request, server_side=True)
                super().finish_request(secured, client_address)
                secured.close()

    with served(Server(("127.0.0.1", 0), Handler)) as port:
        yield port


@contextlib.contextmanager
def counting() -> Iterator[tuple[int, Counter[str]]]:
    """Counts the requests it gets, by path."""
    found: Counter[str] = Counter()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            found[self.path] += 1
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with served(server) as port:
        yield port, found


@contextlib.contextmanager
def deciding() -> Iterator[int]:
    """Lets those pass who know the word, and says who they are and what it was asked."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200 if self.headers.get("x-word") == "open" else 403)
            self.send_header("x-who", self.path)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name)
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with served(server) as port:
        yield port


@contextlib.contextmanager
def streams(name: str) -> Iterator[int]:
    """Greets each connection by its name and sends back what it hears."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(name.encode())
            while heard := self.request.recv(1024):
                self.request.sendall(heard)

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with served(server) as port:
        yield port


@contextlib.contextmanager
def packets(name: str) -> Iterator[int]:
    """Answers each packet with its name and the packet."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            packet, sock = cast("tuple[bytes, Any]", self.request)
            sock.sendto(name.encode() + b" " + packet, self.client_address)

    with served(socketserver.ThreadingUDPServer(("127.0.0.1", 0), Handler)) as port:
        yield port


@contextlib.contextmanager
def calls(name: str) -> Iterator[int]:
    """Answers every call with its name and the method."""

    class Every(grpc.GenericRpcHandler):
        def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
            method = str(details.method)
            return grpc.unary_unary_rpc_method_handler(
                lambda request, _: f"{name} {method} {request.decode()}".encode()
            )

    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[Every()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        server.stop(grace=0).wait()


def service(name: str, port: int) -> str:
    """A Service for what listens on a port of this machine."""
    return f"""
apiVersion: v1
kind: Service
metadata: {{name: {name}}}
spec: {{ports: [{{name: http, port: 80}}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: {name}, labels: {{kubernetes.io/service-name: {name}}}}}
addressType: IPv4
ports: [{{name: http, port: {port}}}]
endpoints: [{{addresses: [127.0.0.1]}}]
"""


@contextlib.contextmanager
def served(server: socketserver.BaseServer) -> Iterator[int]:
    """Runs a server in a thread; its port, 0 for a Unix socket."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        address: Any = server.server_address
        yield 0 if isinstance(address, str) else int(address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

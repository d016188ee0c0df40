"""gRPC applications in processes of their own: servers, and clients that use xDS.

gRPC reads its bootstrap once and shares what it has learned among all channels of a process, so
each client is a process. A process takes orders as lines of JSON, and answers each with one line.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import grpc

from tests.testbed.processes import ROOT

grpcio: Any = grpc
experimental: Any = import_module("grpc.experimental")  # the stubs are of what the product uses

SAY = "/echo.Echo/Say"
SHOUT = "/echo.Echo/Shout"


@dataclass(frozen=True, slots=True)
class Calls:
    """The outcomes of calls."""

    replies: Mapping[str, int]
    """How many replies, by the name of the server."""
    errors: Mapping[str, int]
    """How many errors, by status code and message."""
    first: float
    """Seconds until the first call was over."""


@dataclass(slots=True)
class Peer:
    """A process that runs gRPC servers or clients."""

    popen: subprocess.Popen[str]

    def serve(self, *servers: tuple[str, int], address: str = "127.0.0.1") -> None:
        """Starts a server for each name, on a port of an address; its bootstrap may let xDS
        configure it."""
        for name, port in servers:
            self.ask(do="serve", name=name, port=port, address=address)

    def end(self, name: str, grace: float = 0) -> None:
        """Stops a server; calls that have begun may take `grace` seconds."""
        self.ask(do="end", name=name, grace=grace)

    def call(self, target: str, times: int = 1, method: str = SAY, **more: Any) -> Calls:
        """Calls, one after the other, on the channel of a target; `timeout` is in seconds, and
        `metadata` a list of pairs."""
        return Calls(**self.ask(do="call", target=target, times=times, method=method, **more))

    def dial(self, *targets: str) -> None:
        """Opens a channel for each target, without waiting for its connection."""
        self.ask(do="dial", targets=targets)

    def start(self, target: str, *more: str) -> None:
        """Calls each target repeatedly until `stop`, in a thread of its own."""
        self.ask(do="start", targets=[target, *more])

    def stop(self) -> Calls:
        """Stops calling; returns the outcomes of the calls since `start`."""
        return Calls(**self.ask(do="stop"))

    def ask(self, **order: Any) -> Any:
        """Sends an order; returns its answer."""
        assert self.popen.stdin is not None
        assert self.popen.stdout is not None
        print(json.dumps(order), file=self.popen.stdin, flush=True)
        line = self.popen.stdout.readline()
        assert line, f"the peer has ended: {self.popen.wait()}"
        return json.loads(line)


@contextmanager
def peer(bootstrap: Mapping[str, Any] | None = None) -> Iterator[Peer]:
    """A process; with a bootstrap, it uses xDS."""
    environment = {name: it for name, it in os.environ.items() if "proxy" not in name.lower()}
    if bootstrap is not None:
        environment["GRPC_XDS_BOOTSTRAP_CONFIG"] = json.dumps(bootstrap)
    command = (sys.executable, "-m", "tests.testbed.grpcpeers")
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL,
        text=True,
    ) as popen:  # fmt: skip
        try:
            yield Peer(popen)
        finally:
            popen.kill()


class _Program:
    def __init__(self) -> None:
        self._channels: dict[str, Any] = {}
        self._servers: dict[str, Any] = {}
        self._threads: list[threading.Thread] = []
        self._is_over = threading.Event()
        self._done: list[tuple[str, str]] = []

    def do(self, order: dict[str, Any]) -> Any:
        orders: dict[str, Callable[..., Any]] = {
            "serve": self._serve, "end": self._end, "call": self._call,
            "dial": self._dial, "start": self._start, "stop": self._stop,
        }  # fmt: skip
        return orders[order.pop("do")](**order)

    def _serve(self, name: str, port: int, address: str) -> None:
        def reply(_: bytes, __: object) -> bytes:
            return name.encode()

        handler = grpcio.unary_unary_rpc_method_handler(reply)
        options = (("grpc.so_reuseport", 0),)
        by_xds = "server_listener_resource_name_template" in _BOOTSTRAP
        made = grpcio.server(futures.ThreadPoolExecutor(4), options=options, xds=by_xds)
        methods = {"Say": handler, "Shout": handler}
        made.add_generic_rpc_handlers(
            (grpcio.method_handlers_generic_handler("echo.Echo", methods),)
        )
        plain = grpcio.insecure_server_credentials()
        credentials = grpcio.xds_server_credentials(plain) if by_xds else plain
        made.add_secure_port(f"{address}:{port}", credentials)
        made.start()
        self._servers[name] = made

    def _end(self, name: str, grace: float) -> None:
        self._servers.pop(name).stop(grace).wait()

    def _call(self, target: str, times: int, **how: Any) -> dict[str, Any]:
        started = time.monotonic()
        done = [self._one(target, **how)]
        first = time.monotonic() - started
        done += (self._one(target, **how) for _ in range(times - 1))
        return _told(done, first)

    def _dial(self, targets: list[str]) -> None:
        for target in targets:
            channel = self._channels[target] = _channel(target)
            grpcio.channel_ready_future(channel)  # asks it to connect

    def _one(
        self, target: str, method: str = SAY, timeout: float = 20, metadata: Any = ()
    ) -> tuple[str, str]:
        if target not in self._channels:
            self._channels[target] = _channel(target)
        call = self._channels[target].unary_unary(method)
        try:
            return "", call(b"", timeout=timeout, metadata=[tuple(it) for it in metadata]).decode()
        except grpcio.RpcError as error:
            return f"{error.code().name}: {error.details()}", ""

    def _start(self, targets: list[str]) -> None:
        self._done, self._is_over = [], threading.Event()
        for target in targets:
            self._one(target)
        self._threads = [threading.Thread(target=self._load, args=(it,)) for it in targets]
        for it in self._threads:
            it.start()

    def _load(self, target: str) -> None:
        while not self._is_over.is_set():
            self._done.append(self._one(target))
            time.sleep(0.001)

    def _stop(self) -> dict[str, Any]:
        self._is_over.set()
        for it in self._threads:
            it.join()
        return _told(self._done, 0)


def _channel(target: str) -> Any:
    """A channel whose TLS xDS configures, if the bootstrap has certificates."""
    plain = experimental.insecure_channel_credentials()
    has_certificates = "certificate_providers" in _BOOTSTRAP
    credentials = grpcio.xds_channel_credentials(plain) if has_certificates else plain
    return grpcio.secure_channel(target, credentials)


_BOOTSTRAP = json.loads(os.environ.get("GRPC_XDS_BOOTSTRAP_CONFIG", "{}"))


def _told(done: list[tuple[str, str]], first: float) -> dict[str, Any]:
    errors = Counter(error for error, _ in done if error)
    return {"replies": Counter(it for _, it in done if it), "errors": errors, "first": first}


if __name__ == "__main__":
    program = _Program()
    for given in sys.stdin:
        print(json.dumps(program.do(json.loads(given))), flush=True)

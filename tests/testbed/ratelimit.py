"""The real rate limit service (envoyproxy/ratelimit) and the Redis that holds its counters.

`hack/rate-limit-service` builds the service once, from the Go module that `hack/ratelimit/go.mod`
requires, and keeps it in the user's cache; Redis is Debian's. Where either is missing, tests that
need it are skipped and say what is missing; in CI both must be there.
"""

import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib import error, request

import pytest

from tests import golang
from tests.testbed import ports, processes
from tests.testbed.certificates import Pair
from tests.testbed.processes import Process

HOME = golang.ROOT / "hack" / "ratelimit"
_MODULE = "github.com/envoyproxy/ratelimit"
SERVICE = golang.Program(
    "ratelimit",
    "ratelimit",
    HOME,
    ("build", *golang.FLAGS, "-ldflags=-s -w"),
    f"{_MODULE}/src/service_cmd",
)


@dataclass(frozen=True, slots=True)
class Redis:
    """A Redis that a test has started."""

    process: Process
    port: int
    tls_port: int
    """The port with TLS, if it has a certificate."""

    @property
    def address(self) -> str:
        """Where it listens: `host:port`."""
        return f"127.0.0.1:{self.port}"

    def ask(self, *words: str) -> bytes:
        """Sends one command; returns the answer in the Redis protocol."""
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            connection.sendall(f"{' '.join(words)}\r\n".encode())
            return connection.recv(1 << 16)


@dataclass(frozen=True, slots=True)
class Service:
    """The real rate limit service."""

    process: Process
    port: int
    """Its gRPC port on 127.0.0.1."""
    debug_port: int

    def configuration(self) -> str:
        """Its configured limits, a line each."""
        found = self._page("/rlconfig")
        return found if found is not None else ""

    def counters(self) -> str:
        """Its own statistics."""
        return self._page("/stats") or ""

    def _page(self, path: str) -> str | None:
        try:
            with request.urlopen(f"http://127.0.0.1:{self.debug_port}{path}", timeout=10) as answer:
                return str(answer.read().decode())
        except (error.URLError, OSError):
            return None


def require() -> None:
    """Skips the test where the service is not built or there is no Redis, never in CI."""
    try:
        if shutil.which("redis-server") is None:
            raise golang.MissingError("no `redis-server` (Debian: apt-get install redis-server)")
        if not SERVICE.path.is_file():
            raise golang.MissingError("not built: `hack/rate-limit-service` does it once")
    except golang.MissingError as missing:
        if os.environ.get("CI", "") not in {"", "false", "0"}:
            raise
        pytest.skip(f"real rate limit service: {missing}")


@contextmanager
def redis(folder: Path, password: str = "", pair: Pair | None = None) -> Iterator[Redis]:
    """A Redis without persistence while the block runs; with a certificate it also listens with
    TLS."""
    port, tls_port = ports.free_ports(2)
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    command += ["--appendonly", "no", *(("--requirepass", password) if password else ())]
    if pair is not None:
        for name, content in (("redis.crt", pair.pem), ("redis.key", pair.key_pem)):
            (folder / name).write_bytes(content)
        command += ["--tls-port", str(tls_port), "--tls-auth-clients", "no"]
        command += ["--tls-cert-file", str(folder / "redis.crt")]
        command += ["--tls-key-file", str(folder / "redis.key")]
        # Redis requires one, although it asks no client for a certificate.
        command += ["--tls-ca-cert-file", str(folder / "redis.crt")]
    started = processes.start("redis", command, folder)
    found = Redis(started, port, tls_port)
    try:
        started.wait_until(lambda: _answers(found))
        yield found
    finally:
        started.kill()


def _answers(it: Redis) -> bool:
    try:
        return it.ask("PING").startswith((b"+PONG", b"-NOAUTH"))
    except OSError:
        return False


@contextmanager
def service(
    folder: Path, control_plane: str, counters: Redis, settings: Mapping[str, str] | None = None
) -> Iterator[Service]:
    """The service on an xDS server (`host:port`, or `unix:PATH`), with its counters in Redis."""
    port, debug, health = ports.free_port(), ports.free_port(), ports.free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "HOST": "127.0.0.1", "PORT": str(health),
        "GRPC_HOST": "127.0.0.1", "GRPC_PORT": str(port),
        "DEBUG_HOST": "127.0.0.1", "DEBUG_PORT": str(debug),
        "CONFIG_TYPE": "GRPC_XDS_SOTW",
        "CONFIG_GRPC_XDS_NODE_ID": "ratelimit",
        "CONFIG_GRPC_XDS_SERVER_URL": control_plane,
        "FORCE_START_WITHOUT_INITIAL_CONFIG": "true",
        "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL": "100ms",
        "XDS_CLIENT_BACKOFF_MAX_INTERVAL": "1s",
        "REDIS_SOCKET_TYPE": "tcp", "REDIS_URL": counters.address,
        "USE_STATSD": "false", "LOG_LEVEL": "info",
    }  # fmt: skip
    started = processes.start(
        "ratelimit", (SERVICE.path,), folder, environment=environment | dict(settings or {})
    )
    found = Service(started, port, debug)
    try:
        started.wait_until(lambda: "ratelimit" in found.counters())
        yield found
    finally:
        started.kill()


if __name__ == "__main__":
    SERVICE.build()

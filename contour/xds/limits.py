"""What one peer may take of the xDS port: time for handshakes, streams, the age of a connection.

Each limit can be switched off by 0. A Unix socket is ours alone: streams over it are not counted.
"""

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Limits:
    """Times are in seconds."""

    handshake: float = 10.0
    """TCP, TLS and the first frames of HTTP/2; gRPC's own default is 120."""
    streams_per_connection: int = 1024
    """More wait at the client (HTTP/2, SETTINGS_MAX_CONCURRENT_STREAMS)."""
    streams_per_address: int = 2048
    """More are refused (RESOURCE_EXHAUSTED)."""
    connection_age: float = 2 * 3600.0
    """gRPC ends a connection at this age, give or take a tenth. Then Envoys spread over replicas
    that have come since, and a certificate that has ended opens nothing any more."""
    grace: float = 5.0
    """How long streams go on over a connection whose time is up."""

    def options(self) -> Iterator[tuple[str, int]]:
        """As arguments of a gRPC server."""
        if self.handshake:
            yield "grpc.server_handshake_timeout_ms", round(self.handshake * 1000)
        if self.streams_per_connection:
            yield "grpc.max_concurrent_streams", self.streams_per_connection
        if self.connection_age:
            yield "grpc.max_connection_age_ms", round(self.connection_age * 1000)
            yield "grpc.max_connection_age_grace_ms", round(self.grace * 1000)


class TooMany(Exception):  # noqa: N818
    """An address has as many streams as it may have."""


@dataclass(slots=True)
class Peers:
    """The streams that are open, by the address they come from."""

    most: int
    _open: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def counted(self, peer: str) -> Generator[None]:
        """Counts a stream while it lasts; `peer` is `family:address:port`, as gRPC writes it.

        Raises `TooMany`.
        """
        address = "" if peer.startswith("unix:") else peer.rpartition(":")[0]
        if not address or not self.most:
            yield
            return
        if self._open[address] >= self.most:
            raise TooMany(f"{address} already has {self.most} open streams")
        self._open[address] += 1
        try:
            yield
        finally:
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]

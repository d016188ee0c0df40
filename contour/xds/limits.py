"""Limits for each peer of the xDS port: time for handshakes, streams, the age of a connection.

0 switches a limit off. Streams over a Unix socket are not counted, since it is private.
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
    """gRPC ends a connection at this age, plus or minus a tenth. So Envoys spread over new
    replicas, and an expired certificate does not stay in use."""
    grace: float = 5.0
    """How long streams go on after their connection has reached its age."""

    def options(self) -> Iterator[tuple[str, int]]:
        """The limits as arguments of a gRPC server."""
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
    """The open streams, by the address of the peer."""

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

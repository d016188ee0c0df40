"""The settings in which the bootstraps of Envoys differ. What is the same for all is in the
code."""

from dataclasses import dataclass
from pathlib import PurePath

CONNECTIONS = 50_000
"""The limit on client connections where nobody sets another."""


@dataclass(frozen=True, slots=True)
class SocketAddress:
    """A TCP address; the host is an IP address, or a DNS name where the address is dialled."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Pipe:
    """A Unix domain socket."""

    path: PurePath


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Files for mutual TLS with control planes that are not on a Unix socket. Envoy reads them
    again when they change."""

    certificate: PurePath
    key: PurePath
    authority: PurePath
    server_name: str
    """The DNS name that the control plane's certificate must carry."""
    secrets: PurePath
    """The directory that holds the files of `secret_documents`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one Envoy: its identity, its control plane, and its limits.

    They are hashable, so that what is made of them can be cached.
    """

    node: str
    """Unique within the fleet (`node.id`)."""
    fleet: str
    """The fleet whose configuration it asks for (`node.cluster`)."""
    identity: str = ""
    """The identity that it claims where the control plane asks for no certificate; empty: none."""
    control_plane: SocketAddress | Pipe
    authorities: tuple[tuple[str, SocketAddress | Pipe], ...] = ()
    """Other control planes: the authority of the `xdstp:` names for which each is asked, and its
    address."""
    dns_lookup_family: str = "auto"
    """Which addresses of the control plane are asked for: auto, v4, v6 or all."""
    credentials: Credentials | None = None
    """Absent: no TLS, which is safe only on a Unix socket or a loopback address."""
    admin: PurePath
    """The Unix socket of the administration interface; for its owner alone."""
    monitoring: SocketAddress | None = None
    """Where `/ready` and `/stats/prometheus` are served, if anywhere."""
    hides_stats: bool = False
    """Whether only `/ready` is served, so that the settings of Contour decide who may read
    statistics."""
    heap_bytes: int | None = None
    """Memory at which requests are shed; absent: no limit."""
    connections: int = CONNECTIONS
    """Client connections above which new ones are refused."""

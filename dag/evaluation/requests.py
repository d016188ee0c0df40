"""A request as a client sends it, before anything is made of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Request:
    """A request, and the connection over which it comes."""

    host: str
    """`Host` or `:authority`, with a port if the client wrote one."""
    path: str = "/"
    """As it was sent, with the query."""
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    """In the order in which they were sent; names in lower case, without the pseudo headers."""
    port: int = 80
    """The port of the connection: the one that users see, or the one that Envoy binds."""
    is_secure: bool = False
    server_name: str | None = None
    """What a TLS client asks for (SNI); the host if None, no name at all if empty."""
    is_http3: bool = False
    is_stream: bool = False
    """A connection to a TCP port, or packets to a UDP port; nothing but `host`, `port` and `source`
    matters."""
    is_datagram: bool = False
    """Packets to a UDP port."""
    source: str = "127.0.0.1"
    """The address of the peer."""
    client: str = ""
    """The client's address as proxies forward it, once it is known; if empty, the peer's."""

    @property
    def scheme(self) -> str:
        """The scheme of the URL."""
        if self.is_stream:
            return "udp" if self.is_datagram else "tcp"
        return "https" if self.is_secure else "http"

    @property
    def told_scheme(self) -> str:
        """As a trusted proxy tells it, once what others say is gone (`dag.evaluation.clients`)."""
        told = (self.header("x-forwarded-proto") or "").lower()
        return told if told in ("http", "https") else self.scheme

    @property
    def url(self) -> str:
        """The URL, as people write it."""
        where = f":{self.port}" if self.is_stream else self.path
        return f"{self.scheme}://{self.host}{where}"

    @property
    def name(self) -> str:
        """The host without its port, in lower case."""
        return self.host.lower().rpartition(":")[0] if has_port(self.host) else self.host.lower()

    @property
    def asked(self) -> str:
        """The server name of the connection, in lower case; empty if there is none."""
        return (self.name if self.server_name is None else self.server_name).lower()

    @property
    def bare_path(self) -> str:
        """The path without the query."""
        return self.path.partition("?")[0]

    @property
    def is_call(self) -> bool:
        """Whether Envoy takes it for a call of gRPC (`Grpc::Common`); one of gRPC-Web is none."""
        kind = self.header("content-type") or ""
        return kind == "application/grpc" or kind.startswith("application/grpc+")

    @property
    def upgrade(self) -> str | None:
        """To which protocol the connection is to switch; None for none. Envoy never does to h2c."""
        tokens = (self.header("connection") or "").lower().split(",")
        wanted = self.header("upgrade")
        is_asked = any(it.strip(" \t") == "upgrade" for it in tokens)
        return wanted if is_asked and wanted is not None and wanted.lower() != "h2c" else None

    def address(self, of: Literal["Peer", "Remote"]) -> str:
        """The address of the peer, or of the client."""
        return self.client or self.source if of == "Remote" else self.source

    def header(self, name: str) -> str | None:
        """A header as a whole: several values are joined. None without."""
        found = self.values(name)
        return ",".join(found) if found else None

    def values(self, name: str) -> tuple[str, ...]:
        """Each value of a header, as Envoy matches them."""
        if name in _PSEUDO:
            return (str(getattr(self, _PSEUDO[name])),)
        return tuple(value for key, value in self.headers if key == name)

    def queries(self) -> Iterator[tuple[str, str]]:
        """The parameters of the query, in order, undecoded."""
        for pair in self.path.partition("?")[2].split("&"):
            name, _, value = pair.partition("=")
            yield name, value


_PSEUDO = {":authority": "host", "host": "host", ":method": "method", ":path": "path"}


def has_port(host: str) -> bool:
    """Whether a host is written with a port."""
    return host.rpartition(":")[2].isdigit() and ":" in host

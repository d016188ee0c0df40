"""Registered extensions, which are asked about the configuration before Envoys get it."""

from typing import Literal, NamedTuple

from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass

Hook = Literal["Route", "VirtualHost", "HTTPListener", "Translation"]
"""When an extension is asked: about a route, a host, a listener, all clusters of a fleet."""


class ForeignKind(NamedTuple):
    """A kind of objects that an extension registers."""

    group: str
    version: str
    kind: str


class ForeignKey(NamedTuple):
    """An object of a kind that an extension registers."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def ref(self) -> ObjectRef:
        """The same object among all kinds; its kind is qualified, as kubectl does it."""
        return ObjectRef(f"{self.kind}.{self.group}", self.namespace, self.name)


class HookTls(NamedTuple):
    """The Secrets by which the connection to an extension is encrypted."""

    authorities: NamespacedName
    certificate: NamespacedName | None = None
    server_name: str = ""
    """`HookServer.host` if empty."""


@dataclass(frozen=True, slots=True)
class HookServer:
    """An extension: where it is, and when it is asked."""

    name: str
    hooks: frozenset[Hook]
    kinds: tuple[ForeignKind, ...]
    host: str = ""
    port: int = 80
    unix: str = ""
    """The path of a Unix socket, in place of host and port."""
    is_sidecar: bool = False
    """Its server runs beside the control plane, and starts together with it."""
    tls: HookTls | None = None
    timeout: float = 5.0
    """Seconds that an answer may take."""
    retries: int = 3
    fail_open: bool = False
    may_remove_clusters: bool = False
    """Whether clusters may be missing in its answers about all of them."""
    may_remove_secrets: bool = False
    """The same for Secrets."""
    sees_private_keys: bool = False
    """Whether it gets Secrets with their private keys."""
    refresh: float | None = None
    """Seconds after which everything is asked again; None: only after a new connection."""

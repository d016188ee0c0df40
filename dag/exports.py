"""Services that gRPC clients without a proxy may call, and the namespaces of these clients.

The ContourConfiguration says so (`spec.xdsServer.grpcClients`): nothing is exported by default.
Elsewhere: the routes of an exported Service (`gateway.servicehosts`), which GRPCRoutes shape. Only
an export with an authority makes a resource refer to one of another control plane.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from crds.grpcclients import GrpcExport
from crds.meta import NamespacedName
from crds.service import Service
from dag import nodes, services, tables
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query

FLEET = "grpc:clients"
"""The fleet of all gRPC clients; no namespace or Gateway can have this name."""
EVERYBODY = "*"
SERVERS = "server/"
"""The prefix of the names of servers' listeners; no Service's name contains a slash."""


class ExportedPort(NamedTuple):
    """A port of an exported Service, by its number."""

    service: NamespacedName
    port: int


@dataclass(frozen=True, slots=True)
class Export:
    """How a Service is exported."""

    ports: tuple[nodes.ServicePort, ...]
    """The TCP ports, in the order of the Service."""
    audience: frozenset[str] | None
    """The namespaces whose clients may call it; None: all."""
    has_tls: bool = False
    """Clients and servers show each other certificates of this control plane (mutual TLS)."""
    authority: str = ""
    """The authority of the control plane that knows the Service's endpoints; empty: this one."""


@query
def authorities(view: View, _: tuple[()]) -> tuple[str, ...] | None:
    """The xDS authorities that this control plane answers for, its own first; None if it serves no
    gRPC clients."""
    found = view.ask(settings.grpc_clients, ())
    if found is None:
        return None
    return tuple(dict.fromkeys(it for it in (found.authority, *found.aliases) if it))


@query
def export(view: View, key: NamespacedName) -> Export | None:
    """How a Service is exported; None if it is not. A Service that an annotation of another
    controller closes is never exported, nor is one of type ExternalName."""
    found, wanted = view.read(tables.SERVICES, key), view.ask(settings.grpc_clients, ())
    if found is None or wanted is None or found.spec.type == "ExternalName":
        return None
    chosen = [it for it in wanted.exports if _means(it, found)]
    if not chosen or services.closed(view, found) is not None:
        return None
    audience = frozenset(name for it in chosen for name in _clients(it, key))
    ports = (it for it in found.spec.ports if it.protocol == "TCP")
    return Export(
        tuple(nodes.ServicePort(key, it.port, it.name) for it in ports),
        None if EVERYBODY in audience else audience,
        has_tls=any(it.transport == "MutualTLS" for it in chosen),
        authority=next((it.authority for it in chosen if it.authority), ""),
    )


def server_id(service: NamespacedName) -> str:
    """The listener name that the servers of a Service ask for, without the address at its end."""
    return f"{SERVERS}{service.name}.{service.namespace}"


def _means(wanted: GrpcExport, found: Service) -> bool:
    is_there = not wanted.namespaces or found.metadata.namespace in wanted.namespaces
    return is_there and wanted.match_labels.items() <= found.metadata.labels.items()


def _clients(wanted: GrpcExport, key: NamespacedName) -> Iterable[str]:
    return wanted.client_namespaces or (key.namespace,)


def _ports(key: NamespacedName, found: Export | None) -> Iterator[tuple[ExportedPort, None]]:
    for it in found.ports if found is not None else ():
        yield ExportedPort(key, it.port), None


EXPORTED: Index[ExportedPort, None] = Index("exported ports", export, _ports)

EXPORTED_SERVICES: Index[NamespacedName, None] = Index(
    "exported Services", export, lambda key, found: [(key, None)] if found is not None else []
)

INDEXES = (EXPORTED, EXPORTED_SERVICES)
KEPT = (Kept(export, tables.SERVICES),)

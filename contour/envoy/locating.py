"""The tracked queries behind endpoints: of Service ports, of several backends, of extensions."""

from collections.abc import Iterator
from typing import NamedTuple

from contour.envoy import endpoints as assignments
from contour.envoy import localities, names
from contour.envoy.credentials import Pieces
from contour.xds import resources
from crds.meta import ObjectRef
from dag import nodes, services
from dag.engine.view import View, query


class EndpointsKey(NamedTuple):
    """The endpoints of a Service port, as a fleet has them."""

    fleet: str
    port: nodes.ServicePort
    health_port: int | None = None


class ExtensionKey(NamedTuple):
    """The endpoints of an extension, as a fleet has them."""

    fleet: str
    cluster: nodes.ExtensionCluster


class SharedKey(NamedTuple):
    """The endpoints of a cluster of several backends, as a fleet has them."""

    fleet: str
    cluster: nodes.Cluster
    """Only what of it the endpoints depend on."""


@query
def endpoints(view: View, key: EndpointsKey) -> Pieces:
    """Where a Service port's traffic goes; an answer even if that is nowhere."""
    found = view.ask(services.endpoints, key.port)
    body = assignments.encoded(key.port, found, key.health_port)
    origins = (key.port.owner,)
    part = resources.part(body, origins=origins)
    return (resources.Change(names.endpoints(key.port, key.health_port), "", part),)


def shared_key(node: nodes.Cluster) -> nodes.Cluster:
    """What of a cluster its endpoints depend on."""
    return nodes.Cluster(node.port, members=node.members, health_port=node.health_port)


@query
def shared_endpoints(view: View, key: SharedKey) -> Pieces:
    """Where the backends are of which a cluster is made."""
    found = [(it, view.ask(services.endpoints, it.port)) for it in key.cluster.members]
    part = resources.part(
        localities.encoded(key.cluster, found), origins=tuple(origins_of(key.cluster))
    )
    return (resources.Change(names.endpoints_of(key.cluster), "", part),)


@query
def extension_endpoints(view: View, key: ExtensionKey) -> Pieces:
    """Where an extension is, over all its Services."""
    found = [(it, view.ask(services.endpoints, it.port)) for it in key.cluster.services]
    part = resources.part(assignments.shared(key.cluster, found), origins=origins_of(key.cluster))
    return (resources.Change(names.extension_endpoints(key.cluster), "", part),)


def origins_of(node: nodes.AnyCluster) -> Iterator[ObjectRef]:
    """The objects that are told what Envoy makes of a cluster."""
    match node:
        case nodes.Cluster():
            yield from dict.fromkeys((node.port.owner, *(it.port.owner for it in node.members)))
        case nodes.ExtensionCluster():
            yield ObjectRef("ExtensionService", *node.name)
        case nodes.LocalCluster():
            pass  # ours


PUBLISHED = (endpoints, extension_endpoints, shared_endpoints)

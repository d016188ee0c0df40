"""The tracked queries for endpoints: of Service ports, of several backends, of extensions."""

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
    """The endpoints of a Service port, for a fleet."""

    fleet: str
    port: nodes.ServicePort
    health_port: int | nodes.ServicePort | None = None


class ExtensionKey(NamedTuple):
    """The endpoints of an extension, for a fleet."""

    fleet: str
    cluster: nodes.ExtensionCluster


class SharedKey(NamedTuple):
    """The endpoints of a cluster of several backends, for a fleet."""

    fleet: str
    cluster: nodes.Cluster
    """Only those of its fields on which the endpoints depend."""


@query
def endpoints(view: View, key: EndpointsKey) -> Pieces:
    """The endpoints of a Service port; an answer even if there are none."""
    found = view.ask(services.endpoints, key.port)
    name, origins = names.endpoints(key.port, key.health_port), (key.port.owner,)
    body = assignments.encoded(name, found, _health_ports(view, key, found))
    return (resources.Change(name, "", resources.part(body, origins=origins)),)


def _health_ports(view: View, key: EndpointsKey, found: nodes.Endpoints) -> assignments.HealthPorts:
    if not isinstance(key.health_port, nodes.ServicePort):
        return key.health_port
    checked = view.ask(services.numbers, key.health_port)
    if checked == tuple((it.address, it.port) for it in found.endpoints):
        return None  # addresses of this machine, which stand for every port of the Service
    return dict(checked)


def shared_key(node: nodes.Cluster) -> nodes.Cluster:
    """The fields of a cluster on which its endpoints depend."""
    return nodes.Cluster(
        node.port, members=node.members, health_port=node.health_port, dropped=node.dropped
    )


@query
def shared_endpoints(view: View, key: SharedKey) -> Pieces:
    """The endpoints of all backends of a cluster."""
    found = [(it, view.ask(services.endpoints, it.port)) for it in key.cluster.members]
    part = resources.part(
        localities.encoded(key.cluster, found), origins=tuple(origins_of(key.cluster))
    )
    return (resources.Change(names.endpoints_of(key.cluster), "", part),)


@query
def extension_endpoints(view: View, key: ExtensionKey) -> Pieces:
    """The endpoints of an extension, of all its Services."""
    found = [(it, view.ask(services.endpoints, it.port)) for it in key.cluster.services]
    part = resources.part(assignments.shared(key.cluster, found), origins=origins_of(key.cluster))
    return (resources.Change(names.extension_endpoints(key.cluster), "", part),)


def origins_of(node: nodes.AnyCluster) -> Iterator[ObjectRef]:
    """The objects whose statuses show a refusal of a cluster by Envoy."""
    match node:
        case nodes.Cluster():
            yield from dict.fromkeys((node.port.owner, *(it.port.owner for it in node.members)))
        case nodes.ExtensionCluster():
            yield ObjectRef("ExtensionService", *node.name)
        case nodes.LocalCluster():
            pass  # ours


PUBLISHED = (endpoints, extension_endpoints, shared_endpoints)

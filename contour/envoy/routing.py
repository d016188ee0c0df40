"""The tracked queries behind routes: hosts, the clusters they use, the endpoints of these.

A host asks for its clusters, for it needs their names; a cluster demands its endpoints, whose
content it does not depend on. So whatever no host uses any more is forgotten by itself.
"""

from typing import NamedTuple

from contour.envoy import clusters, names, policy, shards, virtual_hosts
from contour.envoy import endpoints as assignments
from contour.xds import resources
from crds.meta import ObjectRef
from dag import hosts, listeners, nodes, services
from dag.view import Index, Kept, View, query

Pieces = tuple[resources.Change, ...]
"""What one answer puts into a fleet: parts, each with its place."""


class ClusterKey(NamedTuple):
    """A cluster of a fleet."""

    fleet: str
    cluster: nodes.Cluster


class EndpointsKey(NamedTuple):
    """The endpoints of a Service port, as a fleet has them."""

    fleet: str
    port: nodes.ServicePort


@query
def host(view: View, key: nodes.HostKey) -> Pieces | None:
    """A virtual host, in every RouteConfiguration that it is a piece of."""
    node = view.ask(hosts.virtual_host, key)
    if node is None:
        return None
    used = {
        it: view.ask(cluster, ClusterKey(key.fleet, it))[0].name
        for it in dict.fromkeys(virtual_hosts.clusters(node))
    }
    body = virtual_hosts.encoded(node, {it: name.name for it, name in used.items()})
    part = resources.part(body, used.values(), node.origins)
    tables = shards.tables_of(key.listener, key.host, sharded=view.ask(policy.sharded, ()))
    if key.host == "*" and _is_secure(view, key):
        tables = (*tables, names.default_routes(key.listener))
    return tuple(resources.Change(names.routes(it), key.host, part) for it in tables)


def _is_secure(view: View, key: nodes.HostKey) -> bool:
    found = view.ask(listeners.listener, nodes.ListenerKey(key.fleet, key.listener))
    return found is not None and found.protocol == "HTTPS"


@query
def cluster(view: View, key: ClusterKey) -> Pieces:
    """A cluster; its name is that of its only piece."""
    node = key.cluster
    name, body = clusters.resource(node, view.ask(policy.upstream, ()))
    origins = (ObjectRef("Service", *node.port.service),)
    if node.dns is not None:
        part = resources.Part(body, resources.digest(body), origins=origins, warms=False)
    else:
        view.demand(endpoints, EndpointsKey(key.fleet, node.port))
        part = resources.part(body, [names.endpoints(node.port)], origins)
    return (resources.Change(name, "", part),)


@query
def endpoints(view: View, key: EndpointsKey) -> Pieces:
    """Where a Service port's traffic goes; an answer even if that is nowhere."""
    body = assignments.encoded(key.port, view.ask(services.endpoints, key.port))
    origins = (ObjectRef("Service", *key.port.service),)
    part = resources.part(body, origins=origins)
    return (resources.Change(names.endpoints(key.port), "", part),)


@query
def tables(view: View, key: nodes.ListenerKey) -> Pieces | None:
    """The RouteConfigurations of a listener without their hosts, and the scopes that lead there."""
    found = view.ask(listeners.listener, key)
    if found is None:
        return None
    sharded = view.ask(policy.sharded, ())
    return tuple(shards.heads(key.name, sharded=sharded, secure=found.protocol == "HTTPS"))


HOSTS: Index[nodes.HostKey, None] = Index(
    "virtual hosts", hosts.virtual_host, lambda key, _: [(key, None)]
)

INDEXES = (HOSTS,)
KEPT = (Kept(tables, listeners.NAMES), Kept(host, HOSTS))
PUBLISHED = (endpoints, cluster, tables, host)

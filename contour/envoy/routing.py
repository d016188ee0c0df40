"""The tracked queries behind routes: hosts, the clusters they use, the endpoints of these.

A host asks for its clusters, for it needs their names; a cluster demands its endpoints, whose
content it does not depend on. So whatever no host uses any more is forgotten by itself.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from contour.envoy import (
    clusters,
    credentials,
    names,
    policy,
    quic,
    releases,
    shards,
    upstream_tls,
    virtual_hosts,
)
from contour.envoy import endpoints as assignments
from contour.envoy.credentials import Pieces
from contour.envoy.fleets import FleetKey
from contour.envoy.hooks import bare, lists, passed, questions
from contour.xds import resources
from crds.meta import ObjectRef
from dag import hosts, listeners, nodes, services
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query


class ClusterKey(NamedTuple):
    """A cluster of a fleet."""

    fleet: str
    cluster: nodes.AnyCluster


class EndpointsKey(NamedTuple):
    """The endpoints of a Service port, as a fleet has them."""

    fleet: str
    port: nodes.ServicePort
    health_port: int | None = None


class ExtensionKey(NamedTuple):
    """The endpoints of an extension, as a fleet has them."""

    fleet: str
    cluster: nodes.ExtensionCluster


@query
def host(view: View, key: nodes.HostKey) -> Pieces | None:
    """A virtual host, in every RouteConfiguration that it is a piece of.

    One of whose TLS connections nobody reads requests keeps its name, so that no wider host takes
    requests for it that come on other connections; and one that has no TLS although it is to.
    """
    if _is_stream(view, key) or view.count(hosts.UNSERVED, key):
        return _pieces(view, key, resources.part(virtual_hosts.misdirected(key.host)))
    if view.ask(settings.hook_servers, ()):
        return _shaped(view, key)
    node = view.ask(hosts.virtual_host, key)
    if node is None:
        return None
    return _plain(view, key, node)


def _plain(view: View, key: nodes.HostKey, node: nodes.VirtualHost) -> Pieces:
    """A host as the objects want it."""
    used = clusters_of(view, key.fleet, virtual_hosts.clusters(node))
    called = {it: name.name for it, name in used.items()}
    traits = _traits(view, key)
    part = resources.part(virtual_hosts.encoded(node, called, traits), used.values(), node.origins)
    if (older := releases.for_older(node)) is not None:
        part = _with_older(part, virtual_hosts.encoded(older, called, traits))
    return _pieces(view, key, part)


def _shaped(view: View, key: nodes.HostKey) -> Pieces | None:
    """A host that extensions are asked about; what Envoy refuses of it they are told, too."""
    found = view.ask(questions.served, key)
    if found is None:
        return None
    if found.good is None:
        return _pieces(view, key, resources.part(virtual_hosts.closed(key.host)))
    node, body, added = found.good.node, found.good.body, found.good.added
    if body is None:
        return _plain(view, key, node)
    used = clusters_of(view, key.fleet, virtual_hosts.clusters(node))
    called = {it: name.name for it, name in used.items()}
    traits = _traits(view, key)
    needs = (*used.values(), *(resources.Name(resources.CLUSTER, it) for it in added))
    origins = (*node.origins, *passed.authors(view))
    part = resources.part(bare.completed(node, called, traits, body), needs, origins)
    if (older := releases.for_older(node)) is not None:
        part = _with_older(part, bare.completed(older, called, traits, body))
    return _pieces(view, key, part)


def _traits(view: View, key: nodes.HostKey) -> virtual_hosts.Traits:
    return virtual_hosts.Traits(
        _asked(view, key), _also(view, key), *view.ask(policy.of_routes, ()), key
    )


def _with_older(part: resources.Part, body: bytes) -> resources.Part:
    """The same with another host for older Envoys."""
    plain = replace(part, body=body, digest=resources.digest(body))
    return replace(part, since=releases.SINCE, older=plain)


def _is_stream(view: View, key: nodes.HostKey) -> bool:
    """Whether TLS connections for a host carry something else than HTTP; `*` has no other name."""
    if key.host == "*" or not _is_secure(view, key):
        return False
    secure = view.ask(hosts.secure_host, key)
    return secure is not None and secure.stream is not None


def _pieces(view: View, key: nodes.HostKey, part: resources.Part) -> Pieces:
    part = replace(part, hosts=(key.host,))
    tables = shards.tables_of(key.listener, key.host, sharded=view.ask(policy.sharded, ()))
    return tuple(resources.Change(names.routes(it), key.host, part) for it in tables)


@query
def ways(view: View, key: nodes.HostKey) -> Pieces:
    """The scopes by which Envoy finds the table of an exact host."""
    listener = view.ask(listeners.listener, nodes.ListenerKey(key.fleet, key.listener))
    if listener is None or not view.ask(policy.sharded, ()):
        return ()
    (table, *_) = shards.tables_of(key.listener, key.host, sharded=True)
    return tuple(shards.scope(it, table) for it in shards.ways(listener, key.host))


def _asked(view: View, key: nodes.HostKey) -> virtual_hosts.Asked | None:
    """What a host asks of TLS connections; None on plain HTTP."""
    if not _is_secure(view, key):
        return None
    secure = view.ask(hosts.secure_host, key)
    lowest = view.ask(settings.tls_versions, ()).minimum
    return virtual_hosts.Asked(secure.tls if secure is not None else None, lowest)


def _also(view: View, key: nodes.HostKey) -> str:
    """Where else a host may be asked: by HTTP/3, on the port of its listener."""
    at = nodes.ListenerKey(key.fleet, key.listener)
    if not policy.serves_http3(view, at):
        return ""
    secure, listener = view.ask(hosts.secure_host, key), view.ask(listeners.listener, at)
    if secure is None or listener is None or key.host == "*" or not secure.can_speak_http3:
        return ""
    return quic.advertisement(listener.port)


def clusters_of(
    view: View, fleet: str, found: Iterable[nodes.AnyCluster]
) -> Mapping[nodes.AnyCluster, resources.Name]:
    """The names of clusters, which exist by being asked for."""
    if not view.ask(passed.is_translated, ()):
        keys = ((it, ClusterKey(fleet, it)) for it in dict.fromkeys(found))
        return {it: view.ask(cluster, key)[0].name for it, key in keys}
    result: dict[nodes.AnyCluster, resources.Name] = {}
    for it in found:
        key = ClusterKey(fleet, it)
        view.demand(cluster, key)
        result[it] = view.ask(wanted_cluster, key).name
    return result


def _is_secure(view: View, key: nodes.HostKey) -> bool:
    found = view.ask(listeners.listener, nodes.ListenerKey(key.fleet, key.listener))
    return found is not None and found.protocol == "HTTPS"


@query
def cluster(view: View, key: ClusterKey) -> Pieces:
    """A cluster as it is served, in one piece; none while extensions have not answered for it."""
    if not view.ask(passed.is_translated, ()):
        return (_cluster(view, key),)
    wanted = view.ask(wanted_cluster, key)
    name, ours = wanted.name, wanted.value
    row = view.read(passed.CLUSTERS, passed.Item(key.fleet, name.name))
    if row is None:
        return ()
    if row.body is None:
        return (wanted,)
    part = lists.part(row.body, ours)
    part = replace(part, origins=(*part.origins, *passed.authors(view)))
    return (resources.Change(name, "", part),)


@query
def wanted_cluster(view: View, key: ClusterKey) -> resources.Change:
    """A cluster as the objects want it; asked where extensions are asked about clusters."""
    return _cluster(view, key)


def _cluster(view: View, key: ClusterKey) -> resources.Change:
    node = key.cluster
    settings = view.ask(policy.upstream, ())
    name, body = clusters.resource(node, settings)
    _demand_credentials(view, key, settings.every)
    origins = tuple(_origins(node))
    part = resources.Part(
        body,
        resources.digest(body),
        frozenset(_endpoints(view, key)),
        origins,
        warms=not _is_dns(node),
        health_checked=isinstance(node, nodes.Cluster) and node.health_check is not None,
    )
    return resources.Change(name, "", part)


def _endpoints(view: View, key: ClusterKey) -> Iterator[resources.Name]:
    """Demands the endpoints of a cluster; what it cannot do without."""
    match key.cluster:
        case nodes.Cluster(port=port, dns=None, health_port=health_port):
            view.demand(endpoints, EndpointsKey(key.fleet, port, health_port))
            yield names.endpoints(port, health_port)
        case nodes.ExtensionCluster() as found:
            view.demand(extension_endpoints, ExtensionKey(key.fleet, found))
            yield names.extension_endpoints(found)
        case nodes.Cluster() | nodes.LocalCluster():
            pass  # resolved by Envoy, or on its machine


def _is_dns(node: nodes.AnyCluster) -> bool:
    return isinstance(node, nodes.Cluster) and node.dns is not None


def _origins(node: nodes.AnyCluster) -> Iterator[ObjectRef]:
    match node:
        case nodes.Cluster():
            yield node.port.owner
        case nodes.ExtensionCluster():
            yield ObjectRef("ExtensionService", *node.name)
        case nodes.LocalCluster():
            pass  # ours


def _demand_credentials(view: View, key: ClusterKey, every: nodes.Upstreams) -> None:
    tls = None if isinstance(key.cluster, nodes.LocalCluster) else key.cluster.tls
    if tls is None and not upstream_tls.is_needed(key.cluster):
        return
    certificate = upstream_tls.client_certificate(tls, every)
    if certificate is not None:
        view.demand(credentials.credential, credentials.SecretKey(key.fleet, certificate))
    if tls is not None and tls.trust is None and tls.system:
        view.demand(credentials.credential, FleetKey(key.fleet))
    if tls is not None and tls.trust is not None:
        view.demand(credentials.credential, credentials.TrustKey(key.fleet, tls.trust))


@query
def endpoints(view: View, key: EndpointsKey) -> Pieces:
    """Where a Service port's traffic goes; an answer even if that is nowhere."""
    found = view.ask(services.endpoints, key.port)
    body = assignments.encoded(key.port, found, key.health_port)
    origins = (key.port.owner,)
    part = resources.part(body, origins=origins)
    return (resources.Change(names.endpoints(key.port, key.health_port), "", part),)


@query
def extension_endpoints(view: View, key: ExtensionKey) -> Pieces:
    """Where an extension is, over all its Services."""
    found = [(it, view.ask(services.endpoints, it.port)) for it in key.cluster.services]
    part = resources.part(assignments.shared(key.cluster, found), origins=_origins(key.cluster))
    return (resources.Change(names.extension_endpoints(key.cluster), "", part),)


@query
def tables(view: View, key: nodes.ListenerKey) -> Pieces | None:
    """The RouteConfigurations of a listener without their hosts, and the scopes that lead there."""
    found = view.ask(listeners.listener, key)
    if found is None:
        return None
    sharded = view.ask(policy.sharded, ())
    return shards.heads(key.name, sharded=sharded, secure=found.protocol == "HTTPS")


HOSTS: Index[nodes.HostKey, None] = Index(
    "virtual hosts", hosts.virtual_host, lambda key, _: [(key, None)]
)

STREAMS: Index[nodes.HostKey, None] = Index(
    "streams behind TLS",
    hosts.secure_host,
    lambda key, found: [(key, None)] if found.stream is not None else [],
)

INDEXES = (HOSTS, STREAMS)
KEPT = (
    Kept(tables, listeners.NAMES),
    Kept(host, HOSTS),
    Kept(host, STREAMS),
    Kept(host, hosts.UNSERVED),
    Kept(ways, HOSTS),
)
PUBLISHED = (endpoints, extension_endpoints, cluster, tables, ways, host)

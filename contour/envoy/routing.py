"""The tracked queries for routes: hosts, and the clusters they use.

A host asks for its clusters, because it needs their names; a cluster demands its endpoints, on
whose content it does not depend (`locating`). So what no host uses any more is removed
automatically.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from contour.envoy import (
    clusters,
    credentials,
    locating,
    names,
    policy,
    quic,
    releases,
    shards,
    upstream_tls,
    virtual_hosts,
)
from contour.envoy.credentials import Pieces
from contour.envoy.fleets import FleetKey
from contour.envoy.guards import logins
from contour.envoy.hooks import lists, passed, questions, stripping
from contour.envoy.patches import applying, layers, places
from contour.envoy.patches.applying import Patched
from contour.xds import resources
from crds.records import replace
from dag import hosts, listeners, nodes, ports
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query
from dag.gateway import clientports
from dag.patches import policies
from dag.patches.naming import PatchPlace


class ClusterKey(NamedTuple):
    """A cluster of a fleet."""

    fleet: str
    cluster: nodes.AnyCluster


@query
def host(view: View, key: nodes.HostKey) -> Pieces | None:
    """A virtual host, in every RouteConfiguration of which it is a part.

    A host whose TLS is passed through is in it, too, so that no wildcard host takes requests for it
    on other connections; so is one that lacks the TLS that it should have.
    """
    if _is_stream(view, key) or view.count(hosts.UNSERVED, key):
        return _pieces(view, key, resources.part(virtual_hosts.misdirected(key.host)))
    patches = policies.at(view, _place(key))
    plain = view.ask(unpatched_host, key) if patches else _unpatched(view, key)
    if plain is None:
        return None
    if not patches:
        return _pieces(view, key, plain)
    part = layers.stacked(plain, view.ask(patched_host, key).layers)
    if plain.older is not None:
        older = layers.stacked(plain.older, places.host(plain.older.body, patches).layers)
        part = replace(part, older=older)
    return _pieces(view, key, part)


@query
def unpatched_host(view: View, key: nodes.HostKey) -> resources.Part | None:
    """A virtual host before its patches; only asked if it has some."""
    return _unpatched(view, key)


@query
def patched_host(view: View, key: nodes.HostKey) -> Patched:
    """A virtual host after its patches; only asked if it has some."""
    plain = view.ask(unpatched_host, key)
    patches = policies.at(view, _place(key))
    return places.host(plain.body, patches) if plain is not None else Patched()


def _place(key: nodes.HostKey) -> PatchPlace:
    return PatchPlace(key.fleet, "host", key.listener, key.host)


def _unpatched(view: View, key: nodes.HostKey) -> resources.Part | None:
    if view.ask(settings.hook_servers, ()):
        return _shaped(view, key)
    node = view.ask(hosts.virtual_host, key)
    return _plain(view, key, node) if node is not None else None


def _plain(view: View, key: nodes.HostKey, node: nodes.VirtualHost) -> resources.Part:
    """A host as the objects want it."""
    _demand_secrets(view, key, node)
    used = clusters_of(view, key.fleet, virtual_hosts.clusters(node))
    called = {it: name.name for it, name in used.items()}
    traits = _traits(view, key, node)
    body = virtual_hosts.encoded(node, called, traits)
    part = resources.part(body, used.values(), node.origins, hosts=(key.host,))
    if (older := releases.for_older(node)) is not None:
        part = _with_older(part, virtual_hosts.encoded(older, called, traits))
    return part


def _shaped(view: View, key: nodes.HostKey) -> resources.Part | None:
    """A host about which extensions are asked; a refusal by Envoy is also reported to them."""
    found = view.ask(questions.served, key)
    if found is None:
        return None
    if found.good is None:
        return resources.part(virtual_hosts.closed(key.host))
    node, body, added = found.good.node, found.good.body, found.good.added
    if body is None:
        return _plain(view, key, node)
    _demand_secrets(view, key, node)
    used = clusters_of(view, key.fleet, virtual_hosts.clusters(node))
    called = {it: name.name for it, name in used.items()}
    traits = _traits(view, key, node)
    needs = (*used.values(), *(resources.Name(resources.CLUSTER, it) for it in added))
    origins = (*node.origins, *passed.authors(view))
    part = resources.part(stripping.completed(node, called, traits, body), needs, origins)
    if (older := releases.for_older(node)) is not None:
        part = _with_older(part, stripping.completed(older, called, traits, body))
    return part


def _demand_secrets(view: View, key: nodes.HostKey, node: nodes.VirtualHost) -> None:
    for source in dict.fromkeys(it.source for it in virtual_hosts.logins(node)):
        for part in logins.PARTS:
            view.demand(credentials.credential, credentials.LoginKey(key.fleet, source, part))


def _traits(view: View, key: nodes.HostKey, node: nodes.VirtualHost) -> virtual_hosts.Traits:
    is_secure = _is_secure(view, key)
    asked, also = (_asked(view, key), _also(view, key)) if is_secure else (None, "")
    are_told = virtual_hosts.follows_redirects(node) and _clients_are_told(view, key, is_secure)
    return virtual_hosts.Traits(asked, also, *view.ask(policy.of_routes, ()), key, are_told)


def _clients_are_told(view: View, key: nodes.HostKey, is_secure: bool) -> bool:
    """Whether the address of a host's client comes from headers."""
    found: nodes.Tls | nodes.ClientSettings | None
    if is_secure:
        secure = view.ask(hosts.secure_host, key)
        found = secure.tls if secure is not None else None
    else:
        found = view.ask(clientports.settings, nodes.ListenerKey(key.fleet, key.listener))
    traffic = found.traffic if found is not None else None
    address = traffic.address if traffic is not None else None
    if address is None:
        return view.ask(settings.num_trusted_hops, ()) > 0
    return address.hops > 0 or bool(address.proxies or address.header)


def _with_older(part: resources.Part, body: bytes) -> resources.Part:
    """The same parts with an alternative for older Envoys."""
    plain = replace(part, body=body, digest=resources.digest(body))
    return replace(part, since=releases.SINCE, older=plain)


def _is_stream(view: View, key: nodes.HostKey) -> bool:
    """Whether TLS connections for a host carry something else than HTTP; never for `*`."""
    if key.host == "*" or not _is_secure(view, key):
        return False
    secure = view.ask(hosts.secure_host, key)
    return secure is not None and secure.stream is not None


def _pieces(view: View, key: nodes.HostKey, part: resources.Part) -> Pieces:
    if not part.hosts:
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


def _asked(view: View, key: nodes.HostKey) -> virtual_hosts.Asked:
    """What a host requires of TLS connections."""
    secure = view.ask(hosts.secure_host, key)
    lowest = view.ask(settings.tls_versions, ()).minimum
    return virtual_hosts.Asked(secure.tls if secure is not None else None, lowest)


def _also(view: View, key: nodes.HostKey) -> str:
    """The `alt-svc` header of a host with TLS: HTTP/3 on the port of its listener, as clients see
    it."""
    at = nodes.ListenerKey(key.fleet, key.listener)
    if not policy.serves_http3(view, at):
        return ""
    secure, listener = view.ask(hosts.secure_host, key), view.ask(listeners.listener, at)
    if secure is None or listener is None or key.host == "*" or not secure.can_speak_http3:
        return ""
    return quic.advertisement(ports.seen(view, listener))


def clusters_of(
    view: View, fleet: str, found: Iterable[nodes.AnyCluster]
) -> Mapping[nodes.AnyCluster, resources.Name]:
    """The names of clusters. Clusters exist as long as they are asked for."""
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
    """A cluster as it is served, in one part; none while extensions have not answered about it."""
    found = _unpatched_cluster(view, key)
    if not found or not _cluster_patches(view, key.fleet, found[0].name.name):
        return found
    (change,) = found
    assert change.value is not None, "a cluster is not taken out by itself"
    part = change.value
    for it in view.ask(patched_cluster, key).layers:
        part = layers.layered(lists.part(it.body, part), it.policy, part)
    return (change._replace(value=part),)


@query
def patched_cluster(view: View, key: ClusterKey) -> Patched:
    """A cluster after its patches; only asked if it has some."""
    found = _unpatched_cluster(view, key)
    if not found or found[0].value is None:
        return Patched()
    name = found[0].name.name
    return applying.applied(
        places.CLUSTER, found[0].value.body, _cluster_patches(view, key.fleet, name)
    )


def _cluster_patches(view: View, fleet: str, name: str) -> tuple[policies.Patch, ...]:
    """The patches of a cluster, which refer to it by its name or by its destination."""
    return policies.at(view, *(PatchPlace(fleet, "cluster", it) for it in _names(name)))


def _names(name: str) -> tuple[str, str]:
    return name, name.rpartition("/")[0]


def _unpatched_cluster(view: View, key: ClusterKey) -> Pieces:
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
    """A cluster as the objects want it; only asked if extensions are asked about clusters."""
    return _cluster(view, key)


def _cluster(view: View, key: ClusterKey) -> resources.Change:
    node = key.cluster
    settings = view.ask(policy.upstream, ())
    name, body = clusters.resource(node, settings)
    _demand_credentials(view, key, settings.every)
    origins = tuple(locating.origins_of(node))
    part = resources.Part(
        body,
        resources.digest(body),
        resources.needed(_endpoints(view, key)),
        origins,
        warms=not _is_dns(node),
        health_checked=isinstance(node, nodes.Cluster) and node.health_check is not None,
    )
    return resources.Change(name, "", part)


def _endpoints(view: View, key: ClusterKey) -> Iterator[resources.Name]:
    """Demands the endpoints of a cluster. Returns the resources that it needs."""
    match key.cluster:
        case nodes.Cluster(dns=None, members=(_, *_)) as found:
            shared = locating.SharedKey(key.fleet, locating.shared_key(found))
            view.demand(locating.shared_endpoints, shared)
            yield names.endpoints_of(found)
        case nodes.Cluster(port=port, dns=None, health_port=health_port):
            view.demand(locating.endpoints, locating.EndpointsKey(key.fleet, port, health_port))
            yield names.endpoints(port, health_port)
        case nodes.ExtensionCluster() as found:
            view.demand(locating.extension_endpoints, locating.ExtensionKey(key.fleet, found))
            yield names.extension_endpoints(found)
        case nodes.Cluster() | nodes.LocalCluster():
            pass  # resolved by Envoy, or on its machine


def _is_dns(node: nodes.AnyCluster) -> bool:
    return isinstance(node, nodes.Cluster) and node.dns is not None


def _demand_credentials(view: View, key: ClusterKey, every: nodes.Upstreams) -> None:
    if isinstance(key.cluster, nodes.Cluster) and (injected := key.cluster.injection) is not None:
        view.demand(credentials.credential, credentials.InjectedKey(key.fleet, injected.source))
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
def tables(view: View, key: nodes.ListenerKey) -> Pieces | None:
    """The RouteConfigurations of a listener without their hosts, and the scopes that lead to
    them."""
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

CLUSTERS: Index[PatchPlace, ClusterKey] = Index(
    "clusters by name",
    cluster,
    lambda key, found: (
        (PatchPlace(key.fleet, "cluster", name), key)
        for it in found
        for name in _names(it.name.name)
    ),
)
"""By all names under which patches may know them."""

INDEXES = (HOSTS, STREAMS, CLUSTERS)
KEPT = (
    Kept(tables, listeners.NAMES),
    Kept(host, HOSTS),
    Kept(host, STREAMS),
    Kept(host, hosts.UNSERVED),
    Kept(ways, HOSTS),
)
PUBLISHED = (*locating.PUBLISHED, cluster, tables, ways, host)

"""Removes our own configuration from a virtual host for extensions, and restores it afterwards.

Extensions see no guards and none of our metadata, so that no answer can remove them. In a question
each route has a unique name; a route with that name in the answer gets back what was removed from
it, wherever it is in the list. A route with another name belongs to the extension; it has the
guards of the host as a whole. A route with guards of its own must be in the answer (`trust`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.config.route.v3 import route_pb2

from contour.envoy import encoding, forwarding, matches, shards, virtual_hosts
from contour.envoy.virtual_hosts import Traits
from contour.xds import resources
from dag import nodes


def identities(node: nodes.VirtualHost) -> tuple[str, ...]:
    """A name for each route: its object and its match, so that other edits do not change it."""
    seen: Counter[str] = Counter()
    found: list[str] = []
    for it in node.routes:
        name = "/".join((*it.origin, _digest(it.match)))
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}/{seen[name]}")
    return tuple(found)


@lru_cache(maxsize=4096)
def _digest(match: nodes.Match) -> str:
    return resources.digest(repr(match).encode())[:5].hex()


class Stripped(NamedTuple):
    """A host as extensions see it."""

    body: bytes
    """A VirtualHost."""
    told: frozenset[str]
    """The filters that its author has configured, in the host or in a route."""
    guarded: Mapping[str, bytes]
    """The RouteMatch of each route that has guards of its own, by the name of the route."""


def stripped(node: nodes.VirtualHost, called: forwarding.ClusterNames) -> Stripped:
    """The host without our own configuration."""
    result = _written(node, called, virtual_hosts.PLAIN)
    host = result.virtual_hosts[0]
    told = frozenset(name for it in _configured(host) for name in it.typed_per_filter_config)
    host.ClearField("rate_limits")
    guarded: dict[str, bytes] = {}
    for name, route in zip(identities(node), host.routes, strict=True):
        route.name = name
        if route.typed_per_filter_config or route.route.rate_limits:
            guarded[name] = encoding.encoded(route.match)
        _strip(route)
    for it in _configured(host):
        it.ClearField("typed_per_filter_config")
    return Stripped(encoding.encoded(host), told, guarded)


Configured = pb.VirtualHost | pb.Route | pb.WeightedCluster.ClusterWeight


def _configured(host: pb.VirtualHost) -> Iterator[Configured]:
    """The host, routes and shares, each of which can configure filters."""
    yield host
    for route in host.routes:
        yield route
        yield from route.route.weighted_clusters.clusters


def _written(
    node: nodes.VirtualHost, called: forwarding.ClusterNames, traits: Traits
) -> route_pb2.RouteConfiguration:
    return virtual_hosts.written(node, called, traits._replace(is_in_only_table=False))


def _strip(route: pb.Route) -> None:
    if shards.ADMISSION in route.metadata.filter_metadata:
        del route.metadata.filter_metadata[shards.ADMISSION]
        if not route.metadata.filter_metadata:
            route.ClearField("metadata")
    if route.HasField("route"):
        route.route.ClearField("rate_limits")


def completed(
    node: nodes.VirtualHost, called: forwarding.ClusterNames, traits: Traits, body: bytes
) -> bytes:
    """A RouteConfiguration with the host of the answer and our own configuration."""
    result = _written(node, called, traits)
    ours = pb.VirtualHost()
    ours.CopyFrom(result.virtual_hosts[0])
    host = result.virtual_hosts[0]
    host.ParseFromString(body)
    _restore_configurations(host, ours)
    host.rate_limits.extend(ours.rate_limits)
    originals = dict(zip(identities(node), ours.routes, strict=True))
    for route in host.routes:
        if (original := originals.get(route.name)) is not None:
            _restore(route, original)
        if traits.is_in_only_table:
            matches.write_one_host(route.match)
    return virtual_hosts.finished(result, node, traits)


def _restore(route: pb.Route, ours: pb.Route) -> None:
    route.name = ours.name
    _restore_configurations(route, ours)
    if not route.HasField("route") or not ours.HasField("route"):
        return
    if shards.ADMISSION in ours.metadata.filter_metadata:
        told = ours.metadata.filter_metadata[shards.ADMISSION]
        route.metadata.filter_metadata[shards.ADMISSION].CopyFrom(told)
    route.route.rate_limits.extend(ours.route.rate_limits)
    for share, its in _pairs(
        route.route.weighted_clusters.clusters, ours.route.weighted_clusters.clusters
    ):
        _restore_configurations(share, its)


def _restore_configurations(target: Configured, ours: Configured) -> None:
    for name, content in ours.typed_per_filter_config.items():
        target.typed_per_filter_config[name].CopyFrom(content)


Shares = Sequence[pb.WeightedCluster.ClusterWeight]


def _pairs(
    found: Shares, ours: Shares
) -> Iterator[tuple[pb.WeightedCluster.ClusterWeight, pb.WeightedCluster.ClusterWeight]]:
    """The pairs of shares with the same cluster, in order."""
    waiting = list(ours)
    for it in found:
        same = next((other for other in waiting if other.name == it.name), None)
        if same is not None:
            waiting.remove(same)
            yield it, same


def routes(body: bytes) -> dict[str, bytes]:
    """The routes of a host in an answer, by name."""
    return {it.name: encoding.encoded(it) for it in pb.VirtualHost.FromString(body).routes}


def without(good: bytes, gone: frozenset[str]) -> bytes:
    """The host of an earlier answer, without these routes."""
    host = pb.VirtualHost.FromString(good)
    kept = [it for it in host.routes if it.name not in gone]
    del host.routes[:]
    host.routes.extend(kept)
    return encoding.encoded(host)

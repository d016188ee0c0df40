"""Streams of bytes and datagrams: Envoy's proxies for TCP and UDP.

A share without a cluster is closed: it goes to a cluster that does not exist. Envoy's UDP proxy
knows no weights, so there the backends become one cluster that does, and that drops such a share
unless it has fallbacks.
"""

import functools
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields

from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.network.tcp_proxy.v3 import tcp_proxy_pb2 as tcp_pb
from envoy.extensions.filters.udp.udp_proxy.v3 import route_pb2 as route_pb
from envoy.extensions.filters.udp.udp_proxy.v3 import udp_proxy_pb2 as udp_pb

from contour.envoy import encoding
from contour.envoy.forwarding import NOWHERE, ClusterNames
from crds.records import replace
from dag import nodes

TCP = "envoy.filters.network.tcp_proxy"
UDP = "envoy.filters.udp_listener.udp_proxy"


def tcp(
    stat_prefix: str, node: nodes.Stream, names: ClusterNames, idle_timeout: float
) -> tcp_pb.TcpProxy:
    """The TCP proxy; `idle_timeout` applies if the stream has none."""
    result = tcp_pb.TcpProxy(stat_prefix=stat_prefix)
    shares = [it for it in node.shares if it.weight] or [nodes.WeightedCluster(None)]
    if len(shares) == 1:
        result.cluster = _name(shares[0], names)
    else:
        for it in shares:
            result.weighted_clusters.clusters.add(name=_name(it, names), weight=it.weight)
    rests = idle_timeout if node.idle_timeout is None else node.idle_timeout
    result.idle_timeout.CopyFrom(encoding.seconds(rests))
    if node.longest is not None:
        result.max_downstream_connection_duration.CopyFrom(encoding.seconds(node.longest))
    return result


def write_udp(
    target: listener_pb2.Listener, listener: str, node: nodes.Stream, names: ClusterNames
) -> None:
    """The proxy of datagrams, a session for each pair of addresses."""
    target.udp_listener_config.SetInParent()
    proxy = udp_pb.UdpProxyConfig(stat_prefix=listener)
    route = route_pb.Route(cluster=next((names[it] for it in datagram_clusters(node)), NOWHERE))
    proxy.matcher.on_no_match.action.name = "route"
    proxy.matcher.on_no_match.action.typed_config.CopyFrom(encoding.packed(route))
    if node.idle_timeout:
        proxy.idle_timeout.CopyFrom(encoding.seconds(node.idle_timeout))
    added = target.listener_filters.add(name=UDP)
    added.typed_config.CopyFrom(encoding.packed(proxy))


def clusters(node: nodes.Stream) -> list[nodes.AnyCluster]:
    """The clusters for connections."""
    return list(dict.fromkeys(it.cluster for it in node.shares if it.cluster and it.weight))


def targets(of: nodes.Listener) -> list[nodes.AnyCluster]:
    """The clusters of a listener without HTTP and TLS."""
    if of.stream is None:
        return []
    return datagram_clusters(of.stream) if of.protocol == "UDP" else clusters(of.stream)


def datagram_clusters(node: nodes.Stream) -> list[nodes.AnyCluster]:
    """The clusters for datagrams: at most one."""
    found = [it.cluster for it in node.shares if it.cluster and it.weight]
    members = _members(node)
    dropped = _dropped(node, members)
    if not found or (len(set(found)) == 1 and not dropped):
        return list(found[:1])
    limits = functools.reduce(_least, (it.limits for it in found))
    # One policy applies to the whole route, so they differ in nothing else.
    return [replace(found[0], members=members, limits=limits, dropped=dropped)]


def _dropped(node: nodes.Stream, members: Iterable[nodes.Member]) -> int | None:
    """The weight of datagrams that are dropped. None beside fallbacks: what takes them is never
    sick, and would keep the fallbacks from their requests."""
    if any(it.is_fallback for it in members):
        return None
    return sum(it.weight for it in node.shares if it.cluster is None)


def _members(node: nodes.Stream) -> tuple[nodes.Member, ...]:
    """The backends of all shares; one that occurs twice has both weights."""
    weights: Counter[tuple[nodes.ServicePort, bool]] = Counter()
    for it in node.shares:
        if it.cluster is not None and it.weight:
            for each in it.cluster.members or (nodes.Member(it.cluster.port, weight=it.weight),):
                weights[each.port, each.is_fallback] += each.weight
    return tuple(
        nodes.Member(port, weight=weight, is_fallback=is_fallback)
        for (port, is_fallback), weight in weights.items()
    )


def _least(
    one: nodes.CircuitBreakers | None, other: nodes.CircuitBreakers | None
) -> nodes.CircuitBreakers | None:
    """Limits that are within both."""
    if one is None or other is None:
        return one or other
    said = {it.name: (getattr(one, it.name), getattr(other, it.name)) for it in fields(one)}
    least = {name: [it for it in both if it is not None] for name, both in said.items()}
    return nodes.CircuitBreakers(**{name: min(it) for name, it in least.items() if it})


def _name(share: nodes.WeightedCluster, names: ClusterNames) -> str:
    return NOWHERE if share.cluster is None else names[share.cluster]

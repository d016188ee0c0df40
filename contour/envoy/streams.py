"""Streams of bytes and datagrams: Envoy's proxies for TCP and UDP.

Connections of a share without a cluster are closed: they go to a cluster that does not exist.
Envoy's UDP proxy has no weights, so backends of UDP become one cluster, which has them.
"""

from envoy.config.listener.v3 import listener_pb2
from envoy.extensions.filters.network.tcp_proxy.v3 import tcp_proxy_pb2 as tcp_pb
from envoy.extensions.filters.udp.udp_proxy.v3 import route_pb2 as route_pb
from envoy.extensions.filters.udp.udp_proxy.v3 import udp_proxy_pb2 as udp_pb

from contour.envoy import encoding
from contour.envoy.forwarding import NOWHERE, ClusterNames
from crds.meta import NamespacedName
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
    return result


def write_udp(
    target: listener_pb2.Listener, listener: str, node: nodes.Stream, names: ClusterNames
) -> None:
    """The proxy of datagrams, a session for each pair of addresses."""
    target.udp_listener_config.SetInParent()
    proxy = udp_pb.UdpProxyConfig(stat_prefix=listener)
    route = route_pb.Route(
        cluster=next((names[it] for it in datagram_clusters(listener, node)), NOWHERE)
    )
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
    return datagram_clusters(of.name, of.stream) if of.protocol == "UDP" else clusters(of.stream)


def datagram_clusters(listener: str, node: nodes.Stream) -> list[nodes.AnyCluster]:
    """The clusters for datagrams: at most one."""
    found = clusters(node)
    return found if len(found) < 2 else [_combined(listener, node)]


def _combined(listener: str, node: nodes.Stream) -> nodes.ExtensionCluster:
    ports = [nodes.WeightedPort(it.cluster.port, it.weight) for it in node.shares if it.cluster]
    owner = NamespacedName(ports[0].port.service.namespace, listener)
    return nodes.ExtensionCluster(owner, tuple(ports), protocol="http/1.1")


def _name(share: nodes.WeightedCluster, names: ClusterNames) -> str:
    return NOWHERE if share.cluster is None else names[share.cluster]

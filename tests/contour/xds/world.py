"""Small real configurations, built from protobuf messages as the translation builds them."""

from collections.abc import Iterable
from dataclasses import replace

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import config_source_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)
from envoy.extensions.filters.network.tcp_proxy.v3 import tcp_proxy_pb2
from envoy.extensions.network.dns_resolver.cares.v3 import cares_dns_resolver_pb2 as cares_pb2

from contour.xds import resources
from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE, Change, Name, Part, needed

ADS = config_source_pb2.ConfigSource(
    ads=config_source_pb2.AggregatedConfigSource(), resource_api_version=config_source_pb2.V3
)


def cluster(name: str, alt_stat_name: str = "", lb_policy: str = "ROUND_ROBIN") -> Change:
    """A cluster whose endpoints come by EDS."""
    made = cluster_pb2.Cluster(
        name=name,
        alt_stat_name=alt_stat_name,
        type=cluster_pb2.Cluster.EDS,
        lb_policy=cluster_pb2.Cluster.LbPolicy.Value(lb_policy),
        eds_cluster_config=cluster_pb2.Cluster.EdsClusterConfig(eds_config=ADS),
    )
    part = resources.part(made.SerializeToString(), {Name(ENDPOINTS, name)})
    return Change(Name(CLUSTER, name), "", part)


def dns_cluster(name: str, resolver: int) -> Change:
    """A cluster whose name is asked for at a port of this machine."""
    made = cluster_pb2.Cluster(name=name, type=cluster_pb2.Cluster.STRICT_DNS)
    made.load_assignment.cluster_name = name
    address = made.load_assignment.endpoints.add().lb_endpoints.add().endpoint.address
    address.socket_address.address, address.socket_address.port_value = "name.test", 80
    cares = cares_pb2.CaresDnsResolverConfig()
    server = cares.resolvers.add().socket_address
    server.address, server.port_value = "127.0.0.1", resolver
    made.typed_dns_resolver_config.name = "envoy.network.dns_resolver.cares"
    made.typed_dns_resolver_config.typed_config.Pack(cares)
    return Change(Name(CLUSTER, name), "", resources.part(made.SerializeToString()))


def endpoints(name: str, *ports: int) -> Change:
    made = endpoint_pb2.ClusterLoadAssignment(cluster_name=name)
    locality = made.endpoints.add()
    for port in ports:
        address = locality.lb_endpoints.add().endpoint.address.socket_address
        address.address, address.port_value = "127.0.0.1", port
    return Change(Name(ENDPOINTS, name), "", resources.part(made.SerializeToString()))


def route_head(name: str) -> Change:
    made = route_pb2.RouteConfiguration(name=name)
    return Change(Name(ROUTE, name), "", resources.part(made.SerializeToString()))


def host(route: str, fqdn: str, to: str, domains: Iterable[str] = ()) -> Change:
    """A virtual host that sends everything to one cluster."""
    made = route_components_pb2.VirtualHost(name=fqdn, domains=list(domains) or [fqdn])
    it = made.routes.add()
    it.match.prefix = "/"
    it.route.cluster = to
    return host_part(route, made, to)


def host_part(route: str, made: route_components_pb2.VirtualHost, to: str) -> Change:
    inside = route_pb2.RouteConfiguration(virtual_hosts=[made])
    part = resources.part(inside.SerializeToString(), {Name(CLUSTER, to)})
    return Change(Name(ROUTE, route), made.name, part)


def listener(name: str, port: int, route: str) -> Change:
    router = hcm_pb2.HttpFilter(name="envoy.filters.http.router")
    router.typed_config.Pack(router_pb2.Router())
    hcm = hcm_pb2.HttpConnectionManager(
        stat_prefix=name,
        rds=hcm_pb2.Rds(route_config_name=route, config_source=ADS),
        http_filters=[router],
    )
    made = listener_pb2.Listener(name=name)
    made.address.socket_address.address = "127.0.0.1"
    made.address.socket_address.port_value = port
    chain = made.filter_chains.add()
    chain.filters.add(name="envoy.filters.network.http_connection_manager").typed_config.Pack(hcm)
    return Change(Name(LISTENER, name), "", resources.part(made.SerializeToString()))


def listener_to_cluster(name: str, port: int, to: str) -> Change:
    """A listener that passes connections on, and so needs a cluster itself."""
    proxy = tcp_proxy_pb2.TcpProxy(stat_prefix=name, cluster=to)
    made = listener_pb2.Listener(name=name)
    made.address.socket_address.address = "127.0.0.1"
    made.address.socket_address.port_value = port
    chain = made.filter_chains.add()
    chain.filters.add(name="envoy.filters.network.tcp_proxy").typed_config.Pack(proxy)
    part = resources.part(made.SerializeToString(), {Name(CLUSTER, to)})
    return Change(Name(LISTENER, name), "", part)


def gone(*changes: Change) -> list[Change]:
    """The removal of what these changes added."""
    return [Change(name, part, None) for name, part, _ in changes]


def site(fqdn: str, to: str, port: int) -> list[Change]:
    """A host, its cluster and its endpoint, in the RouteConfiguration `web`."""
    return [cluster(to), endpoints(to, port), host("web", fqdn, to)]


def without_warming(part: Part | None) -> Part:
    """As for a DNS cluster that is used before it is resolved."""
    assert part is not None
    return replace(part, warms=False)


def with_health_checks(part: Part | None) -> Part:
    assert part is not None
    return replace(part, health_checked=True)


def needing(change: Change, *needs: Name) -> Change:
    """The same bytes, with other needs."""
    assert change.value is not None
    return change._replace(value=replace(change.value, needs=needed(needs)))

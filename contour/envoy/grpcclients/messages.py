"""The protobuf messages for gRPC clients, with only the fields that they read.

Sources: gRFC A27 (listeners, routes, clusters, endpoints), A28 (matches, weights), A47 (names;
`self` as the source of what a resource refers to), and what grpcio 1.85 refuses: a cluster with an
`xdstp:` name and no `service_name`, a group of endpoints without locality or weight, a path that is
matched by its segments. Each cluster stands once in a route: of several entries with its name gRPC
for Go counts the last one alone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import config_source_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)

from contour.envoy import encoding, matches
from contour.envoy.grpcclients import security
from dag import nodes
from dag.gateway import servicehosts

ClusterNames = Mapping[nodes.ServicePort | None, str]
"""The names of the clusters of backends; the key None stands for a share without a backend."""

_SELF = config_source_pb2.ConfigSource(
    self=config_source_pb2.SelfConfigSource(),
    resource_api_version=config_source_pb2.ApiVersion.V3,
)


def listener(name: str, routes: str) -> bytes:
    """A listener without an address, for which a channel asks first."""
    manager = hcm_pb2.HttpConnectionManager()
    manager.rds.route_config_name = routes
    manager.rds.config_source.CopyFrom(_SELF)
    manager.http_filters.add(name="envoy.filters.http.router").typed_config.CopyFrom(
        encoding.packed(router_pb2.Router())
    )
    made = listener_pb2.Listener(name=name)
    made.api_listener.api_listener.CopyFrom(encoding.packed(manager))
    return encoding.encoded(made)


def routes(name: str, found: Iterable[nodes.Route], called: ClusterNames) -> bytes:
    """The routes of a port, for every authority: the name that a client dials already identifies
    the port."""
    made = route_pb2.RouteConfiguration(name=name)
    host = made.virtual_hosts.add(name=name, domains=["*"])
    for it in found:
        _write_route(host.routes.add(), it, called)
    return encoding.encoded(made)


def _write_route(
    target: route_components_pb2.Route, node: nodes.Route, called: ClusterNames
) -> None:
    _write_match(target.match, node.match)
    action = node.action
    shares = action.backends if isinstance(action, nodes.Forward) else ()
    weights = Counter[str]()
    for it in shares:
        if it.weight:
            weights[called[_port(it)]] += it.weight
    if not weights:
        target.non_forwarding_action.SetInParent()  # calls to such a route fail in the client
    elif len(weights) == 1:
        (target.route.cluster,) = weights
    else:
        for name, weight in weights.items():
            target.route.weighted_clusters.clusters.add(name=name).weight.value = weight


def _write_match(target: route_components_pb2.RouteMatch, match: nodes.Match) -> None:
    """Fills in the conditions that gRPC supports: paths and headers. Conditions on pseudo-headers
    and on gRPC are left out, since clients see no pseudo-headers, and every call is a gRPC call."""
    match match.path:
        case nodes.Exact(path):
            target.path = path
        case nodes.Prefix(path):
            target.prefix = path
        case nodes.Segments(path):
            target.prefix = f"{path}/"
        case nodes.Regex(expression):
            target.safe_regex.regex = expression
    for wanted in match.headers:
        matches.write_header(target.headers.add(name=wanted.name), wanted)


def ports(found: Iterable[nodes.Route]) -> tuple[nodes.ServicePort | None, ...]:
    """The backends that routes lead to, each once; None for a share without a backend."""
    actions = (it.action for it in found)
    shares = (
        it for action in actions if isinstance(action, nodes.Forward) for it in action.backends
    )
    return tuple(dict.fromkeys(_port(it) for it in shares if it.weight))


def _port(share: nodes.Backend) -> nodes.ServicePort | None:
    """The backend of a share; None if clients cannot reach it themselves."""
    cluster = share.cluster
    return cluster.port if cluster is not None and servicehosts.is_reachable(cluster) else None


def cluster(name: str, endpoints: str, tls_with: str | None) -> bytes:
    """A cluster whose endpoints come by EDS under this name; `tls_with` is the namespace of servers
    that are called over mutual TLS."""
    made = cluster_pb2.Cluster(name=name, type=cluster_pb2.Cluster.EDS)
    made.eds_cluster_config.service_name = endpoints
    made.eds_cluster_config.eds_config.CopyFrom(_SELF)
    if tls_with is not None:
        security.write_client(made.transport_socket, tls_with)
    return encoding.encoded(made)


def endpoints(
    name: str, zones: Iterable[tuple[str, tuple[nodes.Endpoint, ...]]], preferred: str | None = None
) -> bytes:
    """The endpoints of a backend, by zone: each zone gets calls in proportion to its endpoints.
    With a preferred zone, other zones get calls only while none of its endpoints is reachable."""
    made = endpoint_pb2.ClusterLoadAssignment(cluster_name=name)
    for zone, found in zones:
        group = made.endpoints.add()
        group.locality.zone = zone
        group.priority = int(preferred is not None and zone != preferred)
        group.load_balancing_weight.value = len(found)
        for it in found:
            address = group.lb_endpoints.add().endpoint.address.socket_address
            address.address, address.port_value = it.address, it.port
    return encoding.encoded(made)

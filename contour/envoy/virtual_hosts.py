"""One virtual host, as an encoded piece of a RouteConfiguration.

Encoded messages with repeated fields can be joined: a RouteConfiguration is its own fields and
these pieces, one after the other, so an edited host is all that is encoded again. Elsewhere: the
RouteConfigurations it is a piece of (`shards`).
"""

from collections.abc import Iterator

from envoy.config.route.v3 import route_pb2

from contour.envoy import encoding, forwarding, routes
from dag import nodes


def clusters(host: nodes.VirtualHost) -> Iterator[nodes.Cluster]:
    """The clusters its requests go to, some perhaps several times."""
    for route in host.routes:
        if isinstance(route.action, nodes.Forward):
            for backend in route.action.backends:
                if backend.cluster is not None and backend.weight:
                    yield backend.cluster


def encoded(host: nodes.VirtualHost, names: forwarding.ClusterNames) -> bytes:
    """A RouteConfiguration of which nothing but this host is filled in."""
    result = route_pb2.RouteConfiguration()
    target = result.virtual_hosts.add(name=host.host)
    target.domains.append(host.host)
    for route in host.routes:
        routes.write_route(target.routes.add(), route, host.host, names)
    return encoding.encoded(result)

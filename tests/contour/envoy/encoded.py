"""Encoded hosts read back: what a route of nodes becomes in Envoy's configuration."""

from typing import Any

from envoy.config.route.v3 import route_pb2

from contour.envoy import names, virtual_hosts
from dag import nodes


def routes(*found: nodes.Route, host: str = "a.test") -> list[Any]:
    """The routes of a host; clusters are called like their Services."""
    node = nodes.VirtualHost(host, found)
    called = {it: names.statistics(it).split("_")[1] for it in virtual_hosts.clusters(node)}
    message = route_pb2.RouteConfiguration.FromString(virtual_hosts.encoded(node, called))
    return list(message.virtual_hosts[0].routes)

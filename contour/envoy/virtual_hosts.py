"""One virtual host, as an encoded piece of a RouteConfiguration.

Encoded messages with repeated fields can be joined: a RouteConfiguration is its own fields and
these pieces, one after the other, so an edited host is all that is encoded again. Elsewhere: the
RouteConfigurations it is a piece of (`shards`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.config.route.v3 import route_pb2

from contour.envoy import encoding, forwarding, headers, names, routes, shards
from contour.envoy.guards import policies, ratelimits
from dag import nodes


def clusters(host: nodes.VirtualHost) -> Iterator[nodes.AnyCluster]:
    """The clusters its requests go to and its guards ask, some perhaps several times."""
    yield from policies.clusters(host.policies)
    for route in host.routes:
        yield from policies.clusters(route.policies)
        if isinstance(route.action, nodes.Forward):
            yield from _targets(route.action)


def _targets(action: nodes.Forward) -> Iterator[nodes.Cluster]:
    for backend in action.backends:
        if backend.cluster is not None and backend.weight:
            yield backend.cluster
    for mirror in action.mirrors:
        yield mirror.cluster


def is_open(host: nodes.VirtualHost) -> bool:
    """Whether TLS connections that name no host we know reach it, too."""
    return host.is_fallback or (host.server_names is not None and host.server_names.pattern == "*")


class Traits(NamedTuple):
    """What else there is to know of a host."""

    tls: nodes.Tls | None = None
    also: str = ""
    """Where else it may be asked (`alt-svc`)."""
    tells_origins: bool = False
    """Access logs tell which object a route comes from."""
    resent_body: int = 1024 * 1024
    """Bytes of a body that are kept for a request that may be sent again."""


_PLAIN = Traits()


def _may_be_sent_again(action: nodes.Action) -> bool:
    """Whether Envoy keeps a request: to try again, or to follow a redirect of the backend."""
    if not isinstance(action, nodes.Forward):
        return False
    return action.retry is not None or action.internal_redirect is not None


def encoded(
    host: nodes.VirtualHost, called: forwarding.ClusterNames, traits: Traits = _PLAIN
) -> bytes:
    """A RouteConfiguration of which nothing but this host is filled in."""
    result = route_pb2.RouteConfiguration()
    target = result.virtual_hosts.add(name=host.host)
    target.domains.append(host.host)
    if host.policies is not None:
        policies.write_policies(target, host.policies, called)
        if isinstance(host.policies.rate_limits, nodes.RateLimits):
            ratelimits.write_descriptors(target, host.policies.rate_limits)
    for route in host.routes:
        added = target.routes.add()
        routes.write_route(added, route, host, called)
        if _may_be_sent_again(route.action):
            added.request_body_buffer_limit.value = traits.resent_body
        if traits.tells_origins:
            routes.write_origin(added, route.origin)
    if any(it.route.HasField("internal_redirect_policy") for it in target.routes):
        _name_routes(target)
    _hide_table(target)
    if traits.also:
        target.response_headers_to_add.append(headers.overwriting("alt-svc", traits.also))
    _write_names(target, host, traits.tls)
    return encoding.encoded(result)


def closed(host: str) -> bytes:
    """A RouteConfiguration of which nothing but this host is filled in, and it answers 503.

    In the place of one that Envoy refuses: or the host of a wildcard would take its requests.
    """
    result = route_pb2.RouteConfiguration()
    target = result.virtual_hosts.add(name=host, domains=[host])
    route = target.routes.add()
    route.match.prefix = "/"
    route.direct_response.status = 503
    return encoding.encoded(result)


def _name_routes(target: pb.VirtualHost) -> None:
    """Envoy remembers by name which routes redirects were followed to; without, all are one."""
    for route in target.routes:
        route.name = names.route(encoding.encoded(route.match))


def _hide_table(target: pb.VirtualHost) -> None:
    """Backends do not see our header, but those that Envoy follows redirects of: it looks for the
    route of the new place while it still has the old request."""
    if not any(it.route.HasField("internal_redirect_policy") for it in target.routes):
        target.request_headers_to_remove.append(shards.HEADER)
        return
    for route in target.routes:
        if not route.route.HasField("internal_redirect_policy"):
            route.request_headers_to_remove.append(shards.HEADER)


def _write_names(target: pb.VirtualHost, host: nodes.VirtualHost, tls: nodes.Tls | None) -> None:
    """For which server names it may be asked, and on which terms of TLS (`scripts`)."""
    wanted = host.server_names
    if wanted is None and not host.is_fallback:
        return
    told = target.metadata.filter_metadata[shards.FILTER].get_or_create_struct("names")
    # With the fallback certificate on any terms; else for its own name only.
    told["pattern"] = wanted.pattern if wanted else "*"
    told.get_or_create_list("exceptions").extend(wanted.exceptions if wanted else ["*"])
    if wanted is not None and tls is not None:
        told["terms"] = names.terms(tls)

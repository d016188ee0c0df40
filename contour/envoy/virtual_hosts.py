"""One virtual host, as an encoded part of a RouteConfiguration.

Encoded messages with repeated fields can be concatenated: a RouteConfiguration is its own fields
followed by these parts, so only an edited host is encoded again. Elsewhere: the RouteConfigurations
to which a host belongs (`shards`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.config.route.v3 import route_pb2

from contour.envoy import (
    enabling,
    encoding,
    forwarding,
    headers,
    matches,
    names,
    redirects,
    routes,
    shards,
    slots,
)
from contour.envoy.guards import addresses, authorization, policies, ratelimits
from dag import nodes


def clusters(host: nodes.VirtualHost) -> Iterator[nodes.AnyCluster]:
    """The clusters its requests go to and its guards ask, some perhaps several times."""
    yield from policies.clusters(host.policies)
    for route in host.routes:
        yield from policies.clusters(route.policies)
        if isinstance(route.action, nodes.Forward):
            yield from _targets(route.action)


def logins(host: nodes.VirtualHost) -> Iterator[nodes.Login]:
    """The logins of its routes."""
    for it in (host.policies, *(route.policies for route in host.routes)):
        if it is not None and it.login is not None:
            yield it.login


def _targets(action: nodes.Forward) -> Iterator[nodes.Cluster]:
    for backend in action.backends:
        if backend.cluster is not None and backend.weight:
            yield backend.cluster
    for mirror in action.mirrors:
        yield mirror.cluster


class Asked(NamedTuple):
    """What a host requires of TLS connections on which it can be requested."""

    tls: nodes.Tls | None
    """None: it cannot be served behind TLS, so no connection is accepted."""
    lowest: nodes.TlsVersion = "1.2"
    """The lowest version of any connection."""


class Traits(NamedTuple):
    """Further properties of a host."""

    asked: Asked | None = None
    """None on plain HTTP."""
    also: str = ""
    """Its `alt-svc` header."""
    tells_origins: bool = False
    """Whether access logs show which object a route comes from."""
    resent_body: int = 1024 * 1024
    """Bytes of a body that are kept for a request that may be sent again."""
    is_in_only_table: bool = False
    """Whether there is one table, so that no scope has compared the host of a request."""
    at: nodes.HostKey = nodes.HostKey("", "", "")
    """Where it is served: limits are counted separately for each place."""
    clients_are_told: bool = False
    """Whether the client's address comes from headers. It is not set for a host that follows no
    redirects."""


PLAIN = Traits()


def _may_be_sent_again(action: nodes.Action) -> bool:
    """Whether Envoy may send a request again: for a retry, or to follow a redirect of the
    backend."""
    if not isinstance(action, nodes.Forward):
        return False
    is_retried = action.retry is not None and action.retry.attempts > 0
    return is_retried or action.internal_redirect is not None


def follows_redirects(host: nodes.VirtualHost) -> bool:
    """Whether Envoy follows redirects of backends itself."""
    actions = (it.action for it in host.routes)
    return any(isinstance(it, nodes.Forward) and it.internal_redirect is not None for it in actions)


def encoded(
    host: nodes.VirtualHost, called: forwarding.ClusterNames, traits: Traits = PLAIN
) -> bytes:
    """A RouteConfiguration with nothing but this host."""
    return finished(written(host, called, traits), host, traits)


def written(
    host: nodes.VirtualHost, called: forwarding.ClusterNames, traits: Traits
) -> route_pb2.RouteConfiguration:
    """The routes and guards that the author of the host asks for."""
    result = route_pb2.RouteConfiguration()
    target = result.virtual_hosts.add(name=host.host)
    target.domains.append(host.host)
    if host.policies is not None:
        policies.write_policies(target, host.policies, called)
        if isinstance(host.policies.rate_limits, nodes.RateLimits):
            ratelimits.write_descriptors(target, host.policies.rate_limits)
    for route in host.routes:
        _write_route(target.routes.add(), route, host, called, traits)
    return result


def finished(
    result: route_pb2.RouteConfiguration, host: nodes.VirtualHost, traits: Traits
) -> bytes:
    """The same encoded, with the metadata that filter chains and tables need."""
    target = result.virtual_hosts[0]
    if any(it.route.HasField("internal_redirect_policy") for it in target.routes):
        _name_routes(target, host.host)
        if traits.clients_are_told:
            redirects.write_reach(target, _unjudged(host, traits))
        elif traits.asked is not None:
            redirects.write_reach(target, {it.name for it in target.routes})
    slots.write_enabled(target, host)
    if authorization.HTTP in target.typed_per_filter_config:
        target.metadata.filter_metadata[shards.FILTER][shards.ASKS] = True
    if not traits.is_in_only_table:
        _hide_table(target)
    if traits.also:
        target.response_headers_to_add.append(headers.overwriting("alt-svc", traits.also))
    if traits.asked is not None:
        _write_asked(target, host, traits.asked)
    return encoding.encoded(result)


def _write_route(
    target: pb.Route,
    node: nodes.Route,
    host: nodes.VirtualHost,
    called: forwarding.ClusterNames,
    traits: Traits,
) -> None:
    routes.write_route(target, node, host, called)
    if node.policies is not None and node.policies.limits is not None:
        limits = ratelimits.limits(node.policies.limits, names.bucket(traits.at, node))
        target.typed_per_filter_config[ratelimits.FILTERS].CopyFrom(encoding.packed(limits))
    if _may_be_sent_again(node.action):
        target.request_body_buffer_limit.value = traits.resent_body
    if traits.is_in_only_table:
        matches.write_one_host(target.match)
    if traits.tells_origins:
        routes.write_origin(target, node.origin)


def closed(host: str) -> bytes:
    """A RouteConfiguration with nothing but this host, which answers 503.

    It replaces a host that must not be served, whose requests a wildcard host would take otherwise.
    """
    return _answering(host, 503)


def misdirected(host: str) -> bytes:
    """The same, but it answers 421: the host has no HTTP on its own connections."""
    return _answering(host, 421)


def _answering(host: str, status: int) -> bytes:
    result = route_pb2.RouteConfiguration()
    target = result.virtual_hosts.add(name=host, domains=[host])
    route = target.routes.add()
    route.match.prefix = "/"
    route.direct_response.status = status
    return encoding.encoded(result)


def _name_routes(target: pb.VirtualHost, host: str) -> None:
    """Names the routes: Envoy remembers by name to which routes it has followed redirects, and
    takes routes without a name for one."""
    for route in target.routes:
        route.name = names.route(host, encoding.encoded(route.match))


def _unjudged(host: nodes.VirtualHost, traits: Traits) -> set[str]:
    """The names of a host's routes without a guard of the client's address."""
    judged: dict[bool, set[str]] = {True: set(), False: set()}
    for node in host.routes:
        match = pb.RouteMatch()
        matches.write_match(match, node.match)
        if traits.is_in_only_table:
            matches.write_one_host(match)
        name = names.route(host.host, encoding.encoded(match))
        judged[addresses.is_judged(node.policies, host.policies)].add(name)
    return judged[False] - judged[True]


def _hide_table(target: pb.VirtualHost) -> None:
    """Removes our header from requests to backends, unless Envoy follows their redirects: it looks
    for the new route with the headers of the old request.

    If there is only one table, the header does not exist, and removing it would cost Envoy 2 % of a
    request.
    """
    if not any(it.route.HasField("internal_redirect_policy") for it in target.routes):
        target.request_headers_to_remove.append(shards.HEADER)
        return
    for route in target.routes:
        if not route.route.HasField("internal_redirect_policy"):
            route.request_headers_to_remove.append(shards.HEADER)


def _write_asked(target: pb.VirtualHost, host: nodes.VirtualHost, asked: Asked) -> None:
    """Writes what connections must fulfil for its requests (`scripts`).

    Most hosts require only their name, and have no metadata, which would cost Envoy memory.
    """
    terms = names.terms(asked.tls) if asked.tls is not None else _NOBODY
    told: dict[str, str] = {}
    if asked.tls is None or _is_guarded(asked.tls, asked.lowest):
        told[shards.GUARD] = terms.guard
    if host.is_fallback or (host.host == "*" and not told):
        told[shards.OPEN] = shards.ANY
    elif host.host == "*":
        told[shards.OPEN] = terms.guard
    elif host.server_names is not None and host.server_names.pattern == "*":
        told[shards.OPEN] = terms.whole
    if told:
        target.metadata.filter_metadata[shards.ADMISSION].update(told)
    if shards.GUARD in told:
        target.typed_per_filter_config[shards.ADMISSION].CopyFrom(enabling.ENABLED)
    if host.server_names is not None:
        metadata = target.metadata.filter_metadata[shards.ADMISSION]
        wanted = metadata.get_or_create_struct(shards.NAMES)
        wanted["pattern"] = host.server_names.pattern
        wanted.get_or_create_list("exceptions").extend(host.server_names.exceptions)
        wanted["terms"] = terms.whole


_NOBODY = names.Terms("none", "none")
"""The terms of no connection."""


def _is_guarded(tls: nodes.Tls, lowest: nodes.TlsVersion) -> bool:
    return tls.clients is not None or tls.minimum != lowest or bool(tls.ciphers)

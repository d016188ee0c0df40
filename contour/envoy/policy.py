"""The settings for listeners and clusters, without all others.

They are values of their own, so that a setting which Envoy never sees changes none of them.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from dag import defaults, fleets, nodes, ratelimitclient
from dag.configuration import logs
from dag.configuration.reading import Timeouts
from dag.configuration.settings import routing, settings
from dag.engine.view import View, query

DnsLookupFamily = Literal["auto", "v4", "v6", "all"]

BUFFER = 32 * 1024
"""Default of bytes that are buffered for a connection, of a client or to a backend, before its
sender is slowed down (Envoy's guide for edge proxies)."""


class Upstream(NamedTuple):
    """Settings for every cluster."""

    connect_timeout: float = 2.0  # seconds
    dns_lookup_family: DnsLookupFamily = "auto"
    every: nodes.Upstreams = nodes.Upstreams()


class Downstream(NamedTuple):
    """Settings for every listener."""

    sharded: bool = True
    timeouts: Timeouts = Timeouts()
    http_versions: tuple[str, ...] = ("HTTP/1.1", "HTTP/2")
    merge_slashes: bool = True
    strip_trailing_host_dot: bool = True
    num_trusted_hops: int = 0
    edge: nodes.Edge = nodes.Edge()
    rate_limits: nodes.RateLimitService | None = None
    limits: nodes.RateLimitService | None = None
    """The service that counts for RateLimitFilters."""
    names: Mapping[nodes.AnyCluster, str] = MappingProxyType({})
    """The names of the clusters that filter chains themselves ask (`services`), on a fleet."""
    filters: tuple[nodes.ListenerFilter, ...] = ()
    """For one listener: the filters that its requests pass before they are routed."""
    sockets: nodes.Sockets | None = None
    """For one listener: the settings of a policy for its connections."""
    traffic: nodes.ClientTraffic | None = None
    """For one filter chain: the settings of a policy for its requests."""
    answer: bytes | None = None
    """For one listener: its template as extensions want it (`answered`); None: unmodified."""

    def services(self) -> Iterator[nodes.AnyCluster]:
        """The clusters that filter chains themselves ask."""
        if self.rate_limits is not None:
            yield self.rate_limits.cluster
        if self.limits is not None:
            yield self.limits.cluster
        if self.edge.tracing is not None:
            yield self.edge.tracing.cluster
        yield from (it.authorization.cluster for it in self.filters)


@query
def upstream(view: View, _: tuple[()]) -> Upstream:
    """The settings for clusters."""
    found = view.ask(settings, ())
    return Upstream(found.timeouts.connect, found.dns_lookup_family, found.upstreams)


@query
def downstream(view: View, _: tuple[()]) -> Downstream:
    """The settings for listeners."""
    found = view.ask(settings, ())
    return Downstream(
        sharded=view.ask(routing, ()) == "Shards",
        timeouts=found.timeouts,
        http_versions=found.http_versions,
        merge_slashes=found.merge_slashes,
        strip_trailing_host_dot=found.strip_trailing_host_dot,
        num_trusted_hops=found.num_trusted_hops,
        edge=view.ask(defaults.edge, ()),
        rate_limits=view.ask(defaults.rate_limit_service, ()),
        limits=view.ask(ratelimitclient.service, ()),
    )


_RESENT_BODY = 1024 * 1024
"""Bytes: Envoy's default buffer limit, with which Contour's users know retries. The buffers of
connections are smaller, because every connection has some."""


class OfRoutes(NamedTuple):
    """The settings of listeners that concern routes."""

    tells_origins: bool
    """Whether access logs tell which object a route comes from."""
    resent_body: int
    """Bytes of a body that are kept for a request that may be sent again."""
    is_in_only_table: bool
    """Whether the hosts of a listener are one RouteConfiguration."""


@query
def of_routes(view: View, _: tuple[()]) -> OfRoutes:
    """The settings of listeners that concern every route."""
    edge = view.ask(defaults.edge, ())
    tells_origins = any(logs.tells_origins(it) for it in (edge.http_log, edge.https_log))
    resent = max(_RESENT_BODY, edge.buffer_limit or 0)
    return OfRoutes(tells_origins, resent, not view.ask(sharded, ()))


@query
def sharded(view: View, _: tuple[()]) -> bool:
    """Whether the hosts of a listener are spread over shards."""
    return view.ask(downstream, ()).sharded


def serves_http3(view: View, key: nodes.ListenerKey) -> bool:
    """Whether an HTTPS listener has one for HTTP/3 beside it."""
    return fleets.serves_http3(view, key)

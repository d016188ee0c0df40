"""What the settings say of listeners and clusters, and nothing else of them.

Small values of their own: a setting that Envoy never sees changes none of them.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from dag import counting, defaults, fleets, nodes
from dag.configuration import logs
from dag.configuration.reading import Timeouts
from dag.configuration.settings import routing, settings
from dag.engine.view import View, query

DnsLookupFamily = Literal["auto", "v4", "v6", "all"]

BUFFER = 32 * 1024
"""Default of bytes that are buffered for a connection, of a client or to a backend, before its
sender is slowed down (Envoy's guide for edge proxies)."""


class Upstream(NamedTuple):
    """What holds for every cluster."""

    connect_timeout: float = 2.0  # seconds
    dns_lookup_family: DnsLookupFamily = "auto"
    every: nodes.Upstreams = nodes.Upstreams()


class Downstream(NamedTuple):
    """What holds for every listener."""

    sharded: bool = True
    timeouts: Timeouts = Timeouts()
    http_versions: tuple[str, ...] = ("HTTP/1.1", "HTTP/2")
    merge_slashes: bool = True
    strip_trailing_host_dot: bool = True
    num_trusted_hops: int = 0
    edge: nodes.Edge = nodes.Edge()
    rate_limits: nodes.RateLimitService | None = None
    limits: nodes.RateLimitService | None = None
    """Who counts for RateLimitFilters."""
    names: Mapping[nodes.AnyCluster, str] = MappingProxyType({})
    """Of the clusters that filter chains themselves ask, on a fleet (`services`)."""
    filters: tuple[nodes.ListenerFilter, ...] = ()
    """Of one listener: what its requests pass before they are routed."""
    sockets: nodes.Sockets | None = None
    """Of one listener: how its connections are taken, where a policy says it."""
    traffic: nodes.ClientTraffic | None = None
    """Of one filter chain: how its requests are read, where a policy says it."""
    answer: bytes | None = None
    """Of one listener: its template as extensions want it (`answered`); None: as it is."""

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
    """For clusters."""
    found = view.ask(settings, ())
    return Upstream(found.timeouts.connect, found.dns_lookup_family, found.upstreams)


@query
def downstream(view: View, _: tuple[()]) -> Downstream:
    """For listeners."""
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
        limits=view.ask(counting.service, ()),
    )


_RESENT_BODY = 1024 * 1024
"""Bytes: Envoy's own limit of a buffer, with which Contour's users know retries. The buffers of
connections are smaller, for they are there for every connection."""


class OfRoutes(NamedTuple):
    """What the settings of listeners say of routes."""

    tells_origins: bool
    """Whether access logs tell which object a route comes from."""
    resent_body: int
    """Bytes of a body that are kept for a request that may be sent again."""
    is_in_only_table: bool
    """Whether the hosts of a listener are one RouteConfiguration."""


@query
def of_routes(view: View, _: tuple[()]) -> OfRoutes:
    """What every route has to know."""
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

"""Which of a listener's RouteConfigurations a host is in, and how Envoy finds the same one.

Envoy reads a RouteConfiguration anew, all its hosts, whenever one of them changes. So the hosts of
a listener are spread over many by a hash of their name, and a scope leads from each hash to its
RouteConfiguration. Exact hosts are in one, hosts with a wildcard in all: Envoy's own rules of
precedence then hold in each. The filter that hashes a request's host is in `filters`.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from envoy.config.route.v3 import route_pb2, scoped_route_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)

from contour.envoy import encoding, names
from contour.xds import resources

SHARDS = 256
HEADER = "x-contour-routes"
"""Names the RouteConfiguration of a request; what a client wrote there is overwritten."""

LONGEST_HOST = 255
"""DNS names are shorter; a longer Host can only meet a wildcard, which is in every shard."""

MULTIPLIER = 131
MODULUS = 16_777_213
"""Prime, and so small that all arithmetic stays exact in the floating point numbers of Lua."""


def shard(host: str) -> int:
    """Where an exact host lives; the filter computes the same."""
    result = 0
    for byte in host.encode():
        result = (result * MULTIPLIER + byte) % MODULUS
    return result % SHARDS


@cache
def table_names(listener: str) -> Sequence[str]:
    """The RouteConfigurations of a sharded listener, by shard."""
    return tuple(f"{listener}/{number}" for number in range(SHARDS))


def tables_of(listener: str, host: str, *, sharded: bool) -> Iterable[str]:
    """The RouteConfigurations that a host is a piece of."""
    if not sharded:
        return [listener]
    if host.startswith("*"):
        return table_names(listener)
    return [table_names(listener)[shard(host)]]


def heads(listener: str, *, sharded: bool, secure: bool) -> Iterable[resources.Change]:
    """The RouteConfigurations of a listener without their hosts, and the scopes that lead there."""
    tables = table_names(listener) if sharded else (listener,)
    for name in tables:
        yield resources.Change(names.routes(name), "", resources.part(_head(name)))
        if sharded:
            yield resources.Change(names.scope(name), "", resources.part(_scope(name)))
    if secure:
        name = names.default_routes(listener)
        yield resources.Change(names.routes(name), "", resources.part(_head(name)))


def _head(name: str) -> bytes:
    result = route_pb2.RouteConfiguration(
        name=name,
        ignore_port_in_host_matching=True,
        request_headers_to_remove=[HEADER],
    )
    # Contour's users measure queueing with this header.
    result.request_headers_to_add.add().header.key = "x-request-start"
    result.request_headers_to_add[0].header.value = "t=%START_TIME(%s.%3f)%"
    return encoding.encoded(result)


def _scope(name: str) -> bytes:
    result = scoped_route_pb2.ScopedRouteConfiguration(name=name, route_configuration_name=name)
    result.key.fragments.add(string_key=name)
    return encoding.encoded(result)


def scoped_routes(stat_prefix: str) -> hcm_pb2.ScopedRoutes:
    """Routes by scope; the same scopes for every listener, so Envoy keeps them once."""
    result = hcm_pb2.ScopedRoutes(name=stat_prefix, rds_config_source=encoding.aggregated())
    fragment = result.scope_key_builder.fragments.add()
    fragment.header_value_extractor.name = HEADER
    fragment.header_value_extractor.index = 0
    result.scoped_rds.scoped_rds_config_source.CopyFrom(encoding.aggregated())
    return result

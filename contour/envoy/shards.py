"""Which of a listener's RouteConfigurations a host is in, and how Envoy finds the same one.

Envoy reads a RouteConfiguration anew, all its hosts, whenever one of them changes. So the hosts of
a listener are spread over many tables, and a scope leads to each. Exact hosts spread by a hash of
their name, and a marker answers for what a table does not hold: then a request belongs into the
table of wildcards for the last two labels of its host, where Envoy prefers the longest. Wildcards
of fewer labels are in all of those. The filter that finds the table of a request is in `filters`.

10,000 hosts of two routes, two cores with other work, 60 MB of the memory Envoy's own:

    tables      first load   memory   an edit is served after
    1              1.2 s     178 MB      250 ms
    128            0.6 s     134 MB      1.6 ms
    256            0.5 s     137 MB      0.8 ms
    1024           1.3 s     157 MB      0.7 ms

Finding the table costs 5 µs a request, 6 µs for a wildcard. With a copy of each wildcard in all of
256 tables, a hundred took 100 MB, and 150 ms to edit one; now a thousand take 7 MB, and 1 ms.
"""

from collections.abc import Iterable, Sequence
from functools import cache

from envoy.config.route.v3 import route_pb2, scoped_route_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)

from contour.envoy import encoding, names
from contour.envoy.guards import policies
from contour.xds import resources

EXACT = 256
"""Tables of exact hosts."""

WILD = 64
"""Tables of hosts with a wildcard."""

HEADER = "x-contour-routes"
"""Names the RouteConfiguration of a request; what a client wrote there is overwritten."""

FILTER = "contour.table"
"""The filter; in a route's metadata, the part that it reads."""

UPGRADE = "upgrade"
"""In that part: the protocol that clients may switch to."""

TRACE = "trace"
"""In that part, if the route asks for the method TRACE by name."""

GUARD = "guard"
"""In that part of a host's metadata: what is asked of every connection (`names.Terms.guard`)."""

NAMES = "names"
"""In that part: the server names for which it may be asked, beside its own, and their terms."""

OPEN = "open"
"""In that part: on which terms connections that name no host we know reach it."""

ANY = "any"
"""As the value of `OPEN`: on any."""

MARKER = "no-such-host"
"""The route that says: the host asked for is not in this table."""

LONGEST_HOST = 255
"""Bytes; DNS names are shorter."""

MULTIPLIER = 131
MODULUS = 16_777_213
"""Prime, and so small that all arithmetic stays exact in the floating point numbers of Lua."""


def hashed(host: str) -> int:
    """The hash of a name; the filter computes the same."""
    result = 0
    for byte in host.encode():
        result = (result * MULTIPLIER + byte) % MODULUS
    return result


def tables_of(listener: str, host: str, *, sharded: bool) -> Sequence[str]:
    """The RouteConfigurations in which requests for a host are looked up."""
    if not sharded:
        return (listener,)
    if not host.startswith("*"):
        return (exact_tables(listener)[hashed(host) % EXACT],)
    last_two = host.split(".")[1:][-2:]
    if len(last_two) < 2:
        return wild_tables(listener)
    return (wild_tables(listener)[hashed(".".join(last_two)) % WILD],)


@cache
def exact_tables(listener: str) -> Sequence[str]:
    """The tables of exact hosts."""
    return tuple(f"{listener}/{number}" for number in range(EXACT))


@cache
def wild_tables(listener: str) -> Sequence[str]:
    """The tables of hosts with a wildcard."""
    return tuple(f"{listener}/wild/{number}" for number in range(WILD))


def heads(listener: str, *, sharded: bool) -> Iterable[resources.Change]:
    """The RouteConfigurations of a listener without their hosts, and the scopes that lead there."""
    for name in exact_tables(listener) if sharded else ():
        yield from _scoped(name, _head(name, marked=True))
    for name in wild_tables(listener) if sharded else ():
        yield from _scoped(name, _head(name))
    for name in () if sharded else (listener,):
        yield resources.Change(names.routes(name), "", resources.part(_head(name)))


def _scoped(name: str, head: bytes) -> Iterable[resources.Change]:
    yield resources.Change(names.routes(name), "", resources.part(head))
    yield resources.Change(names.scope(name), "", resources.part(_scope(name)))


def _head(name: str, *, marked: bool = False) -> bytes:
    result = route_pb2.RouteConfiguration(
        name=name,
        ignore_port_in_host_matching=True,
    )
    # Contour's users measure queueing with this header.
    result.request_headers_to_add.add().header.key = "x-request-start"
    result.request_headers_to_add[0].header.value = "t=%START_TIME(%s.%3f)%"
    policies.write_defaults(result)
    if marked:
        host = result.virtual_hosts.add(name=MARKER, domains=["*"])
        route = host.routes.add(name=MARKER)
        route.match.prefix = ""
        route.direct_response.status = 404
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

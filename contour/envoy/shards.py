"""Spreads the hosts of a listener over RouteConfigurations, and tells Envoy where to find them.

Envoy reads all hosts of a RouteConfiguration again whenever one of them changes. So the hosts of a
listener are spread over many tables, and scopes lead to them. Exact hosts are spread by a hash of
their name. A marker route matches requests for hosts that a table does not contain: they belong in
the table of wildcards for the last two labels of their host, where Envoy prefers the longest match.
Wildcards of fewer labels are in all tables of wildcards.

Envoy selects a scope by a header that it writes itself (`write_scopes`): the listener and the host
as the client named it, behind TLS with the server name before it. Each exact host has a scope of
that name (`ways`), so most requests reach their table without a script. Other requests have no
scope at first; a script finds the table by the rules above, and writes its name into the header
(`scripts`). It finds the same table, so a scope that is missing, or is there before its host, only
makes a request slower.

10,000 hosts of two routes, two cores with other work, 60 MB of the memory Envoy's own:

    tables      first load   memory   an edit is served after
    1              1.2 s     178 MB      250 ms
    128            0.6 s     134 MB      1.6 ms
    256            0.5 s     137 MB      0.8 ms
    1024           1.3 s     157 MB      0.7 ms

With a copy of each wildcard in all of
256 tables, a hundred took 100 MB, and 150 ms to edit one; now a thousand take 7 MB, and 1 ms.
"""

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import TypeAlias

from envoy.config.core.v3 import base_pb2
from envoy.config.route.v3 import route_pb2, scoped_route_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)
from envoy.extensions.http.early_header_mutation.header_mutation.v3 import (
    header_mutation_pb2 as early_pb2,
)

from contour.envoy import enabling, encoding, names, slots
from contour.xds import resources
from dag import nodes

Pb: TypeAlias = hcm_pb2.HttpConnectionManager

EXACT = 256
"""Tables of exact hosts."""

WILD = 64
"""Tables of hosts with a wildcard."""

_LISTENERS = 32
"""Listeners whose tables are cached, beside those that the graph holds: some 200 KB each."""

HEADER = "x-contour-routes"
"""The header with the name of a request's RouteConfiguration; a client's value is overwritten."""

FILTER = "contour.table"
"""The filter that finds the table, and the key of its part of a host's metadata."""

ASKS = "asks"
"""In that part: an authorization server may decide over its requests."""

ADMISSION = "contour.admission"
"""The filter that decides which hosts a connection may reach, and the key of its part of the
metadata."""

UPGRADE = "upgrade"
"""In that part: the protocol that clients may switch to."""

GUARD = "guard"
"""In that part of a host's metadata: what is required of every connection (`names.Terms.guard`)."""

NAMES = "names"
"""In that part: the server names, beside its own, whose connections may reach it, and their
terms."""

OPEN = "open"
"""In that part: the terms on which connections without a known server name reach it."""

ANY = "any"
"""As the value of `OPEN`: on any terms."""

MARKER = "no-such-host"
"""The route for hosts that are not in this table."""

LONGEST_HOST = 255
"""Bytes; DNS names are shorter."""

MULTIPLIER = 131
MODULUS = 16_777_213
"""A prime that is small enough for exact arithmetic in the floating point numbers of Lua."""


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


@lru_cache(_LISTENERS)
def heads(listener: str, *, sharded: bool, secure: bool) -> tuple[resources.Change, ...]:
    """The RouteConfigurations of a listener without their hosts, and the scopes that lead to them.

    They are cached, because they are the same after every change of the listener, and making them
    takes milliseconds.
    """
    if not sharded:
        head = resources.part(_named(listener, _single(secure)))
        return (resources.Change(names.routes(listener), "", head),)
    exact = (_scoped(it, _named(it, _exact())) for it in exact_tables(listener))
    wild = (_scoped(it, _named(it, _wild())) for it in wild_tables(listener))
    return tuple(chain.from_iterable((*exact, *wild)))


def _scoped(name: str, head: bytes) -> Iterator[resources.Change]:
    yield resources.Change(names.routes(name), "", resources.part(head))
    yield scope(name, name)


def scope(key: str, table: str) -> resources.Change:
    """A scope: the value of the header, and the table to which it leads."""
    result = scoped_route_pb2.ScopedRouteConfiguration(name=key, route_configuration_name=table)
    result.key.fragments.add(string_key=key)
    return resources.Change(names.scope(key), "", resources.part(encoding.encoded(result)))


def _named(name: str, rest: bytes) -> bytes:
    """The head of this name: messages are merged by joining their bytes, fields in order."""
    return encoding.encoded(route_pb2.RouteConfiguration(name=name)) + rest


@cache
def _exact() -> bytes:
    """A table that Envoy finds by itself: its requests pass no script, and only the filters that
    their host uses.

    The name is missing, because the hundreds of tables of a listener differ only in it.
    """
    result = _head()
    slots.write_disabled(result)
    host = result.virtual_hosts.add(name=MARKER, domains=["*"])
    slots.write_all_enabled(host)
    for script in (FILTER, ADMISSION):
        result.typed_per_filter_config[script].CopyFrom(enabling.DISABLED)
        host.typed_per_filter_config[script].CopyFrom(enabling.ENABLED)
    route = host.routes.add(name=MARKER)
    route.match.prefix = ""
    route.direct_response.status = 404
    return encoding.encoded(result)


@cache
def _wild() -> bytes:
    """A table that a script finds: all filters are created before that, so none can be left out.

    The name is missing.
    """
    result = _head()
    slots.write_silent(result)
    return encoding.encoded(result)


def _single(secure: bool) -> bytes:
    """The only table. Behind TLS the script checks each request, because no scope compares host and
    server name."""
    result = _head()
    slots.write_disabled(result)
    result.typed_per_filter_config[FILTER].CopyFrom(enabling.DISABLED)
    if not secure:
        result.typed_per_filter_config[ADMISSION].CopyFrom(enabling.DISABLED)
    return encoding.encoded(result)


def _head() -> route_pb2.RouteConfiguration:
    result = route_pb2.RouteConfiguration(ignore_port_in_host_matching=True)
    # Contour's users measure queueing with this header.
    result.request_headers_to_add.add().header.key = "x-request-start"
    result.request_headers_to_add[0].header.value = "t=%START_TIME(%s.%3f)%"
    return result


def ways(listener: nodes.Listener, host: str) -> Iterator[str]:
    """The values of the header for an exact host as clients usually write it.

    Browsers leave out the default port of the scheme, and name any other one.
    """
    if host.startswith("*"):
        return
    secure = listener.protocol == "HTTPS"
    key = f"{listener.name}@{host}@{host}" if secure else f"{listener.name}@{host}"
    yield key
    if listener.port != (443 if secure else 80):
        yield f"{key}:{listener.port}"


def write_scopes(target: Pb, listener: str, said: str) -> None:
    """Fills in scoped routes.

    The scopes are the same for every listener, so Envoy keeps them once. The header is the listener
    and properties of the request; it is missing if these are empty. A client's value is removed:
    otherwise the client could choose the table.
    """
    routes = target.scoped_routes
    routes.name = listener
    routes.rds_config_source.CopyFrom(encoding.aggregated())
    fragment = routes.scope_key_builder.fragments.add()
    fragment.header_value_extractor.name = HEADER
    fragment.header_value_extractor.index = 0
    routes.scoped_rds.scoped_rds_config_source.CopyFrom(encoding.aggregated())
    written = target.early_header_mutation_extensions.add(name="contour.scope")
    mutation = early_pb2.HeaderMutation()
    if said:
        added = mutation.mutations.add().append
        added.header.key, added.header.value = HEADER, f"{listener}@{said}"
        added.append_action = base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
    else:
        mutation.mutations.add().remove = HEADER
    written.typed_config.CopyFrom(encoding.packed(mutation))

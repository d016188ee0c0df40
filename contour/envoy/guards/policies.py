"""Writes the guards of a route, or of all routes of a virtual host.

Each filter takes its configuration from the route, else from the virtual host, else from the head
of the RouteConfiguration (`contour.envoy.slots`).
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

from envoy.config.route.v3 import route_components_pb2 as pb
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.message import Message

from contour.envoy import compression, encoding
from contour.envoy.guards import (
    access,
    addresses,
    authentication,
    authorization,
    bodies,
    compressors,
    cors,
    csrf,
    errorpages,
    faults,
    frames,
    logins,
    places,
    ratelimits,
    sessions,
    tokens,
)
from crds.records import replace
from dag import nodes

Target: TypeAlias = pb.Route | pb.VirtualHost
ClusterNames = Mapping[nodes.AnyCluster, str]


def write_policies(target: Target, node: nodes.Policies, names: ClusterNames) -> None:
    """Fills in the configuration of every guard, except for descriptors of global limits."""
    for name, content in _configurations(node, names):
        target.typed_per_filter_config[name].CopyFrom(content)


@lru_cache(maxsize=4096)
def needed(node: nodes.Policies, host: nodes.Policies | None) -> nodes.Policies:
    """The policies that a route has to write: it turns off only guards that its host turns on.

    Every plain HTTP route that redirects to TLS turns off three guards; when all were written,
    Envoy got 28 of 35 MB for nothing with 10,000 TLS hosts.
    """
    said = [it for it in _KINDS if getattr(node, it) == nodes.OFF]
    surplus = dict.fromkeys(it for it in said if getattr(host, it, None) in _NOTHING)
    return replace(node, **surplus) if surplus else node


_KINDS = tuple(it.name for it in fields(nodes.Policies))
_NOTHING = (None, nodes.OFF)


def clusters(node: nodes.Policies | None) -> Iterator[nodes.AnyCluster]:
    """The clusters of servers that guards ask."""
    if node is not None and node.login is not None:
        yield node.login.cluster
    if node is not None and isinstance(node.authorization, nodes.Authorization):
        yield node.authorization.cluster


def _configurations(node: nodes.Policies, names: ClusterNames) -> Iterator[tuple[str, Packed]]:
    for number, it in enumerate(_WRITTEN):
        found = getattr(node, it.field)
        if found is not None:
            yield it.name, _packed(number, found)
    if node.compressors is not None:
        yield compression.NAME, compressors.USUAL[isinstance(node.compressors, str)]
    if isinstance(node.access, nodes.Access) and (notes := _notes(node.access)) is not None:
        yield access.NOTED, notes
    if isinstance(node.rate_limits, str):
        yield ratelimits.GLOBAL, encoding.packed(ratelimits.off_global())
    if node.login is not None:
        yield logins.NAME, encoding.packed(logins.policy(node.login, names[node.login.cluster]))
        if node.login.is_plain:
            yield logins.CHECKED, encoding.packed(logins.checked())
    if node.authorization is not None:
        for name, content in _authorization(node.authorization, names):
            yield name, encoding.packed(content)


@lru_cache(maxsize=1024)
def _packed(number: int, node: Hashable) -> Packed:
    """The configuration for the filter of an entry of `_WRITTEN`. It is cached, since a policy of a
    Gateway is written for each of its hosts."""
    it = _WRITTEN[number]
    return encoding.packed(_told(node, it.policy, it.off))


@lru_cache(maxsize=1024)
def _notes(node: nodes.Access) -> Packed | None:
    """The headers that are recorded for the access rules."""
    found = access.notes(node)
    return None if found is None else encoding.packed(found)


class _Written(NamedTuple):
    """A guard of one filter whose configuration depends only on the node."""

    field: str
    name: str
    policy: Callable[..., Message]
    off: Callable[[], Message]


_WRITTEN = (
    _Written("cors", cors.NAME, cors.policy, cors.off),
    _Written("csrf", csrf.NAME, csrf.policy, csrf.off),
    _Written("ip_filter", addresses.NAME, addresses.policy, addresses.off),
    _Written("authentication", authentication.NAMED, authentication.policy, authentication.off),
    _Written("jwt", tokens.NAME, tokens.policy, tokens.off),
    _Written("local_rate_limit", ratelimits.LOCAL, ratelimits.local, ratelimits.off_local),
    _Written("access", access.NAME, access.policy, access.off),
    _Written("body_limit", bodies.NAME, bodies.policy, places.empty),
    _Written("error_pages", errorpages.NAME, errorpages.policy, places.empty),
    _Written("session", sessions.NAME, sessions.policy, sessions.off),
    _Written("fault", faults.NAME, faults.policy, faults.off),
    _Written("compressors", compressors.NAME, compressors.policy, places.empty),
)


T = TypeVar("T")


def _told(
    node: T | nodes.Off, policy: Callable[[T], Message], off: Callable[[], Message]
) -> Message:
    return off() if isinstance(node, str) else policy(node)


def _authorization(
    node: nodes.Authorization | nodes.Off, names: ClusterNames
) -> Iterator[tuple[str, Message]]:
    if isinstance(node, str):
        yield from authorization.off()
        return
    yield from authorization.policy(node, names[node.cluster])
    if node.protocol == "grpc":
        yield from frames.policy()

"""Which filters a request meets between the choice of its route and the router, and in which order.

Every chain has all of them, so that the first host to use one changes no listener and drains no
connection. A request passes only those that its host uses: Envoy creates the filters of a request
when it knows the route, and leaves out those that the route disables. So filters are enabled in the
chain, disabled by the head of a RouteConfiguration (`write_disabled`), and enabled again by each
virtual host that uses them (`write_enabled`).

Filters are not disabled in the chain and enabled by routes, because Envoy looks only at the first
route that it chooses. If it has none yet, as before the script that finds a table (`scripts`),
every filter is created and reads the route when its turn comes: such a request costs more, but no
guard is missing. A filter that is disabled in the chain would be missing then.

A host uses a filter if any of its routes does: another filter may make Envoy choose another one of
them later.

Filters that transform responses come first, so that they see the changes of all others (responses
pass the filters backwards). Error pages come early, for the same reason. Preflights are answered
before any filter refuses a request, and the cheapest filters refuse first.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from envoy.config.core.v3 import config_source_pb2
from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.config.route.v3 import route_pb2
from envoy.extensions.filters.http.grpc_web.v3 import grpc_web_pb2
from google.protobuf.message import Message

from contour.envoy import compression, encoding
from contour.envoy.enabling import DISABLED, ENABLED
from contour.envoy.guards import (
    access,
    addresses,
    authentication,
    authorization,
    bodies,
    compressors,
    cookies,
    cors,
    csrf,
    errorpages,
    faults,
    frames,
    logins,
    places,
    ratelimits,
    recording,
    sessions,
    tokens,
)
from contour.envoy.policy import Downstream
from dag import nodes

Source: TypeAlias = config_source_pb2.ExtensionConfigSource
Content: TypeAlias = Message | Source | None
"""The configuration of a filter, or its source; None: the settings ask for no filter."""

GRPC_WEB = "envoy.filters.http.grpc_web"


class Use(NamedTuple):
    """A virtual host, as a node of the rules and as Envoy's message."""

    node: nodes.VirtualHost
    written: pb.VirtualHost
    told: frozenset[str]
    """The filters that the host, a route or a share of a route configures."""


class Slot(NamedTuple):
    """A filter of every chain."""

    name: str
    installed: Callable[[Downstream], Content]
    """The filter's configuration in the chain, with which it does nothing unless a route configures
    it."""
    is_used: Callable[[Use, str], bool]
    """Whether requests of a host pass the filter of this name."""


def _told(written: pb.VirtualHost) -> Iterator[str]:
    yield from written.typed_per_filter_config
    for route in written.routes:
        yield from route.typed_per_filter_config
        for share in route.route.weighted_clusters.clusters:
            yield from share.typed_per_filter_config


def _is_told(use: Use, name: str) -> bool:
    """Whether the host, a route or a share of a route configures the filter."""
    return name in use.told


def _is_authenticated(use: Use, _: str) -> bool:
    """Whether a route names a policy whose filters should run."""
    return authentication.NAMED in use.told


def _has_descriptors(use: Use, name: str) -> bool:
    limited = any(it.route.rate_limits for it in use.written.routes)
    return limited or bool(use.written.rate_limits) or _is_told(use, name)


def _speaks_grpc(use: Use, _: str) -> bool:
    """Whether a backend may speak gRPC, which needs HTTP/2."""
    return any(
        share.cluster is not None and share.cluster.protocol != "http/1.1"
        for it in use.node.routes
        if isinstance(it.action, nodes.Forward)
        for share in it.action.backends
    )


def _has_bodies(use: Use, _: str) -> bool:
    """Whether a response may be long enough to be compressed."""
    if use.written.typed_per_filter_config:
        return True
    return any(
        it.HasField("route")
        or it.typed_per_filter_config
        or it.direct_response.HasField("body_format")
        or len(it.direct_response.body.inline_string.encode()) >= compression.SHORTEST
        for it in use.written.routes
    )


def _always(content: Message | Source) -> Callable[[Downstream], Content]:
    """The same, whatever the settings."""

    def installed(_: Downstream) -> Content:
        return content

    return installed


def _compression(policy: Downstream) -> Content:
    algorithm = policy.edge.compression
    return None if algorithm == "disabled" else compression.installed(algorithm)


def _rate_limits(policy: Downstream) -> Content:
    service = policy.rate_limits
    if service is None:
        return None
    return ratelimits.installed_global(service, policy.names[service.cluster])


def _filter_limits(policy: Downstream) -> Content:
    service = policy.limits
    if service is None:
        return None
    return ratelimits.installed_filters(service, policy.names[service.cluster])


SLOTS = (
    Slot(compression.NAME, _compression, _has_bodies),
    Slot(compressors.NAME, _always(places.installed()), _is_told),
    Slot(GRPC_WEB, _always(grpc_web_pb2.GrpcWeb()), _speaks_grpc),
    Slot(errorpages.NAME, _always(places.installed()), _is_told),
    Slot(cors.NAME, _always(cors.installed()), _is_told),
    Slot(csrf.NAME, _always(csrf.installed()), _is_told),
    Slot(addresses.NAME, _always(addresses.installed()), _is_told),
    Slot(ratelimits.LOCAL, _always(ratelimits.installed_local()), _is_told),
    Slot(authentication.NAMED, _always(authentication.named()), _is_told),
    Slot(authentication.NAME, _always(authentication.discovered()), _is_authenticated),
    # Before all that let a request wait: these collect its body, and hand it over as one piece, of
    # which the filter does not see that it is too large.
    Slot(bodies.NAME, _always(places.installed()), _is_told),
    Slot(logins.CHECKED, _always(places.installed()), _is_told),
    Slot(logins.NAME, _always(logins.installed()), _is_told),
    Slot(tokens.NAME, _always(tokens.discovered()), _is_told),
    Slot(frames.KEPT, _always(places.installed()), _is_told),
    Slot(frames.RESTORED, _always(frames.restored()), _is_told),
    *(Slot(name, _always(authorization.installed(name)), _is_told) for name in authorization.NAMES),
    Slot(frames.NOTED, _always(recording.nothing()), _is_told),
    Slot(access.NOTED, _always(recording.nothing()), _is_told),
    Slot(access.NAME, _always(access.installed()), _is_told),
    Slot(ratelimits.GLOBAL, _rate_limits, _has_descriptors),
    Slot(ratelimits.FILTERS, _filter_limits, _is_told),
    Slot(faults.NAME, _always(faults.installed()), _is_told),
    Slot(cookies.NAME, _always(cookies.installed()), _is_told),
    Slot(sessions.NAME, _always(sessions.installed()), _is_told),
)
"""In the order in which a request passes them."""

_IF_TOLD = frozenset(it.name for it in SLOTS if it.is_used is _is_told)
_OTHERS = tuple(it for it in SLOTS if it.is_used is not _is_told)


def installed(policy: Downstream) -> Iterator[tuple[str, Message | Source]]:
    """The filters of every chain, by name."""
    for it in SLOTS:
        content = it.installed(policy)
        if content is not None:
            yield it.name, content


def write_disabled(target: route_pb2.RouteConfiguration) -> None:
    """Disables all of them, for hosts that do not enable them."""
    for it in SLOTS:
        target.typed_per_filter_config[it.name].CopyFrom(DISABLED)


def write_silent(target: route_pb2.RouteConfiguration) -> None:
    """Turns off those that are active without configuration of a route."""
    for name, content in _SILENT.items():
        target.typed_per_filter_config[name].CopyFrom(content)


def write_enabled(target: pb.VirtualHost, node: nodes.VirtualHost) -> None:
    """Enables those that a host uses; its routes and policies have been written before."""
    use = Use(node, target, frozenset(_told(target)))
    # All are found before any is written, because enabling a filter configures it.
    for name in [*(use.told & _IF_TOLD), *(it.name for it in _OTHERS if it.is_used(use, it.name))]:
        if name not in target.typed_per_filter_config:
            target.typed_per_filter_config[name].CopyFrom(_SILENT.get(name, ENABLED))


def write_all_enabled(target: pb.VirtualHost) -> None:
    """Enables all of them, for a host that only stands in for others."""
    for it in SLOTS:
        target.typed_per_filter_config[it.name].CopyFrom(_SILENT.get(it.name, ENABLED))


_SILENT = {name: encoding.packed(content) for name, content in authorization.off()}
"""The configuration that turns off filters which are active by default."""

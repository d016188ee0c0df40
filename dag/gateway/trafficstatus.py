"""The status of a BackendTrafficPolicy, with problems of the routes and backends that it is for.

Some of its fields have no effect there: streams have no requests, and a backend that does not speak
HTTP/2 cannot have gRPC health checks. A global limit closes rules that Envoy answers itself, and
what Envoy reads whole cannot be a conversation. Each route yields the policies that are concerned,
so one that comes or goes wakes only its own. Envoy Gateway 1.9 ignores all of this silently.
Elsewhere: rules that are not served (`unservedrules`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from crds.envoygateway.backendhealth import ActiveCheck
from crds.envoygateway.backendlimits import CircuitBreaker
from crds.envoygateway.backendtrafficpolicy import BackendTrafficPolicySpec
from crds.envoygateway.policytargets import UnreadPolicy
from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag import nodes, tables
from dag.engine.view import Index, View, query
from dag.gateway import attachment, backends, conditions, copies, routes, unservedrules
from dag.gateway.envoypolicies import (
    policymerging,
    policytargets,
    trafficpolicies,
    trafficupstreams,
)
from dag.gateway.envoypolicies.policyeffects import Meaning
from dag.problems import Problem
from dag.problems import policies as complaints
from dag.statuses import PolicyStatus

MOST_NAMED = 3
"""The most routes that are named in a message."""
_STREAMS = ("TCPRoute", "TLSRoute", "UDPRoute")
_EFFECTS = trafficpolicies.EFFECTS


_Why = Literal["stream", "unasked", "uncounted", "called", "upgraded"]


class Idle(NamedTuple):
    """A route on which a part of a policy has no effect, or only closes a rule."""

    route: ObjectRef
    why: _Why
    """The route has no requests; a backend cannot have gRPC checks; an answer is not counted; its
    gRPC calls are read whole; a backend speaks WebSockets, which cannot be."""


Found = frozenset[tuple[NamespacedName, Idle]]
"""By policy."""


@query
def idle(view: View, route: ObjectRef) -> Found:
    """The policies of a route with settings that have no effect there."""
    claims, parents = view.ask(trafficpolicies.POLICIES.claims, route), _parents(view, route)
    if not parents or not (claims or any(parents)):
        return frozenset()
    if route.kind in _STREAMS:
        return frozenset(_of_stream(view, route, parents))
    own = {it.senior.key for it in claims}
    keys = (key for policy in (*own, None) for _, key in _keys(view, policy, parents))
    if not any(view.count(it, key) > 0 for key in keys for it in (BY_GRPC, LIMITING, BUFFERING)):
        return frozenset()
    return frozenset(_of_requests(view, route, parents))


Parents = frozenset[NamespacedName | None]
"""The policies of the listeners to which a route is attached; None for a listener without one."""


def _parents(view: View, route: ObjectRef) -> Parents:
    found = view.ask(attachment.attachment, route)
    listeners = {
        (point.section, it.gateway)
        for it in (found.parents if found is not None else ())
        for point in it.points
    }
    kind = trafficpolicies.POLICIES
    return frozenset(policytargets.of_listener(view, kind, *it, own) for it, own in listeners)


def _effects(
    view: View, own: NamespacedName | None, parents: Parents
) -> Iterator[tuple[NamespacedName, trafficpolicies.Traffic]]:
    """The effects of a route's policies, each with its policy; `own` is the route's, if any."""
    return ((it, _EFFECTS.of(view, key)) for it, key in _keys(view, own, parents))


def _keys(
    view: View, own: NamespacedName | None, parents: Parents
) -> Iterator[tuple[NamespacedName, NamespacedName]]:
    """The policies that the effects belong to, each with the key of its effect."""
    if own is None:
        yield from ((it, it) for it in parents if it is not None)
    elif _EFFECTS.is_merging(view, own):
        yield from ((own, policymerging.together(own, it)) for it in parents)
    else:
        yield own, own


def _of_stream(
    view: View, route: ObjectRef, parents: Parents
) -> Iterator[tuple[NamespacedName, Idle]]:
    rules = routes.rules(view, route)
    own = policytargets.of_rule(view, trafficpolicies.POLICIES, route, rules.section)
    clusters = [it.cluster for it in rules.stream.shares] if rules.stream is not None else []
    for policy, traffic in _effects(view, own, parents):
        if not traffic.is_closed:
            yield policy, Idle(route, "stream")
        if _is_unasked(clusters, traffic):
            yield policy, Idle(route, "unasked")


def _of_requests(
    view: View, route: ObjectRef, parents: Parents
) -> Iterator[tuple[NamespacedName, Idle]]:
    for it in routes.rules(view, route).routes:
        attached = (ref.key for ref in it.attached if ref.kind == trafficpolicies.KIND)
        for policy, traffic in _effects(view, next(attached, None), parents):
            if _has_unasked(it.action, traffic):
                yield policy, Idle(route, "unasked")
            if trafficpolicies.is_uncounted(it.action, traffic.policies.limits):
                yield policy, Idle(route, "uncounted")
            if traffic.policies.body_limit is not None and isinstance(it.action, nodes.Forward):
                yield from ((policy, idle) for idle in _read_whole(view, route, it.action))


def _read_whole(view: View, route: ObjectRef, action: nodes.Forward) -> Iterator[Idle]:
    """What is lost on a route because Envoy reads each request to its end."""
    if route.kind == "GRPCRoute":
        yield Idle(route, "called")
    if any(backends.is_for_websockets(view, it.cluster) for it in action.backends):
        yield Idle(route, "upgraded")


def _has_unasked(action: nodes.Action, found: trafficpolicies.Traffic) -> bool:
    if not isinstance(action, nodes.Forward):
        return False
    return _is_unasked([it.cluster for it in action.backends], found)


def _is_unasked(clusters: Iterable[nodes.Cluster | None], found: trafficpolicies.Traffic) -> bool:
    return not all(it is None or trafficupstreams.is_checked(it, found.upstream) for it in clusters)


@query
def backend_traffic_policy(view: View, key: NamespacedName) -> PolicyStatus | None:
    """The status of a policy. If a rate limit service counts for it, it is programmed when that has
    its limits, which is added elsewhere (`dag.refusals`)."""
    found = _EFFECTS.status_with(view, key, tuple(_told(view, key)))
    if found is None or _EFFECTS.of(view, key).policies.limits is None:
        return found
    programmed = conditions.programmed(view, ())
    return PolicyStatus(
        tuple(
            replace(it, conditions=(*it.conditions, programmed))
            if it.conditions[0].status == "True"
            else it
            for it in found.ancestors
        )
    )


def _told(view: View, key: NamespacedName) -> Iterator[Problem]:
    found = view.read(tables.TRAFFIC_POLICIES, key)
    if found is None or isinstance(found, UnreadPolicy):
        return
    yield from unservedrules.problems_of(view, ObjectRef(trafficpolicies.KIND, *key), found.spec)
    own = complaints.attached(trafficpolicies.KIND, key)
    yield from copies.problems_of(view, own.subject, own)
    kinds, fields = sorted(view.bucket(STREAMED, key)), tuple(_of_requests_alone(found.spec))
    if kinds and fields:
        yield complaints.no_effect_on_streams(own, fields, ", ".join(f"{it}s" for it in kinds))
    fields = tuple(_of_tcp_alone(found.spec))
    if "UDPRoute" in kinds and fields:
        yield complaints.no_effect_on_datagrams(own, fields)
    if unasked := _named(view.bucket(UNASKED, key)):
        at = own.at("healthCheck").at("active").at("type")
        yield complaints.not_asked_by_grpc(at, f"backends of {unasked}")
    if uncounted := _named(view.bucket(UNCOUNTED, key)):
        yield complaints.closes_answers(own.at("rateLimit").at("global"), uncounted)
    for whose, tell in ((CALLED, complaints.calls_read_whole), (UPGRADED, complaints.no_upgrades)):
        if names := _named(view.bucket(whose, key)):
            yield tell(own.at("requestBuffer"), names)


def _named(found: Iterable[ObjectRef]) -> str:
    """Some routes by name; empty if there are none."""
    every = sorted(found)
    more = " and others" if len(every) > MOST_NAMED else ""
    return f"{', '.join(map(str, every[:MOST_NAMED]))}{more}"


def _of_requests_alone(spec: BackendTrafficPolicySpec) -> Iterator[str]:
    """The served fields of a policy that are about requests, or about connections that carry
    them."""
    http = spec.timeout.http if spec.timeout is not None else None
    if http is not None:
        times = {
            "requestTimeout": http.request_timeout,
            "streamIdleTimeout": http.stream_idle_timeout,
            "maxStreamDuration": http.max_stream_duration,
            "connectionIdleTimeout": http.connection_idle_timeout,
            "maxConnectionDuration": http.max_connection_duration,
        }
        yield from (f"timeout.http.{name}" for name, it in times.items() if it is not None)
    balancer = spec.load_balancer
    if balancer is not None and balancer.consistent_hash is not None:
        yield "loadBalancer.consistentHash"
    yield from _limits(spec, _LIMITS_OF_REQUESTS)
    whole = {
        "retry": spec.retry,
        "rateLimit": spec.rate_limit,
        "requestBuffer": spec.request_buffer,
        "responseOverride": spec.response_override or None,
        "httpUpgrade": spec.http_upgrade or None,
        "faultInjection": spec.fault_injection,
        "compression": spec.compression or None,
        "compressor": spec.compressor or None,
        "http2": spec.http2,
        "useClientProtocol": spec.use_client_protocol or None,
    }
    yield from (name for name, it in whole.items() if it is not None)


def _of_tcp_alone(spec: BackendTrafficPolicySpec) -> Iterator[str]:
    """The fields of a policy that need connections of TCP, of which Envoy's proxy for UDP has none:
    how they are opened and kept, how many wait, and whether they fail."""
    tcp = spec.timeout.tcp if spec.timeout is not None else None
    if tcp is not None and tcp.connect_timeout is not None:
        yield "timeout.tcp.connectTimeout"
    opened = spec.connection
    if opened is not None and opened.buffer_limit is not None:
        yield "connection.bufferLimit"
    if opened is not None and opened.socket_buffer_limit is not None:
        yield "connection.socketBufferLimit"
    if opened is not None and opened.preconnect is not None:
        yield "connection.preconnect"
    checks = spec.health_check
    if checks is not None and checks.passive is not None:
        yield "healthCheck.passive"
    if checks is not None and checks.active is not None and not _has_port(checks.active):
        yield "healthCheck.active"
    yield from _limits(spec, _LIMITS_OF_TCP)
    whole = {"tcpKeepalive": spec.tcp_keepalive, "proxyProtocol": spec.proxy_protocol}
    yield from (name for name, it in whole.items() if it is not None)


def _has_port(found: ActiveCheck) -> bool:
    """Whether a check is made on a port of its own, which may be one of TCP."""
    return found.overrides is not None and found.overrides.port is not None


_LIMITS_OF_REQUESTS = {
    "maxParallelRequests": "max_parallel_requests",
    "maxParallelRetries": "max_parallel_retries",
    "maxRequestsPerConnection": "max_requests_per_connection",
    "retryBudget": "retry_budget",
}
_LIMITS_OF_TCP = {"maxPendingRequests": "max_pending_requests", "perEndpoint": "per_endpoint"}
"""Envoy's proxy for UDP counts its sessions as connections, and looks at no other limit."""
_USUAL = CircuitBreaker()


def _limits(spec: BackendTrafficPolicySpec, fields: Mapping[str, str]) -> Iterator[str]:
    """Those limits of a policy that are not the defaults, which an API server writes into it."""
    found = spec.circuit_breaker or _USUAL
    for name, field in fields.items():
        if getattr(found, field) != getattr(_USUAL, field):
            yield f"circuitBreaker.{name}"


def _streamed(_: ObjectRef, found: Found) -> Iterator[tuple[NamespacedName, str]]:
    return ((policy, it.route.kind) for policy, it in found if it.why == "stream")


def _routes(why: _Why) -> Callable[[ObjectRef, Found], Iterator[tuple[NamespacedName, ObjectRef]]]:
    """The routes on which a policy is idle for one reason, by policy."""

    def entries(_: ObjectRef, found: Found) -> Iterator[tuple[NamespacedName, ObjectRef]]:
        return ((policy, it.route) for policy, it in found if it.why == why)

    return entries


STREAMED: Index[NamespacedName, str] = Index("kinds of streams of each policy", idle, _streamed)
UNASKED: Index[NamespacedName, ObjectRef] = Index(
    "routes whose backends a policy cannot ask by gRPC", idle, _routes("unasked")
)
UNCOUNTED: Index[NamespacedName, ObjectRef] = Index(
    "routes with answers that a policy cannot limit", idle, _routes("uncounted")
)
CALLED: Index[NamespacedName, ObjectRef] = Index(
    "routes whose gRPC calls a policy has read whole", idle, _routes("called")
)
UPGRADED: Index[NamespacedName, ObjectRef] = Index(
    "routes whose WebSockets a policy rules out", idle, _routes("upgraded")
)


def _by_grpc(
    key: NamespacedName, found: Meaning[trafficpolicies.Traffic]
) -> Iterator[tuple[NamespacedName, None]]:
    if trafficupstreams.asks_by_grpc(found.effect.upstream):
        yield key, None


BY_GRPC: Index[NamespacedName, None] = Index(
    "policies that ask by gRPC", _EFFECTS.meaning, _by_grpc
)


def _limiting(
    key: NamespacedName, found: Meaning[trafficpolicies.Traffic]
) -> Iterator[tuple[NamespacedName, None]]:
    if found.effect.policies.limits:
        yield key, None


LIMITING: Index[NamespacedName, None] = Index(
    "policies with limits that a service counts", _EFFECTS.meaning, _limiting
)
"""Like BY_GRPC, an index so that other changes of a policy do not wake its routes for its
status."""


def _buffering(
    key: NamespacedName, found: Meaning[trafficpolicies.Traffic]
) -> Iterator[tuple[NamespacedName, None]]:
    if found.effect.policies.body_limit is not None:
        yield key, None


BUFFERING: Index[NamespacedName, None] = Index(
    "policies by which requests are read whole", _EFFECTS.meaning, _buffering
)

INDEXES = (STREAMED, UNASKED, UNCOUNTED, CALLED, UPGRADED, BY_GRPC, LIMITING, BUFFERING)
KEPT = routes.kept(idle)

"""What the owner of a BackendTrafficPolicy is told of the routes and backends that it is for.

Some of its fields have no effect there: streams have no requests, and a backend that does not
speak HTTP/2 cannot be asked by gRPC. Each route tells which policies are concerned, so one that
comes or goes wakes only its own. Envoy Gateway 1.9 leaves out the same without a word. Elsewhere:
rules that are not served (`unservedrules`).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from crds.envoygateway.backendtrafficpolicy import BackendTrafficPolicySpec
from crds.envoygateway.policytargets import UnreadPolicy
from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag import nodes, tables
from dag.engine.view import Index, View, query
from dag.gateway import attachment, conditions, routes, unservedrules
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
"""So many routes are named in a message."""
_STREAMS = ("TCPRoute", "TLSRoute", "UDPRoute")
_EFFECTS = trafficpolicies.EFFECTS


class Idle(NamedTuple):
    """Where a part of a policy has no effect."""

    route: ObjectRef
    is_unasked: bool
    """A backend of the route cannot be asked by gRPC; else the route has no requests."""


Found = frozenset[tuple[NamespacedName, Idle]]
"""By policy."""


@query
def idle(view: View, route: ObjectRef) -> Found:
    """Of a route, the policies that say something that has no effect there."""
    claims, parents = view.ask(trafficpolicies.POLICIES.claims, route), _parents(view, route)
    if not parents or not (claims or any(parents)):
        return frozenset()
    if route.kind in _STREAMS:
        return frozenset(_of_stream(view, route, parents))
    own = {it.senior.key for it in claims}
    keys = (key for policy in (*own, None) for _, key in _keys(view, policy, parents))
    if not any(view.count(BY_GRPC, key) > 0 for key in keys):
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
    """What the policies of a route do, with one of its own or without; each with whose it is."""
    return ((it, _EFFECTS.of(view, key)) for it, key in _keys(view, own, parents))


def _keys(
    view: View, own: NamespacedName | None, parents: Parents
) -> Iterator[tuple[NamespacedName, NamespacedName]]:
    """Whose the effects are, and under which key."""
    if own is None:
        yield from ((it, it) for it in parents if it is not None)
    elif _EFFECTS.is_merging(view, own):
        yield from ((own, policymerging.together(own, it)) for it in parents)
    else:
        yield own, own


def _of_stream(
    view: View, route: ObjectRef, parents: Parents
) -> Iterator[tuple[NamespacedName, Idle]]:
    own = policytargets.of_parts(view, trafficpolicies.POLICIES, route)
    found = routes.rules(view, route).stream
    clusters = [it.cluster for it in found.shares] if found is not None else []
    for policy, traffic in _effects(view, own, parents):
        if not traffic.is_closed:
            yield policy, Idle(route, is_unasked=False)
        if _is_unasked(clusters, traffic):
            yield policy, Idle(route, is_unasked=True)


def _of_requests(
    view: View, route: ObjectRef, parents: Parents
) -> Iterator[tuple[NamespacedName, Idle]]:
    for it in routes.rules(view, route).routes:
        if isinstance(it.action, nodes.Forward):
            attached = (ref.key for ref in it.attached if ref.kind == trafficpolicies.KIND)
            clusters = [each.cluster for each in it.action.backends]
            for policy, traffic in _effects(view, next(attached, None), parents):
                if _is_unasked(clusters, traffic):
                    yield policy, Idle(route, is_unasked=True)


def _is_unasked(clusters: Iterable[nodes.Cluster | None], found: trafficpolicies.Traffic) -> bool:
    return not all(it is None or trafficupstreams.is_checked(it, found.upstream) for it in clusters)


@query
def backend_traffic_policy(view: View, key: NamespacedName) -> PolicyStatus | None:
    """What a policy is told. One whose requests a rate limit service counts is programmed when that
    has its limits, which is added elsewhere (`dag.refusals`)."""
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
    yield from unservedrules.told(view, ObjectRef(trafficpolicies.KIND, *key), found.spec)
    own = complaints.attached(trafficpolicies.KIND, key)
    kinds, fields = sorted(view.bucket(STREAMED, key)), tuple(_of_requests_alone(found.spec))
    if kinds and fields:
        yield complaints.no_effect_on_streams(own, fields, ", ".join(f"{it}s" for it in kinds))
    fields = tuple(_of_tcp_alone(found.spec))
    if "UDPRoute" in kinds and fields:
        yield complaints.no_effect_on_datagrams(own, fields)
    unasked = sorted(view.bucket(UNASKED, key))
    if unasked:
        more = " and others" if len(unasked) > MOST_NAMED else ""
        on = f"backends of {', '.join(map(str, unasked[:MOST_NAMED]))}{more}"
        yield complaints.not_asked_by_grpc(own.at("healthCheck").at("active").at("type"), on)


def _of_requests_alone(spec: BackendTrafficPolicySpec) -> Iterator[str]:
    """The fields of a policy, of those that are served, that say nothing of connections."""
    http = spec.timeout.http if spec.timeout is not None else None
    if http is not None:
        times = {
            "requestTimeout": http.request_timeout,
            "streamIdleTimeout": http.stream_idle_timeout,
            "maxStreamDuration": http.max_stream_duration,
        }
        yield from (f"timeout.http.{name}" for name, it in times.items() if it is not None)
    balancer = spec.load_balancer
    if balancer is not None and balancer.consistent_hash is not None:
        yield "loadBalancer.consistentHash"
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
    """The fields of a policy that say how connections of TCP are opened and kept, which Envoy's
    proxy for UDP has none of."""
    tcp = spec.timeout.tcp if spec.timeout is not None else None
    if tcp is not None and tcp.connect_timeout is not None:
        yield "timeout.tcp.connectTimeout"
    opened = spec.connection
    if opened is not None and opened.buffer_limit is not None:
        yield "connection.bufferLimit"
    if opened is not None and opened.preconnect is not None:
        yield "connection.preconnect"
    whole = {"tcpKeepalive": spec.tcp_keepalive, "proxyProtocol": spec.proxy_protocol}
    yield from (name for name, it in whole.items() if it is not None)


def _streamed(_: ObjectRef, found: Found) -> Iterator[tuple[NamespacedName, str]]:
    return ((policy, it.route.kind) for policy, it in found if not it.is_unasked)


def _unasked(_: ObjectRef, found: Found) -> Iterator[tuple[NamespacedName, ObjectRef]]:
    return ((policy, it.route) for policy, it in found if it.is_unasked)


STREAMED: Index[NamespacedName, str] = Index("kinds of streams of each policy", idle, _streamed)
UNASKED: Index[NamespacedName, ObjectRef] = Index(
    "routes whose backends a policy cannot ask by gRPC", idle, _unasked
)


def _by_grpc(
    key: NamespacedName, found: Meaning[trafficpolicies.Traffic]
) -> Iterator[tuple[NamespacedName, None]]:
    if trafficupstreams.asks_by_grpc(found.effect.upstream):
        yield key, None


BY_GRPC: Index[NamespacedName, None] = Index(
    "policies that ask by gRPC", _EFFECTS.meaning, _by_grpc
)
"""So that what else a policy says wakes none of its routes for the sake of its status."""

INDEXES = (STREAMED, UNASKED, BY_GRPC)
KEPT = routes.kept(idle)

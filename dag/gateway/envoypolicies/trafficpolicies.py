"""What a BackendTrafficPolicy means for routes and their clusters (Envoy Gateway 1.9).

A limit that cannot be enforced closes the routes of the policy. Timeouts and retries of an
HTTPRoute itself take precedence, field by field. Elsewhere: which policy is for which route
(`policytargets`), how it becomes part of one (`routeshaping`).
"""

from crds import policies
from crds.envoygateway import backendtrafficpolicy as crd
from crds.merging import Terms
from crds.meta import ObjectRef
from crds.records import dataclass, replace
from dag import nodes, tables
from dag.engine.view import View
from dag.gateway.envoypolicies import (
    trafficanswers,
    trafficfaults,
    trafficlimits,
    trafficneeds,
    trafficpages,
    trafficupstreams,
)
from dag.gateway.envoypolicies.policyancestors import Ancestry
from dag.gateway.envoypolicies.policyeffects import Effects
from dag.gateway.envoypolicies.policymerging import Merging
from dag.gateway.envoypolicies.policytargets import ALL_TARGETS, PolicyKind
from dag.gateway.envoypolicies.trafficupstreams import Upstream, positive, seconds
from dag.problems import Refused, shared
from dag.problems.places import Findings, Place

KIND = trafficlimits.KIND
POLICIES = PolicyKind(KIND, tables.TRAFFIC_POLICIES, ALL_TARGETS)
_CHECK = "spec.healthCheck.active"
_PAYLOADS = ("http.requestBody", "http.expectedResponse", "tcp.send", "tcp.receive")
_MEMBERS = {
    "spec.loadBalancer": {"ConsistentHash": "consistentHash"},
    "spec.loadBalancer.consistentHash": {
        "Header": "header",
        "Headers": "headers",
        "Cookie": "cookie",
        "QueryParams": "queryParams",
    },
    _CHECK: {"HTTP": "http", "TCP": "tcp", "GRPC": "grpc"},
    **{f"{_CHECK}.{it}": {"Text": "text", "Binary": "binary"} for it in _PAYLOADS},
}
"""Envoy Gateway 1.9 looks at the field of the type alone."""
MERGING = Merging(
    POLICIES,
    crd.BackendTrafficPolicySpec,
    Terms(
        keys={"spec.compression": "type", "spec.compressor": "type"},
        joined=frozenset({"spec.rateLimit.global.rules"}),
        members=_MEMBERS,
    ),
)
"""Envoy Gateway 1.9 counts by the global limits of both policies, each under its own names."""

RETRY_ON = ("connect-failure", "refused-stream", "unavailable", "cancelled")
"""Envoy's names of the failures after which a request is retried, if a policy names none."""
RETRIED = 503
"""The status code after which a request is retried, if a policy names none."""
_BY_CODE = "retriable-status-codes"


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a policy does to its routes."""

    is_closed: bool = False
    """The routes answer an error: something limits them that is not served."""
    timeout: float | None = None
    idle_timeout: float | None = None
    retry: nodes.Retry | None = None
    websockets: bool = False
    hash_policies: tuple[nodes.HashPolicy, ...] = ()
    policies: nodes.Policies = nodes.Policies()
    upstream: Upstream = Upstream()


CLOSED = Traffic(is_closed=True)


def applied(route: nodes.Route, found: Traffic, attached: tuple[ObjectRef, ...]) -> nodes.Route:
    """A route as a policy wants it; `attached` are its policies, of all kinds, with this one."""
    action, policies = route.action, _joined(route, found.policies)
    if isinstance(action, nodes.Forward):
        action = _forward(action, found)
    return replace(route, policies=policies, action=action, attached=attached)


Limits = tuple[nodes.Limit, ...] | None


def is_uncounted(action: nodes.Action, limits: Limits) -> bool:
    """Whether limits cannot be enforced: Envoy asks no service about its own answers."""
    return isinstance(action, nodes.Respond) and _is_limited(action) and bool(limits)


def _is_limited(action: nodes.Action) -> bool:
    """Whether limits are meant for an action: not for redirects, nor for errors of broken rules."""
    return not isinstance(action, nodes.Redirect) and action not in _ERRORS


_ERRORS = tuple(nodes.Respond(it) for it in (500, 503))
_NOTHING = nodes.Policies()


def _joined(route: nodes.Route, wanted: nodes.Policies) -> nodes.Policies | None:
    """The policies of a route with those that are wanted."""
    own = route.policies
    if own is None and wanted == _NOTHING:
        return None
    limits = wanted.limits if _is_limited(route.action) else None
    own = own or _NOTHING
    joined = replace(
        own,
        local_rate_limit=wanted.local_rate_limit,
        limits=(*own.limits, *(limits or ())) if own.limits else limits,
        body_limit=wanted.body_limit,
        error_pages=wanted.error_pages,
        fault=wanted.fault,
        compressors=wanted.compressors,
    )
    return None if route.policies is None and joined == _NOTHING else joined


def stream(found: nodes.Stream, traffic: Traffic, *, is_of_datagrams: bool) -> nodes.Stream:
    """A stream with clusters as a policy wants them, but without hashing, which needs requests, and
    without checks of ports that get datagrams: they are made over TCP."""
    upstream = traffic.upstream
    if upstream.balancing == "Maglev":
        upstream = replace(upstream, balancing=None)
    if is_of_datagrams and upstream.health_port is None:
        upstream = replace(upstream, health_check=None)
    shares = (
        it._replace(cluster=trafficupstreams.applied(it.cluster, upstream))
        if it.cluster is not None
        else it
        for it in found.shares
    )
    return replace(found, shares=tuple(shares))


def _forward(own: nodes.Forward, found: Traffic) -> nodes.Forward:
    return replace(
        own,
        backends=tuple(_backend(it, found.upstream) for it in own.backends),
        timeout=own.timeout if own.timeout is not None else found.timeout,
        idle_timeout=found.idle_timeout,
        retry=own.retry or found.retry,
        # With a limit Envoy reads a request to its end, which that of a WebSocket does not have.
        websockets=found.policies.body_limit is None and (own.websockets or found.websockets),
        hash_policies=found.hash_policies,
    )


def _backend(own: nodes.Backend, found: Upstream) -> nodes.Backend:
    if own.cluster is None:
        return own
    cluster = trafficupstreams.applied(own.cluster, found)
    return own if cluster is own.cluster else replace(own, cluster=cluster)


def _traffic(
    view: View, spec: crd.BackendTrafficPolicySpec, own: Place
) -> Findings[Traffic | None]:
    """What the policy does; None if a limit cannot be enforced."""
    http = spec.timeout.http if spec.timeout is not None else None
    balancer = spec.load_balancer
    at = own.at("loadBalancer").at("consistentHash")
    asked = balancer.consistent_hash if balancer is not None else None
    hashes = yield from trafficupstreams.hashed(asked, at)
    pages = yield from trafficpages.pages(view, spec.response_override, own)
    fault = yield from trafficfaults.fault(spec.fault_injection, own)
    compressors = yield from trafficfaults.compressors(spec, own)
    yield from trafficneeds.unmet(spec, own)
    for index, it in enumerate(spec.http_upgrade):
        if not trafficneeds.is_websocket(it):
            field = own.at("httpUpgrade", index).at("type")
            yield shared.no_effect(field, f"{it.type[:60]!r} is not served yet")
    try:
        limits = trafficlimits.of_all(view, spec.rate_limit, own)
        local = yield from trafficlimits.local(spec.rate_limit, own)
        body = trafficanswers.body_limit(spec.request_buffer, own)
    except Refused as refused:
        yield refused.problem
        return None
    upstream = yield from trafficupstreams.upstream(spec, own)
    if asked is not None and not hashes:
        upstream = replace(upstream, balancing="RoundRobin")
    return Traffic(
        timeout=seconds(http.request_timeout) if http is not None else None,
        idle_timeout=seconds(http.stream_idle_timeout) if http is not None else None,
        retry=_retry(spec.retry) if spec.retry is not None else None,
        websockets=any(map(trafficneeds.is_websocket, spec.http_upgrade)),
        hash_policies=hashes,
        policies=nodes.Policies(
            local_rate_limit=local,
            limits=limits,
            body_limit=body,
            error_pages=pages,
            fault=fault,
            compressors=compressors,
        ),
        upstream=upstream,
    )


EFFECTS = Effects(Ancestry(POLICIES, MERGING.is_merging), _traffic, CLOSED, merging=MERGING)


def _retry(found: crd.PolicyRetry) -> nodes.Retry:
    on, per_retry = found.retry_on or crd.RetryOn(), found.per_retry
    codes = on.http_status_codes or (() if on.triggers else (RETRIED,))
    known = tuple(it for it in on.triggers if it in policies.RETRY_ON)
    after = known if on.triggers else RETRY_ON
    back_off = per_retry.back_off if per_retry is not None else None
    return nodes.Retry(
        on=(*after, _BY_CODE) if codes and _BY_CODE not in after else after,
        attempts=found.num_retries,
        per_try_timeout=positive(per_retry.timeout) if per_retry is not None else None,
        status_codes=tuple(sorted(set(codes))),
        backoff=positive(back_off.base_interval) if back_off is not None else None,
        max_backoff=positive(back_off.max_interval) if back_off is not None else None,
        per_priority=found.num_attempts_per_priority or None,
    )

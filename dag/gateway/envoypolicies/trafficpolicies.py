"""What a BackendTrafficPolicy means for routes and their clusters (Envoy Gateway 1.9).

What limits something and cannot be kept closes the routes of the policy. What an HTTPRoute says
itself of timeouts and retries comes first. Elsewhere: which policy is for which route
(`policytargets`), how it becomes part of one (`routeshaping`).
"""

from dataclasses import replace

from crds.envoygateway import backendtrafficpolicy as crd
from crds.envoygateway.policytargets import UnreadPolicy
from crds.meta import NamespacedName
from crds.records import dataclass
from dag import nodes, tables
from dag.engine.view import View, query
from dag.gateway.envoypolicies import policyeffects, trafficanswers, trafficupstreams
from dag.gateway.envoypolicies.policyancestors import Ancestry
from dag.gateway.envoypolicies.policyeffects import Effects, Meaning
from dag.gateway.envoypolicies.policytargets import ALL_TARGETS, PolicyKind
from dag.gateway.envoypolicies.trafficupstreams import Upstream, positive, seconds
from dag.problems import Refused
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place, gathered

KIND = "BackendTrafficPolicy"
POLICIES = PolicyKind(KIND, tables.TRAFFIC_POLICIES, ALL_TARGETS)

RETRY_ON = ("connect-failure", "refused-stream", "unavailable", "cancelled")
"""Envoy's words for the failures after which is tried again, if a policy names none."""
RETRIED = 503
"""And the status code."""
_BY_CODE = "retriable-status-codes"


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a policy does to its routes."""

    is_closed: bool = False
    """They answer an error: something limits them that is not served."""
    timeout: float | None = None
    idle_timeout: float | None = None
    retry: nodes.Retry | None = None
    websockets: bool = False
    hash_policies: tuple[nodes.HashPolicy, ...] = ()
    policies: nodes.Policies = nodes.Policies()
    upstream: Upstream = Upstream()


CLOSED = Traffic(is_closed=True)


@query
def traffic(view: View, key: NamespacedName) -> Meaning[Traffic] | None:
    """What a policy means; None if it is not there."""
    found = view.read(tables.TRAFFIC_POLICIES, key)
    if found is None:
        return None
    own = complaints.attached(KIND, key)
    closing = tuple(policyeffects.closing(view, found, own))
    if isinstance(found, UnreadPolicy):
        return Meaning(CLOSED, closing)
    made, told = gathered(_traffic(found.spec, own))
    effect = CLOSED if made is None or closing else made
    return Meaning(effect, (*closing, *told))


EFFECTS = Effects(Ancestry(POLICIES), traffic, CLOSED)


def applied(route: nodes.Route, found: Traffic) -> nodes.Route:
    """A route as a policy wants it."""
    wanted, own = found.policies, route.policies or nodes.Policies()
    joined = replace(
        own,
        local_rate_limit=wanted.local_rate_limit,
        body_limit=wanted.body_limit,
        error_pages=wanted.error_pages,
    )
    policies = None if route.policies is None and joined == nodes.Policies() else joined
    route = replace(route, policies=policies)
    if not isinstance(route.action, nodes.Forward):
        return route
    return replace(route, action=_forward(route.action, found))


def stream(found: nodes.Stream, traffic: Traffic) -> nodes.Stream:
    """A stream as a policy wants it: its clusters; hashes need a request."""
    upstream = traffic.upstream
    if upstream.balancing == "Maglev":
        upstream = replace(upstream, balancing=None)
    shares = (
        it._replace(cluster=trafficupstreams.applied(it.cluster, upstream))
        if it.cluster is not None
        else it
        for it in found.shares
    )
    return replace(found, shares=tuple(shares))


def _forward(own: nodes.Forward, found: Traffic) -> nodes.Forward:
    backends = (
        replace(it, cluster=trafficupstreams.applied(it.cluster, found.upstream))
        if it.cluster is not None
        else it
        for it in own.backends
    )
    return replace(
        own,
        backends=tuple(backends),
        timeout=own.timeout if own.timeout is not None else found.timeout,
        idle_timeout=found.idle_timeout,
        retry=own.retry or found.retry,
        websockets=own.websockets or found.websockets,
        hash_policies=found.hash_policies,
    )


def _traffic(spec: crd.BackendTrafficPolicySpec, own: Place) -> Findings[Traffic | None]:
    """What the policy does; None if a limit cannot be kept."""
    http = spec.timeout.http if spec.timeout is not None else None
    balancer = spec.load_balancer
    at = own.at("loadBalancer").at("consistentHash")
    asked = balancer.consistent_hash if balancer is not None else None
    hashes = yield from trafficupstreams.hashed(asked, at)
    pages = yield from trafficanswers.pages(spec.response_override, own)
    for index, it in enumerate(spec.http_upgrade):
        if it.type != "websocket":
            field = own.at("httpUpgrade", index).at("type")
            yield complaints.policy_field_not_served(field, f"{it.type[:60]!r} is not served yet")
    try:
        limit = trafficanswers.local(spec.rate_limit, own)
        body = trafficanswers.body_limit(spec.request_buffer, own)
    except Refused as refused:
        yield refused.problem
        return None
    upstream = trafficupstreams.upstream(spec)
    if asked is not None and not hashes:
        upstream = replace(upstream, balancing="RoundRobin")
    return Traffic(
        timeout=seconds(http.request_timeout) if http is not None else None,
        idle_timeout=seconds(http.stream_idle_timeout) if http is not None else None,
        retry=_retry(spec.retry) if spec.retry is not None else None,
        websockets=any(it.type == "websocket" for it in spec.http_upgrade),
        hash_policies=hashes,
        policies=nodes.Policies(local_rate_limit=limit, body_limit=body, error_pages=pages),
        upstream=upstream,
    )


def _retry(found: crd.PolicyRetry) -> nodes.Retry:
    on, per_retry = found.retry_on, found.per_retry
    codes = on.http_status_codes if on is not None else (RETRIED,)
    after = on.triggers if on is not None else RETRY_ON
    back_off = per_retry.back_off if per_retry is not None else None
    return nodes.Retry(
        on=(*after, _BY_CODE) if codes and _BY_CODE not in after else after,
        attempts=found.num_retries,
        per_try_timeout=positive(per_retry.timeout) if per_retry is not None else None,
        status_codes=tuple(sorted(set(codes))),
        backoff=positive(back_off.base_interval) if back_off is not None else None,
        max_backoff=positive(back_off.max_interval) if back_off is not None else None,
    )

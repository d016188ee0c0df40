"""What a BackendTrafficPolicy says of clusters: balancing, circuit breakers, health, connections.

Where a time may not be zero, zero is the default. Source: Envoy Gateway 1.9.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace

from crds.envoygateway import backendhealth as health
from crds.envoygateway import backendlimits as limits
from crds.envoygateway import backendtrafficpolicy as crd
from crds.records import dataclass
from dag import nodes
from dag.problems import Problem
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place
from dag.values import durations, headers

LONGEST_CHECK = 60.0
"""Seconds: while the first check is awaited, no request is served."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """What a policy says of each cluster of its routes; None where it says nothing."""

    balancing: nodes.Balancing | None = None
    slow_start: nodes.SlowStart | None = None
    limits: nodes.CircuitBreakers | None = None
    health_check: nodes.HealthCheck | None = None
    health_port: int | None = None
    outliers: nodes.OutlierDetection | None = None
    idle_timeout: float | None = None
    connect_timeout: float | None = None


def applied(cluster: nodes.Cluster, found: Upstream) -> nodes.Cluster:
    """A cluster as a policy wants it."""
    said = {it.name: getattr(found, it.name) for it in fields(found)}
    return replace(cluster, **{name: value for name, value in said.items() if value is not None})


def upstream(spec: crd.BackendTrafficPolicySpec) -> Upstream:
    """What a policy says of clusters."""
    balancer, checks = spec.load_balancer, spec.health_check
    active = checks.active if checks is not None else None
    passive = checks.passive if checks is not None else None
    overrides = active.overrides if active is not None else None
    http = spec.timeout.http if spec.timeout is not None else None
    tcp = spec.timeout.tcp if spec.timeout is not None else None
    return Upstream(
        balancing=_BALANCING.get(balancer.type, "RoundRobin") if balancer is not None else None,
        slow_start=_slow_start(balancer.slow_start) if balancer is not None else None,
        limits=_limits(spec.circuit_breaker),
        health_check=_check(active),
        health_port=overrides.port if overrides is not None else None,
        outliers=_outliers(passive),
        idle_timeout=seconds(http.connection_idle_timeout) if http is not None else None,
        connect_timeout=positive(tcp.connect_timeout) if tcp is not None else None,
    )


_BALANCING: Mapping[str, nodes.Balancing] = {
    "LeastRequest": "WeightedLeastRequest",
    "Random": "Random",
    "ConsistentHash": "Maglev",
}


def seconds(text: str | None) -> float | None:
    """The seconds of a field, a day at most; 0 is without limit, None where it is absent."""
    return min(durations.seconds(text), durations.LONGEST) if text is not None else None


def positive(text: str | None) -> float | None:
    """The seconds of a field that may not be zero; None for the default."""
    return seconds(text) or None


def hashed(found: crd.ConsistentHash | None, at: Place) -> Findings[tuple[nodes.HashPolicy, ...]]:
    """What of a request is hashed; what cannot be is left out."""
    if found is None:
        return ()
    if found.type == "SourceIP":
        return (nodes.HashPolicy("SourceIp"),)
    if found.type == "Cookie" and found.cookie is not None:
        cookie = found.cookie
        return (nodes.HashPolicy("Cookie", cookie.name, ttl=seconds(cookie.ttl), path="/"),)
    if found.type == "QueryParams":
        return tuple(nodes.HashPolicy("Query", it.name) for it in found.query_params)
    single = (found.header,) if found.type == "Header" and found.header is not None else ()
    named = [it.name for it in (*single, *(found.headers if found.type == "Headers" else ()))]
    yield from _unusable(named, at)
    usable = (it.lower() for it in named if headers.name_refusal(it) is None)
    return tuple(nodes.HashPolicy("Header", it) for it in usable)


def _unusable(names: list[str], at: Place) -> Iterator[Problem]:
    for it in names:
        if why := headers.name_refusal(it):
            yield complaints.policy_field_not_served(at, f"header {it[:60]!r} {why}")


def _slow_start(found: crd.SlowStart | None) -> nodes.SlowStart | None:
    window = positive(found.window) if found is not None else None
    return nodes.SlowStart(window) if window is not None else None


def _limits(found: limits.CircuitBreaker | None) -> nodes.CircuitBreakers | None:
    if found is None:
        return None
    budget = found.retry_budget
    share = budget.percent if budget is not None else None
    return nodes.CircuitBreakers(
        connections=found.max_connections,
        pending_requests=found.max_pending_requests,
        requests=found.max_parallel_requests,
        retries=found.max_parallel_retries,
        connections_per_host=(
            found.per_endpoint.max_connections if found.per_endpoint is not None else None
        ),
        retry_budget_percent=(
            100.0 * share.numerator / share.denominator if share is not None else None
        ),
        min_retries=budget.min_retry_concurrency if budget is not None else None,
    )


def _check(found: health.ActiveCheck | None) -> nodes.HealthCheck | None:
    if found is None or found.type == "GRPC":
        return None
    http = found.http
    return nodes.HealthCheck(
        path=http.path if http is not None else "",
        host=(http.hostname or "") if http is not None else "",
        interval=positive(found.interval) or 3.0,
        timeout=min(positive(found.timeout) or 1.0, LONGEST_CHECK),
        unhealthy_threshold=found.unhealthy_threshold,
        healthy_threshold=found.healthy_threshold,
        statuses=tuple((it, it + 1) for it in http.expected_statuses) if http is not None else (),
    )


def _outliers(found: health.PassiveCheck | None) -> nodes.OutlierDetection | None:
    if found is None:
        return None
    return nodes.OutlierDetection(
        consecutive_5xx=found.consecutive_5xx_errors,
        consecutive_gateway_errors=found.consecutive_gateway_errors or None,
        interval=positive(found.interval),
        ejection_time=positive(found.base_ejection_time),
        max_ejection_percent=found.max_ejection_percent,
    )

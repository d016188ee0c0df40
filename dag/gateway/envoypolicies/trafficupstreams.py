"""What a BackendTrafficPolicy says of clusters: balancing, circuit breakers, health, connections.

A duration of zero means the default where zero makes no sense. Source: Envoy Gateway 1.9.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields

from crds.envoygateway import backendhealth as health
from crds.envoygateway import backendlimits as limits
from crds.envoygateway import backendtrafficpolicy as crd
from crds.records import dataclass, replace
from dag import nodes
from dag.gateway.envoypolicies import trafficconnections
from dag.problems import Problem, shared
from dag.problems.places import Findings, Place
from dag.values import cookies, durations, headers

LONGEST_CHECK = 60.0
"""The longest time of a check in seconds: no request is served before the first one has ended."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """What a policy says of each cluster of its routes; None where it says nothing."""

    balancing: nodes.Balancing | None = None
    slow_start: nodes.SlowStart | None = None
    limits: nodes.CircuitBreakers | None = None
    retry_budget: nodes.RetryBudget | None = None
    health_check: nodes.HealthCheck | None = None
    health_port: int | None = None
    outliers: nodes.OutlierDetection | None = None
    idle_timeout: float | None = None
    connect_timeout: float | None = None
    panic_percent: int | None = None
    connections: nodes.Connections | None = None
    table_size: int | None = None


NOTHING = Upstream()


def applied(cluster: nodes.Cluster, found: Upstream) -> nodes.Cluster:
    """A cluster as a policy wants it. Of two budgets for retries neither is exceeded."""
    if found == NOTHING:
        return cluster
    said = {it.name: getattr(found, it.name) for it in fields(found)}
    if found.retry_budget is not None and cluster.retry_budget is not None:
        said["retry_budget"] = cluster.retry_budget.joined(found.retry_budget)
    if found.connections is not None and cluster.dns is None:
        said["connections"] = replace(found.connections, dns=None)
    if not is_checked(cluster, found):
        said["health_check"] = None
    return replace(cluster, **{name: value for name, value in said.items() if value is not None})


_GRPC = ("h2", "h2c")
"""Protocols for which Envoy takes gRPC health checks; it refuses other clusters that have them."""


def asks_by_grpc(found: Upstream) -> bool:
    """Whether a policy asks for gRPC health checks."""
    return found.health_check is not None and found.health_check.grpc_service is not None


def is_checked(cluster: nodes.Cluster, found: Upstream) -> bool:
    """Whether a cluster can have the health check of a policy, if there is one."""
    return not asks_by_grpc(found) or cluster.protocol in _GRPC


def upstream(spec: crd.BackendTrafficPolicySpec, own: Place) -> Findings[Upstream]:
    """What a policy says of clusters; what cannot be served is left out."""
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
        retry_budget=_budget(spec.circuit_breaker),
        health_check=(yield from _checked(active, own)),
        health_port=overrides.port if overrides is not None else None,
        outliers=_outliers(passive),
        idle_timeout=seconds(http.connection_idle_timeout) if http is not None else None,
        connect_timeout=positive(tcp.connect_timeout) if tcp is not None else None,
        panic_percent=(checks.panic_threshold or 0) if checks is not None else None,
        connections=(yield from trafficconnections.connected(spec, own)),
        table_size=(yield from _table_size(spec, own)),
    )


def _table_size(spec: crd.BackendTrafficPolicySpec, own: Place) -> Findings[int | None]:
    """The size of the hash table, if it is not Envoy's default."""
    hashes = spec.load_balancer.consistent_hash if spec.load_balancer is not None else None
    if hashes is None or hashes.table_size == _USUAL_TABLE:
        return None
    if not _is_prime(hashes.table_size):
        field = own.at("loadBalancer").at("consistentHash").at("tableSize")
        yield shared.no_effect(field, f"{hashes.table_size} is no prime")
        return None
    return hashes.table_size


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % it for it in range(2, math.isqrt(number) + 1))


_USUAL_TABLE = 65537

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
    """The parts of a request that are hashed; what cannot be is left out."""
    if found is None:
        return ()
    if found.type == "SourceIP":
        return (nodes.HashPolicy("SourceIp"),)
    if found.type == "Cookie" and found.cookie is not None:
        cookie = found.cookie
        if why := cookies.name_refusal(cookie.name):
            yield shared.no_effect(at.at("cookie").at("name"), f"{cookie.name[:60]!r} {why}")
            return ()
        attributes = yield from _attributes(cookie, at.at("cookie").at("attributes"))
        ttl = seconds(cookie.ttl)
        return (nodes.HashPolicy("Cookie", cookie.name, ttl, "/", attributes),)
    if found.type == "QueryParams":
        return tuple(nodes.HashPolicy("Query", it.name) for it in found.query_params)
    single = (found.header,) if found.type == "Header" and found.header is not None else ()
    named = [it.name for it in (*single, *(found.headers if found.type == "Headers" else ()))]
    yield from _unusable(named, at)
    usable = (it.lower() for it in named if headers.name_refusal(it) is None)
    return tuple(nodes.HashPolicy("Header", it) for it in usable)


def _attributes(found: crd.HashedCookie, at: Place) -> Findings[tuple[tuple[str, str], ...]]:
    """The attributes that can stand in a cookie; others are left out."""
    made: list[tuple[str, str]] = []
    for name, value in sorted((found.attributes or {}).items()):
        if headers.name_refusal(name) or name.startswith(":"):
            yield shared.no_effect(at, f"{name[:60]!r} is no attribute")
        elif headers.value_refusal(value) or ";" in value:
            yield shared.no_effect(at, f"{value[:60]!r} is no value")
        else:
            made.append((name, value))
    return tuple(made)


def _unusable(names: list[str], at: Place) -> Iterator[Problem]:
    for it in names:
        if why := headers.name_refusal(it):
            yield shared.no_effect(at, f"header {it[:60]!r} {why}")


def _slow_start(found: crd.SlowStart | None) -> nodes.SlowStart | None:
    window = positive(found.window) if found is not None else None
    return nodes.SlowStart(window) if window is not None else None


def _limits(found: limits.CircuitBreaker | None) -> nodes.CircuitBreakers | None:
    if found is None:
        return None
    return nodes.CircuitBreakers(
        connections=found.max_connections,
        pending_requests=found.max_pending_requests,
        requests=found.max_parallel_requests,
        retries=found.max_parallel_retries,
        connections_per_host=(
            found.per_endpoint.max_connections if found.per_endpoint is not None else None
        ),
    )


def _budget(found: limits.CircuitBreaker | None) -> nodes.RetryBudget | None:
    budget = found.retry_budget if found is not None else None
    if budget is None:
        return None
    share, least = budget.percent, budget.min_retry_concurrency
    percent = 100.0 * share.numerator / share.denominator
    return nodes.RetryBudget(percent) if least is None else nodes.RetryBudget(percent, always=least)


def _checked(found: health.ActiveCheck | None, own: Place) -> Findings[nodes.HealthCheck | None]:
    """The health check. One that Envoy refuses is left out: the hosts that need the cluster would
    stay as they are."""
    if found is None:
        return None
    at, http = own.at("healthCheck").at("active").at("http"), found.http
    asked = {"path": http.path, "hostname": http.hostname or ""} if http is not None else {}
    for field, text in asked.items():
        if why := headers.value_refusal(text):
            yield shared.no_effect(at.at(field), f"{text[:60]!r} {why}")
            return None
    return _check(found)


def _check(found: health.ActiveCheck) -> nodes.HealthCheck:
    http = found.http
    sent, expected = _exchanged(found)
    return nodes.HealthCheck(
        path=http.path if http is not None else "",
        host=(http.hostname or "") if http is not None else "",
        interval=positive(found.interval) or 3.0,
        timeout=min(positive(found.timeout) or 1.0, LONGEST_CHECK),
        unhealthy_threshold=found.unhealthy_threshold,
        healthy_threshold=found.healthy_threshold,
        statuses=_ranges(http.expected_statuses) if http is not None else (),
        retriable=_ranges(http.retriable_statuses) if http is not None else (),
        method=(http.method or "") if http is not None and http.method in health.METHODS else "",
        jitter=min(positive(found.initial_jitter) or 0.0, LONGEST_CHECK) or None,
        sent=sent,
        expected=expected,
        grpc_service=_grpc_service(found),
    )


def _grpc_service(found: health.ActiveCheck) -> str | None:
    if found.type != "GRPC":
        return None
    return (found.grpc.service or "") if found.grpc is not None else ""


def _exchanged(found: health.ActiveCheck) -> tuple[bytes, bytes]:
    """What a check sends, and what must be in the answer."""
    if found.http is not None:
        is_sent = found.http.method in ("POST", "PUT")
        body = found.http.request_body if is_sent else None
        return _bytes(body), _bytes(found.http.expected_response)
    if found.tcp is not None:
        return _bytes(found.tcp.send), _bytes(found.tcp.receive)
    return b"", b""


def _bytes(found: health.Payload | None) -> bytes:
    if found is None:
        return b""
    return found.binary or (found.text or "").encode()


def _outliers(found: health.PassiveCheck | None) -> nodes.OutlierDetection | None:
    if found is None:
        return None
    return nodes.OutlierDetection(
        consecutive_5xx=found.consecutive_5xx_errors,
        consecutive_gateway_errors=found.consecutive_gateway_errors or None,
        interval=positive(found.interval),
        ejection_time=positive(found.base_ejection_time),
        max_ejection_percent=found.max_ejection_percent,
        local_failures=(
            found.consecutive_local_origin_failures
            if found.split_external_local_origin_errors
            else None
        ),
        failure_percent=found.failure_percentage_threshold,
        ejects_one=found.always_eject_one_endpoint,
    )


def _ranges(codes: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((it, it + 1) for it in codes)

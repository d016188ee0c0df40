"""BackendTrafficPolicies: what they do to routes, clusters and streams, and what is told."""

from dataclasses import fields
from typing import Any

import pytest

from dag import nodes
from dag.engine.incremental import Engine
from dag.gateway import hosts as gateway_hosts
from dag.listeners import DEFAULT_FLEET
from dag.plan import STATUSES
from dag.statuses import PolicyStatus
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    listener,
    route,
    service,
    stream_route,
    to,
)
from tests.dag.gateway.test_securitypolicies import (
    GATEWAY,
    GIVEN,
    ROUTE,
    allowing,
    applied,
    part,
    served,
)
from tests.dag.gateway.test_securitypolicies import policy as guarding
from tests.dag.world import apply, delete, key, world


def policy(name: str, spec: str, *targets: str) -> str:
    """A BackendTrafficPolicy for the route `r` if no target is given."""
    return guarding(name, spec, *targets).replace("SecurityPolicy", "BackendTrafficPolicy")


def timing(seconds: int) -> str:
    return f"timeout: {{http: {{requestTimeout: {seconds}s}}}}"


def message(engine: Engine, name: str) -> str:
    found = engine.answer(STATUSES["BackendTrafficPolicy"], key(name))
    assert isinstance(found, PolicyStatus)
    (condition,) = found.ancestors[0].conditions
    return f"{condition.status}/{condition.reason}: {condition.message}"


def forward(engine: Engine) -> nodes.Forward:
    (found,) = served(engine)
    assert isinstance(found.action, nodes.Forward)
    return found.action


def cluster(engine: Engine) -> nodes.Cluster:
    found = forward(engine).backends[0].cluster
    assert found is not None
    return found


def differing(found: Any, plain: Any) -> dict[str, Any]:
    """The fields of a node that differ from another."""
    names = [it.name for it in fields(found)]
    return {it: getattr(found, it) for it in names if getattr(found, it) != getattr(plain, it)}


RETRY = nodes.Retry(
    ("connect-failure", "refused-stream", "unavailable", "cancelled", "retriable-status-codes"),
    2,
    status_codes=(503,),
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (timing(5), {"timeout": 5.0}),
        ("timeout: {http: {requestTimeout: 0s}}", {"timeout": 0.0}),
        ("timeout: {http: {streamIdleTimeout: 7s}}", {"idle_timeout": 7.0}),
        ("retry: {}", {"retry": RETRY}),
        (
            "retry: {numRetries: 5, retryOn: {httpStatusCodes: [502, 500], triggers: [reset]}, "
            "perRetry: {timeout: 1s, backOff: {baseInterval: 100ms, maxInterval: 2s}}}",
            {
                "retry": nodes.Retry(
                    ("reset", "retriable-status-codes"), 5, 1.0, (500, 502), 0.1, 2.0
                )
            },
        ),
        ("retry: {retryOn: {triggers: [5xx]}}", {"retry": nodes.Retry(("5xx",), 2)}),
        ("httpUpgrade: [{type: websocket}]", {"websockets": True}),
    ],
)
def test_requests_are_forwarded_as_the_policy_says(spec: str, expected: dict[str, Any]) -> None:
    it = world(GIVEN + route("r"))
    plain = forward(it)
    apply(it, policy("p", spec))
    assert differing(forward(it), plain) == expected
    assert message(it, "p") == "True/Accepted: the policy applies"


SOURCES = {
    "{type: SourceIP}": nodes.HashPolicy("SourceIp"),
    "{type: Header, header: {name: X-A}}": nodes.HashPolicy("Header", "x-a"),
    "{type: Headers, headers: [{name: X-A}]}": nodes.HashPolicy("Header", "x-a"),
    "{type: Cookie, cookie: {name: c, ttl: 1m}}": nodes.HashPolicy("Cookie", "c", 60.0, "/"),
    "{type: Cookie, cookie: {name: c}}": nodes.HashPolicy("Cookie", "c", None, "/"),
    "{type: QueryParams, queryParams: [{name: q}]}": nodes.HashPolicy("Query", "q"),
}


@pytest.mark.parametrize("spec", SOURCES)
def test_requests_are_hashed_by_what_the_policy_names(spec: str) -> None:
    balancer = f"loadBalancer: {{type: ConsistentHash, consistentHash: {spec}}}"
    it = world(GIVEN + route("r") + policy("p", balancer))
    assert forward(it).hash_policies == (SOURCES[spec],)
    assert cluster(it).balancing == "Maglev"


def test_a_header_that_cannot_be_hashed_is_left_out_and_told() -> None:
    spec = "{type: ConsistentHash, consistentHash: {type: Header, header: {name: 'a b'}}}"
    it = world(GIVEN + route("r") + policy("p", f"loadBalancer: {spec}"))
    assert (forward(it).hash_policies, cluster(it).balancing) == ((), "RoundRobin")
    assert "spec.loadBalancer.consistentHash: has no effect: header 'a b'" in message(it, "p")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("timeout: {http: {connectionIdleTimeout: 9s}}", {"idle_timeout": 9.0}),
        ("timeout: {tcp: {connectTimeout: 3s}}", {"connect_timeout": 3.0}),
        ("loadBalancer: {type: Random}", {"balancing": "Random"}),
        (
            "loadBalancer: {type: LeastRequest, slowStart: {window: 20s}}",
            {"balancing": "WeightedLeastRequest", "slow_start": nodes.SlowStart(20.0)},
        ),
        (
            "circuitBreaker: {maxConnections: 1, maxPendingRequests: 0, maxParallelRequests: 3, "
            "maxParallelRetries: 4, perEndpoint: {maxConnections: 5}, "
            "retryBudget: {percent: {numerator: 1, denominator: 4}, minRetryConcurrency: 6}}",
            {"limits": nodes.CircuitBreakers(1, 0, 3, 4, 5, 25.0, 6)},
        ),
        (
            "healthCheck: {active: {type: HTTP, timeout: 2s, interval: 5s, unhealthyThreshold: 7, "
            "healthyThreshold: 4, overrides: {port: 99}, "
            "http: {path: /up, hostname: a.com, expectedStatuses: [200, 204]}}}",
            {
                "health_check": nodes.HealthCheck(
                    "/up", "a.com", 5.0, 2.0, 7, 4, ((200, 201), (204, 205))
                ),
                "health_port": 99,
            },
        ),
        (
            "healthCheck: {active: {type: TCP}}",
            {
                "health_check": nodes.HealthCheck(
                    interval=3.0, timeout=1.0, unhealthy_threshold=3, healthy_threshold=1
                )
            },
        ),
        (
            "healthCheck: {passive: {consecutive5XxErrors: 2, consecutiveGatewayErrors: 3, "
            "interval: 4s, baseEjectionTime: 5s, maxEjectionPercent: 60}}",
            {"outliers": nodes.OutlierDetection(2, 3, 4.0, 5.0, None, 60)},
        ),
    ],
)
def test_clusters_are_as_the_policy_says(spec: str, expected: dict[str, Any]) -> None:
    it = world(GIVEN + route("r"))
    plain = cluster(it)
    apply(it, policy("p", spec))
    assert differing(cluster(it), plain) == expected
    assert message(it, "p") == "True/Accepted: the policy applies"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            "rateLimit: {local: {rules: [{limit: {requests: 3, unit: Hour}}]}}",
            nodes.Policies(local_rate_limit=nodes.LocalRateLimit(3, "hour")),
        ),
        ("requestBuffer: {limit: 4Ki}", nodes.Policies(body_limit=4096)),
        ("requestBuffer: {limit: 7}", nodes.Policies(body_limit=7)),
        (
            "responseOverride: [{match: {statusCodes: [{value: 404}, "
            "{type: Range, range: {start: 500, end: 511}}]}, "
            "response: {contentType: a/b, statusCode: 200, body: {inline: text}}}]",
            nodes.Policies(
                error_pages=(nodes.ErrorPage(((404, 405), (500, 512)), "text", "a/b", 200),)
            ),
        ),
    ],
)
def test_routes_stand_behind_what_the_policy_says(spec: str, expected: nodes.Policies) -> None:
    it = world(GIVEN + route("r") + policy("p", spec))
    (found,) = served(it)
    assert found.policies == expected


CLOSING = {
    "rateLimit: {global: {rules: []}}": "spec.rateLimit.global: is not served yet",
    "rateLimit: {local: {rules: [{limit: {requests: 1, unit: Day}}]}}": "limit.unit: is not served",
    "rateLimit: {local: {rules: [{limit: {requests: 0, unit: Hour}}]}}": "must be at least 1",
    "rateLimit: {local: {rules: [{limit: {requests: 1, unit: Hour}}, "
    "{limit: {requests: 1, unit: Hour}}]}}": "has several rules",
    "rateLimit: {local: {rules: [{clientSelectors: [{}], limit: {requests: 1, unit: Hour}}]}}": (
        "spec.rateLimit.local.rules[0].clientSelectors: is not served yet"
    ),
    "bandwidthLimit: {request: {}}": "spec.bandwidthLimit: is not served yet",
    "mergeType: StrategicMerge": "spec.mergeType: is not served yet",
    "requestBuffer: {limit: 4Kb}": "spec.requestBuffer.limit: '4Kb' is no number of bytes",
    "requestBuffer: {limit: 0}": "0 is not between 1 and",
}


@pytest.mark.parametrize("spec", CLOSING)
def test_a_limit_that_cannot_be_kept_closes_the_route(spec: str) -> None:
    it = world(GIVEN + route("r") + policy("p", spec))
    assert applied(it) == ["p 500"]
    assert message(it, "p").startswith("False/Invalid: ")
    assert CLOSING[spec] in message(it, "p")
    delete(it, "BackendTrafficPolicy", "p")
    assert applied(it) == [""]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ("tcpKeepalive: {}", "spec.tcpKeepalive"),
        ("faultInjection: {delay: {fixedDelay: 1s}}", "spec.faultInjection"),
        ("loadBalancer: {type: RoundRobin, zoneAware: {}}", "spec.loadBalancer.zoneAware"),
        ("timeout: {http: {maxStreamDuration: 1s}}", "spec.timeout.http.maxStreamDuration"),
        ("httpUpgrade: [{type: spdy/3.1}]", "spec.httpUpgrade[0].type"),
        ("healthCheck: {active: {type: GRPC}}", "spec.healthCheck.active.type"),
        ("responseOverride: [{match: {}, redirect: {}}]", "spec.responseOverride[0]"),
    ],
)
def test_what_is_not_served_and_limits_nothing_is_told_and_left_out(spec: str, field: str) -> None:
    it = world(GIVEN + route("r") + policy("p", spec))
    assert applied(it) == ["p"]
    assert message(it, "p").startswith("True/Accepted: ")
    assert f"{field}: has no effect" in message(it, "p")


def test_what_the_route_says_of_timeouts_and_retries_comes_first() -> None:
    own = to("s1", "timeouts: {request: 1s}, retry: {attempts: 7}")
    it = world(GIVEN + route("r", own) + policy("p", f"{timing(5)}, retry: {{}}"))
    found = forward(it)
    assert found.timeout == 1.0
    assert found.retry is not None
    assert found.retry.attempts == 7


def test_the_nearest_policy_applies_and_it_alone() -> None:
    it = world(GIVEN + route("r", to("s1", "name: one")) + policy("gw", timing(1), GATEWAY))
    both = f"{timing(2)}, httpUpgrade: [{{type: websocket}}]"
    apply(it, policy("lis", both, part(GATEWAY, "http")))
    assert (forward(it).timeout, forward(it).websockets) == (2.0, True)
    apply(it, policy("route", timing(3)))
    assert (forward(it).timeout, forward(it).websockets) == (3.0, False)
    apply(it, policy("rule", timing(4), part(ROUTE, "one")))
    assert forward(it).timeout == 4.0
    for name, left in (("rule", 3.0), ("route", 2.0), ("lis", 1.0), ("gw", None)):
        delete(it, "BackendTrafficPolicy", name)
        assert forward(it).timeout == left


def test_it_joins_a_security_policy() -> None:
    limit = "rateLimit: {local: {rules: [{limit: {requests: 3, unit: Hour}}]}}"
    it = world(GIVEN + route("r") + guarding("s", allowing("s")) + policy("p", limit, GATEWAY))
    (found,) = served(it)
    assert found.policies is not None
    assert found.policies.access is not None
    assert found.policies.local_rate_limit == nodes.LocalRateLimit(3, "hour")


def test_streams_get_what_concerns_connections() -> None:
    raw = gateway_class() + gateway("gw", listener("tcp", 9000, "TCP")) + service("s1")
    raw += stream_route("TCPRoute", "t", "{name: s1, port: 80}")
    target = "{group: gateway.networking.k8s.io, kind: TCPRoute, name: t}"
    it = world(raw + policy("gw", "timeout: {tcp: {connectTimeout: 3s}}", GATEWAY))
    assert _timeout(it) == 3.0
    hashing = "loadBalancer: {type: ConsistentHash, consistentHash: {type: SourceIP}}"
    apply(it, policy("own", f"timeout: {{tcp: {{connectTimeout: 4s}}}}, {hashing}", target))
    assert _timeout(it) == 4.0
    apply(it, policy("own", "bandwidthLimit: {request: {}}", target))
    assert _timeout(it) is None


def _timeout(engine: Engine) -> float | None:
    at = nodes.HostKey(DEFAULT_FLEET, "tcp-9000", "*")
    (share,) = engine.ask(gateway_hosts.stream_of, at).shares
    return share.cluster.connect_timeout if share.cluster is not None else None

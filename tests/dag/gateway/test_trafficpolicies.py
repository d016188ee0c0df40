"""BackendTrafficPolicies: what they do to routes, clusters and streams, and what is told."""

from dataclasses import fields, replace
from typing import Any

import pytest

from dag import nodes
from dag.engine.incremental import Engine
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import hosts as gateway_hosts
from dag.plan import STATUSES
from dag.statuses import PolicyStatus
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    http,
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


def accepted(engine: Engine, name: str) -> str:
    """The message of the first condition, of a policy that may have others."""
    found = engine.answer(STATUSES["BackendTrafficPolicy"], key(name))
    assert isinstance(found, PolicyStatus)
    return found.ancestors[0].conditions[0].message


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


def checked(**values: Any) -> nodes.HealthCheck:
    """A check with the times of a policy that says none."""
    usual = {"interval": 3.0, "timeout": 1.0, "unhealthy_threshold": 3, "healthy_threshold": 1}
    return nodes.HealthCheck(**{**usual, **values})


def connected(**values: Any) -> dict[str, Any]:
    """What differs of a cluster whose connections are as a policy says."""
    return {"connections": nodes.Connections(**values)}


LIMITED = nodes.LocalLimits((nodes.LocalLimit(3, "Hour", tells=True, tells_by_itself=True),))
RETRY = nodes.Retry(
    ("connect-failure", "refused-stream", "unavailable", "cancelled", "retriable-status-codes"),
    2,
    status_codes=(503,),
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (timing(5), {"timeout": 5.0}),
        ("timeout: {http: {requestTimeout: 0s}}", {"timeout": 0.0, "idle_timeout": 0.0}),
        ("timeout: {http: {streamIdleTimeout: 7s}}", {"idle_timeout": 7.0}),
        ("retry: {}", {"retry": RETRY}),
        ("retry: {retryOn: {}}", {"retry": RETRY}),
        (
            "retry: {retryOn: {httpStatusCodes: [500]}}",
            {"retry": replace(RETRY, status_codes=(500,))},
        ),
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
        (
            "retry: {numAttemptsPerPriority: 1}",
            {"retry": replace(RETRY, per_priority=1)},
        ),
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
    "{type: Cookie, cookie: {name: c, attributes: {Secure: '', SameSite: Strict}}}": (
        nodes.HashPolicy("Cookie", "c", None, "/", (("SameSite", "Strict"), ("Secure", "")))
    ),
    "{type: QueryParams, queryParams: [{name: q}]}": nodes.HashPolicy("Query", "q"),
}


@pytest.mark.parametrize("spec", SOURCES)
def test_requests_are_hashed_by_what_the_policy_names(spec: str) -> None:
    balancer = f"loadBalancer: {{type: ConsistentHash, consistentHash: {spec}}}"
    it = world(GIVEN + route("r") + policy("p", balancer))
    assert forward(it).hash_policies == (SOURCES[spec],)
    assert cluster(it).balancing == "Maglev"


@pytest.mark.parametrize(("protocol", "is_checked"), [("kubernetes.io/h2c", True), ("http", False)])
def test_backends_that_speak_http2_are_asked_by_grpc(protocol: str, *, is_checked: bool) -> None:
    spec = "healthCheck: {active: {type: GRPC, grpc: {service: a}}}"
    it = world(GIVEN + route("r") + policy("p", spec))
    again = service("s1").replace("port: 80", f"port: 80, appProtocol: {protocol}")
    apply(it, again)
    expected = checked(grpc_service="a") if is_checked else None
    assert cluster(it).health_check == expected
    where = "spec.healthCheck.active.type: has no effect on backends of HTTPRoute default/r:"
    assert (where in message(it, "p")) != is_checked


@pytest.mark.parametrize("target", [GATEWAY, part(GATEWAY, "http")])
def test_who_cannot_be_asked_by_grpc_is_told_to_the_policy_that_applies(target: str) -> None:
    spec = "healthCheck: {active: {type: GRPC}}"
    it = world(GIVEN + route("r") + policy("p", spec, target))
    assert "HTTPRoute default/r" in accepted(it, "p")
    apply(it, policy("merged", "mergeType: StrategicMerge, retry: {}"))
    assert "has no effect" not in accepted(it, "p")
    assert "healthCheck.active.type: has no effect on backends" in accepted(it, "merged")
    apply(it, policy("merged", "retry: {}"))
    assert "has no effect" not in accepted(it, "p") + accepted(it, "merged")
    delete(it, "BackendTrafficPolicy", "merged")
    assert "HTTPRoute default/r" in accepted(it, "p")
    apply(it, service("s1").replace("port: 80", "port: 80, appProtocol: kubernetes.io/h2c"))
    assert accepted(it, "p") == "the policy applies"


def test_what_a_policy_does_not_say_of_checks_is_no_matter_of_its_status_at_each_route() -> None:
    runs: dict[int, int] = {}
    for number in (1, 5):
        routes = "".join(route(f"r{it}", hosts=(f"{it}.com",)) for it in range(number))
        it = world(GIVEN + routes + policy("p", timing(1), GATEWAY))
        before = it.work.runs
        apply(it, policy("p", timing(2), GATEWAY))
        runs[number] = it.work.runs - before
    assert runs[5] - runs[1] == 4 * 2  # the routes of each host, and the host


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
            {
                "limits": nodes.CircuitBreakers(1, 0, 3, 4, 5),
                "retry_budget": nodes.RetryBudget(25.0, always=6),
            },
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
        (
            "healthCheck: {panicThreshold: 40, passive: {splitExternalLocalOriginErrors: true, "
            "consecutiveLocalOriginFailures: 2, failurePercentageThreshold: 80, "
            "alwaysEjectOneEndpoint: true}}",
            {
                "panic_percent": 40,
                "outliers": nodes.OutlierDetection(5, None, 3.0, 30.0, None, 10, 2, 80, True),
            },
        ),
        (
            "healthCheck: {active: {type: HTTP, initialJitter: 2s, http: {path: /up, method: HEAD, "
            "retriableStatuses: [503]}}}",
            {
                "health_check": nodes.HealthCheck(
                    "/up", "", 3.0, 1.0, 3, 1, (), ((503, 504),), "HEAD", 2.0
                )
            },
        ),
        (
            "healthCheck: {active: {type: HTTP, http: {path: /up, method: POST, "
            "requestBody: {type: Text, text: ü}, expectedResponse: {type: Binary, binary: AAE=}}}}",
            {
                "health_check": checked(
                    path="/up", method="POST", sent="ü".encode(), expected=b"\0\1"
                )
            },
        ),
        (
            "healthCheck: {active: {type: HTTP, http: {path: /up, method: patch}}}",
            {"health_check": checked(path="/up", method="PATCH")},
        ),
        (
            "healthCheck: {active: {type: TCP, tcp: {send: {type: Text, text: a}, "
            "receive: {type: Text, text: b}}}}",
            {"health_check": checked(sent=b"a", expected=b"b")},
        ),
        (
            "loadBalancer: {type: ConsistentHash, "
            "consistentHash: {type: SourceIP, tableSize: 131}}",
            {"balancing": "Maglev", "table_size": 131},
        ),
        ("tcpKeepalive: {}", connected(keepalive=nodes.Keepalive(9, 7200, 75))),
        (
            "tcpKeepalive: {probes: 3, idleTime: 90s, interval: 4s}",
            connected(keepalive=nodes.Keepalive(3, 90, 4)),
        ),
        ("connection: {bufferLimit: 64Ki}", connected(buffer_limit=65536)),
        ("connection: {socketBufferLimit: 64Ki}", connected(kernel_buffer=65536)),
        ("useClientProtocol: true", connected(follows_client=True)),
        ("useClientProtocol: false", {}),
        (
            "connection: {preconnect: {perEndpointPercent: 150, predictivePercent: 200}}",
            connected(preconnect=nodes.Preconnect(1.5, 2.0)),
        ),
        (
            "circuitBreaker: {maxRequestsPerConnection: 7}",
            {"limits": nodes.CircuitBreakers(1024, 1024, 1024, 1024)} | connected(max_requests=7),
        ),
        (
            "timeout: {http: {maxConnectionDuration: 1m, maxStreamDuration: 5s}}",
            connected(max_age=60.0, max_stream=5.0),
        ),
        ("proxyProtocol: {version: V2}", connected(proxy_protocol="V2")),
        (
            "http2: {initialStreamWindowSize: 64Ki, initialConnectionWindowSize: 1Mi, "
            "maxConcurrentStreams: 5, onInvalidMessage: TerminateStream, "
            "connectionKeepalive: {interval: 10s}}",
            connected(
                http2=nodes.Http2(65536, 1048576, 5, True, nodes.Pings(10.0, 20.0, 15, None))
            ),
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
            nodes.Policies(local_rate_limit=LIMITED),
        ),
        ("requestBuffer: {limit: 4Ki}", nodes.Policies(body_limit=4096)),
        ("requestBuffer: {limit: 7}", nodes.Policies(body_limit=7)),
        (
            "faultInjection: {delay: {fixedDelay: 2s, percentage: 0.5}, "
            "abort: {httpStatus: 501, percentage: 33.3333}}",
            nodes.Policies(fault=nodes.Fault(2.0, 5000, 501, None, 333_333)),
        ),
        (
            "faultInjection: {delay: {fixedDelay: 2s}, abort: {grpcStatus: 14, percentage: 0}}",
            nodes.Policies(fault=nodes.Fault(2.0)),
        ),
        (
            "faultInjection: {delay: {fixedDelay: 0s}, abort: {grpcStatus: 14, percentage: 101}}",
            nodes.Policies(fault=nodes.Fault(grpc_status=14)),
        ),
        (
            "compressor: [{type: Zstd}, {type: Brotli, brotli: {}, minContentLength: 1Ki}]",
            nodes.Policies(
                compressors=(nodes.Compressor("zstd"), nodes.Compressor("brotli", 1024))
            ),
        ),
        ("compression: [{type: Gzip}]", nodes.Policies(compressors=(nodes.Compressor("gzip"),))),
        (
            "compression: [{type: Gzip}], compressor: [{type: Brotli}]",
            nodes.Policies(compressors=(nodes.Compressor("brotli"),)),
        ),
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


PAGE = nodes.ErrorPage(((404, 405),))
MAP = """---
apiVersion: v1
kind: ConfigMap
metadata: {name: pages}
data: {response.body: stored}
"""
LOCATION = (
    nodes.Operator("REQ", "x-forwarded-proto"),
    "://",
    nodes.requested("authority"),
    nodes.requested("path"),
)


def replacing(response: str, more: str = "source: All") -> str:
    match = "{statusCodes: [{value: 404}]}"
    return f"responseOverride: [{{match: {match}, response: {{{response}}}, {more}}}]"


def redirecting(redirect: str) -> str:
    match = "{statusCodes: [{value: 404}]}"
    return f"responseOverride: [{{match: {match}, redirect: {{{redirect}}}}}]"


def located(*pieces: str | nodes.Operator, status: int = 302) -> nodes.ErrorPage:
    changes = nodes.HeaderPolicy(set=(("location", nodes.Format(pieces)),))
    return replace(PAGE, content_type="", status=status, changes=changes)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (replacing(""), PAGE),
        (
            replacing(
                "body: {type: ValueRef, valueRef: {group: '', kind: ConfigMap, name: pages}}"
            ),
            replace(PAGE, body="stored"),
        ),
        (
            replacing("body: {inline: '100% of %REQ(x-a)%'}"),
            replace(PAGE, body=nodes.Format(("100% of ", nodes.Operator("REQ", "x-a")))),
        ),
        (
            replacing("header: {set: [{name: X-A, value: '%'}], add: [{name: b, value: c}]}"),
            replace(PAGE, changes=nodes.HeaderPolicy((("x-a", "%"),), (("b", "c"),))),
        ),
        (
            "responseOverride: [{match: {responseHeaders: [{name: X-A, value: {value: b}}, "
            "{name: c, value: {type: RegularExpression, value: 'd.'}}]}, response: {}}]",
            replace(
                PAGE,
                statuses=(),
                headers=(
                    nodes.HeaderMatch("x-a", nodes.ValueMatch("exact", "b")),
                    nodes.HeaderMatch("c", nodes.ValueMatch("regex", "d.")),
                ),
            ),
        ),
        (replacing("", "source: Local"), replace(PAGE, source="envoy")),
        (replacing("", "source: Backend"), replace(PAGE, source="backend")),
        (replacing("", "source: All"), PAGE),
        (redirecting(""), located(*LOCATION)),
        (
            redirecting(
                "scheme: https, hostname: a.com, port: 443, statusCode: 301, "
                "path: {type: ReplaceFullPath, replaceFullPath: /b}"
            ),
            located("https", "://", "a.com", "/b", status=301),
        ),
        (
            redirecting("port: 81"),
            located(
                *LOCATION[:2],
                nodes.requested("name"),
                ":81",
                LOCATION[3],
            ),
        ),
    ],
)
def test_answers_are_replaced_as_the_policy_says(spec: str, expected: nodes.ErrorPage) -> None:
    it = world(GIVEN + MAP + route("r") + policy("p", spec))
    (found,) = served(it)
    assert found.policies == nodes.Policies(error_pages=(expected,))
    assert message(it, "p") == "True/Accepted: the policy applies"


def test_a_body_is_followed_in_its_config_map() -> None:
    body = "body: {type: ValueRef, valueRef: {group: '', kind: ConfigMap, name: pages}}"
    it = world(GIVEN + route("r") + policy("p", replacing(body)))
    assert served(it)[0].policies is None
    apply(it, MAP)
    assert served(it)[0].policies == nodes.Policies(error_pages=(replace(PAGE, body="stored"),))


CLOSING = {
    "bandwidthLimit: {request: {}}": "spec.bandwidthLimit: is not served yet",
    "mergeType: Replace": "spec.mergeType: 'Replace'",
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
        ("connection: {socketBufferLimit: 0}", "spec.connection.socketBufferLimit"),
        ("connection: {bufferLimit: 1Kb}", "spec.connection.bufferLimit"),
        (
            "connection: {preconnect: {predictivePercent: 301}}",
            "spec.connection.preconnect.predictivePercent",
        ),
        ("http2: {initialStreamWindowSize: 1}", "spec.http2.initialStreamWindowSize"),
        (
            "http2: {connectionKeepalive: {interval: 0s}}",
            "spec.http2.connectionKeepalive.interval",
        ),
        ("dns: {dnsRefreshRate: 1ms}", "spec.dns.dnsRefreshRate"),
        ("faultInjection: {abort: {httpStatus: 600}}", "spec.faultInjection.abort.httpStatus"),
        ("compressor: [{type: Gzip}, {type: Gzip}]", "spec.compressor[1]"),
        (
            "compression: [{type: Gzip, minContentLength: 29}]",
            "spec.compression[0].minContentLength",
        ),
        ("loadBalancer: {type: RoundRobin, zoneAware: {}}", "spec.loadBalancer.zoneAware"),
        ("httpUpgrade: [{type: spdy/3.1}]", "spec.httpUpgrade[0].type"),
        (
            "loadBalancer: {type: ConsistentHash, consistentHash: {type: SourceIP, tableSize: 9}}",
            "spec.loadBalancer.consistentHash.tableSize",
        ),
        (
            "loadBalancer: {type: ConsistentHash, consistentHash: {type: Cookie, "
            "cookie: {name: c, attributes: {a: 'b;c'}}}}",
            "spec.loadBalancer.consistentHash.cookie.attributes",
        ),
        (
            "loadBalancer: {type: ConsistentHash, consistentHash: {type: Cookie, "
            'cookie: {name: "c\\r\\nd", ttl: 1m}}}',
            "spec.loadBalancer.consistentHash.cookie.name",
        ),
        (
            'healthCheck: {active: {type: HTTP, http: {path: "/a\\nb"}}}',
            "spec.healthCheck.active.http.path",
        ),
        (
            'healthCheck: {active: {type: HTTP, http: {path: /, hostname: "a\\nb"}}}',
            "spec.healthCheck.active.http.hostname",
        ),
        ("responseOverride: [{match: {}, redirect: {}}]", "spec.responseOverride[0].match"),
        ("responseOverride: [{match: {statusCodes: [{value: 404}]}}]", "spec.responseOverride[0]"),
        (
            replacing("body: {type: ValueRef, valueRef: {group: '', kind: ConfigMap, name: gone}}"),
            "spec.responseOverride[0].response.body.valueRef",
        ),
        (
            replacing("body: {type: ValueRef, valueRef: {group: '', kind: Secret, name: gone}}"),
            "spec.responseOverride[0].response.body.valueRef.kind",
        ),
        (
            replacing("header: {set: [{name: Content-Length, value: a}]}"),
            "spec.responseOverride[0].response.header.set[0]",
        ),
        (
            replacing("header: {remove: [a]}"),
            "spec.responseOverride[0].response.header.remove",
        ),
        (
            "responseOverride: [{match: {responseHeaders: [{name: a, "
            "value: {type: RegularExpression, value: '('}}]}, response: {}}]",
            "spec.responseOverride[0].match.responseHeaders[0].value.value",
        ),
        (
            "responseOverride: [{match: {statusCodes: [{value: 404}]}, "
            "redirect: {path: {type: ReplaceFullPath, replaceFullPath: a}}}]",
            "spec.responseOverride[0].redirect.path.replaceFullPath",
        ),
        (replacing("statusCode: 199"), "spec.responseOverride[0].response.statusCode"),
        (
            replacing("statusCode: 204, body: {inline: a}"),
            "spec.responseOverride[0].response.body",
        ),
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


@pytest.mark.parametrize(
    ("rest", "target"), [("", ROUTE), ("", GATEWAY), ("mergeType: StrategicMerge, ", ROUTE)]
)
def test_a_route_that_wants_no_retries_gets_none_of_a_policy(rest: str, target: str) -> None:
    it = world(
        GIVEN
        + route("r", to("s1", "retry: {attempts: 0}"))
        + policy("p", f"{rest}retry: {{}}", target)
    )
    assert applied(it) == ["p"]
    assert forward(it).retry == nodes.Retry((), 0)


RETRIES = "retry: {numRetries: 2}"


@pytest.mark.parametrize(
    ("rule", "spec", "whole", "each"),
    [
        ("timeouts: {request: 10s, backendRequest: 1s}", RETRIES, 10.0, 1.0),
        ("timeouts: {backendRequest: 1s}", RETRIES, 0.0, 1.0),
        ("timeouts: {backendRequest: 1s}", f"{RETRIES}, {timing(5)}", 5.0, 1.0),
        ("timeouts: {request: 10s}", f"{RETRIES}, {timing(5)}", 10.0, None),
        (
            "timeouts: {backendRequest: 1s}",
            f"{RETRIES[:-1]}, perRetry: {{timeout: 2s}}}}",
            0.0,
            1.0,
        ),
        (
            "timeouts: {backendRequest: 0s}",
            f"{RETRIES[:-1]}, perRetry: {{timeout: 2s}}}}",
            0.0,
            None,
        ),
        ("timeouts: {backendRequest: 20s}, retry: {attempts: 1}", "retry: {}", 0.0, 20.0),
        ("timeouts: {backendRequest: 20s}, retry: {attempts: 1}", timing(30), 30.0, 20.0),
        ("timeouts: {backendRequest: 0s}, retry: {attempts: 1}", "httpUpgrade: []", 0.0, None),
        ("retry: {attempts: 1}", "httpUpgrade: []", None, None),
        ("timeouts: {backendRequest: 20s}", timing(5), 5.0, None),
        ("timeouts: {backendRequest: 2s}", timing(5), 2.0, None),
        ("timeouts: {backendRequest: 2s}, retry: {attempts: 0}", RETRIES, 2.0, None),
        ("timeouts: {backendRequest: 2s}", "retry: {numRetries: 0}", 2.0, None),
        (
            "timeouts: {backendRequest: 2s}",
            "retry: {numRetries: 0, perRetry: {timeout: 1s}}",
            2.0,
            None,
        ),
    ],
)
def test_each_try_of_a_request_and_all_of_them_have_their_limits(
    rule: str, spec: str, whole: float | None, each: float | None
) -> None:
    it = world(GIVEN + route("r", to("s1", rule)) + policy("p", spec))
    found = forward(it)
    assert (found.timeout, found.try_timeout) == (whole, None)
    assert (found.retry.per_try_timeout if found.retry is not None else None) == each


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
    assert found.policies.local_rate_limit == LIMITED


UNKEPT = "bandwidthLimit: {request: {}}"


def test_streams_get_what_concerns_connections() -> None:
    raw = gateway_class() + gateway("gw", listener("tcp", 9000, "TCP")) + service("s1")
    raw += stream_route("TCPRoute", "t", "{name: s1, port: 80}")
    target = "{group: gateway.networking.k8s.io, kind: TCPRoute, name: t}"
    it = world(raw + policy("gw", "timeout: {tcp: {connectTimeout: 3s}}", GATEWAY))
    assert _timeout(it) == 3.0
    hashing = "loadBalancer: {type: ConsistentHash, consistentHash: {type: SourceIP}}"
    apply(it, policy("own", f"timeout: {{tcp: {{connectTimeout: 4s}}}}, {hashing}", target))
    assert _timeout(it) == 4.0
    apply(it, policy("own", UNKEPT, target))
    assert _timeout(it) is None


RAW = "{group: gateway.networking.k8s.io, kind: TCPRoute, name: t}"
FIVE_SECONDS = "timeout: {tcp: {connectTimeout: 5s}}"


@pytest.mark.parametrize(
    ("wider", "section", "spec", "expected"),
    [
        (RAW, "x", FIVE_SECONDS, 5.0),
        (RAW, "x", UNKEPT, None),
        (GATEWAY, "x", FIVE_SECONDS, 5.0),
        (GATEWAY, "nope", FIVE_SECONDS, 4.0),
        (GATEWAY, "nope", UNKEPT, 4.0),
    ],
)
def test_the_policy_for_the_rule_of_a_stream_holds_before_wider_ones(
    wider: str, section: str, spec: str, expected: float | None
) -> None:
    raw = gateway_class() + gateway("gw", listener("tcp", 9000, "TCP")) + service("s1")
    raw += stream_route("TCPRoute", "t", "{name: s1, port: 80}").replace(
        "[{back", "[{name: x, back"
    )
    it = world(
        raw
        + policy("wider", "timeout: {tcp: {connectTimeout: 4s}}", wider)
        + policy("rule", spec, RAW.replace("}", f", sectionName: {section}}}"))
    )
    assert _timeout(it) == expected


OF_REQUESTS = {
    "timeout.http.requestTimeout": "timeout: {http: {requestTimeout: 1s}}",
    "timeout.http.streamIdleTimeout": "timeout: {http: {streamIdleTimeout: 1s}}",
    "timeout.http.maxStreamDuration": "timeout: {http: {maxStreamDuration: 1s}}",
    "timeout.http.connectionIdleTimeout": "timeout: {http: {connectionIdleTimeout: 1s}}",
    "timeout.http.maxConnectionDuration": "timeout: {http: {maxConnectionDuration: 1s}}",
    "loadBalancer.consistentHash": (
        "loadBalancer: {type: ConsistentHash, consistentHash: {type: SourceIP}}"
    ),
    "circuitBreaker.maxParallelRequests": "circuitBreaker: {maxParallelRequests: 3}",
    "circuitBreaker.maxParallelRetries": "circuitBreaker: {maxParallelRetries: 3}",
    "circuitBreaker.maxRequestsPerConnection": "circuitBreaker: {maxRequestsPerConnection: 3}",
    "circuitBreaker.retryBudget": "circuitBreaker: {retryBudget: {percent: {numerator: 5}}}",
    "retry": "retry: {}",
    "rateLimit": "rateLimit: {local: {rules: [{limit: {requests: 3, unit: Hour}}]}}",
    "requestBuffer": "requestBuffer: {limit: 1Ki}",
    "responseOverride": "responseOverride: [{match: {statusCodes: [{value: 404}]}, response: {}}]",
    "httpUpgrade": "httpUpgrade: [{type: websocket}]",
    "faultInjection": "faultInjection: {abort: {httpStatus: 503}}",
    "compression": "compression: [{type: Gzip}]",
    "compressor": "compressor: [{type: Gzip}]",
    "http2": "http2: {maxConcurrentStreams: 3}",
    "useClientProtocol": "useClientProtocol: true",
}


@pytest.mark.parametrize("field", OF_REQUESTS)
def test_what_a_policy_says_of_requests_is_told_where_it_is_for_streams(field: str) -> None:
    given = GIVEN.replace(gateway("gw"), gateway("gw", http(), listener("tcp", 9000, "TCP")))
    stream = stream_route("TCPRoute", "t", "{name: s1, port: 80}")
    it = world(given + route("r") + policy("p", OF_REQUESTS[field], GATEWAY))
    plain = accepted(it, "p")
    assert f"spec.{field}: has no effect" not in plain
    apply(it, stream)
    told = f"spec.{field}: has no effect on TCPRoutes, whose connections have no requests"
    assert told in accepted(it, "p")
    own = "{group: gateway.networking.k8s.io, kind: TCPRoute, name: t}"
    apply(it, policy("own", f"{OF_REQUESTS[field]}, connection: {{bufferLimit: 1Mi}}", own))
    assert told in accepted(it, "own")
    assert told not in accepted(it, "p")
    delete(it, "TCPRoute", "t")
    assert accepted(it, "p") == plain


def test_what_a_policy_says_of_connections_holds_for_streams_in_silence() -> None:
    raw = gateway_class() + gateway("gw", listener("tcp", 9000, "TCP")) + service("s1")
    raw += stream_route("TCPRoute", "t", "{name: s1, port: 80}")
    limits = (
        "circuitBreaker: {maxConnections: 7, maxPendingRequests: 7, maxParallelRequests: 1024,"
        " maxParallelRetries: 1024}"
    )
    checks = "timeout: {tcp: {connectTimeout: 3s}}, healthCheck: {active: {type: TCP}}"
    it = world(raw + policy("p", f"{checks}, {limits}", GATEWAY))
    assert message(it, "p") == "True/Accepted: the policy applies"


def test_what_holds_for_datagrams_holds_in_silence() -> None:
    raw = gateway_class() + gateway("gw", listener("udp", 9000, "UDP")) + service("s1")
    raw += stream_route("UDPRoute", "u", "{name: s1, port: 80}")
    spec = "circuitBreaker: {maxConnections: 7}, loadBalancer: {type: Random}"
    checks = "healthCheck: {active: {type: TCP, overrides: {port: 8080}}}"
    it = world(raw + policy("p", f"{spec}, {checks}", GATEWAY))
    assert message(it, "p") == "True/Accepted: the policy applies"


@pytest.mark.parametrize(
    "target", [GATEWAY, GATEWAY.replace("kind: Gateway, name: gw", "kind: UDPRoute, name: u")]
)
@pytest.mark.parametrize(("overrides", "is_checked"), [("{}", False), ("{port: 8080}", True)])
def test_a_port_of_udp_is_not_checked_over_tcp(
    target: str, overrides: str, *, is_checked: bool
) -> None:
    raw = gateway_class() + gateway("gw", listener("udp", 9000, "UDP"))
    raw += service("s1", port="port: 80, protocol: UDP")
    raw += stream_route("UDPRoute", "u", "{name: s1, port: 80}")
    spec = f"healthCheck: {{active: {{type: TCP, overrides: {overrides}}}}}"
    it = world(raw + policy("p", spec, target))
    found = it.answer(gateway_hosts.stream_of, nodes.HostKey(DEFAULT_FLEET, "udp-9000", "*"))
    assert found is not None
    assert [share.cluster.health_check is not None for share in found.shares if share.cluster] == [
        is_checked
    ]
    assert (
        "spec.healthCheck.active: has no effect on UDPRoutes" in accepted(it, "p")
    ) != is_checked


HASHING = "loadBalancer: {type: ConsistentHash, consistentHash: {type: %s}}"
UNMET = [
    (HASHING % "Header", "loadBalancer.consistentHash: has no effect: header must be set"),
    (HASHING % "Headers", "loadBalancer.consistentHash: has no effect: headers must be set"),
    (HASHING % "Cookie", "loadBalancer.consistentHash: has no effect: cookie must be set"),
    (HASHING % "QueryParams", "consistentHash: has no effect: queryParams must be set"),
    (HASHING % "SourceIP, header: {name: a}", "consistentHash.header: has no effect: it is not"),
    ("loadBalancer: {type: Random, slowStart: {window: 3s}}", "slowStart: has no effect: it is"),
    ("loadBalancer: {type: LeastRequest}, connection: {preconnect: {predictivePercent: 200}}",
     "spec.connection.preconnect.predictivePercent: has no effect: which endpoint is next"),
    ("retry: {retryOn: {triggers: [5xx, 'reset,5xx']}}",
     "spec.retry.retryOn.triggers[1]: has no effect: Envoy knows no failure 'reset,5xx'"),
    ("retry: {retryOn: {triggers: [retriable-status-codes]}}",
     "spec.retry.retryOn.triggers[0]: has no effect: httpStatusCodes must be set, too"),
    ("retry: {perRetry: {backOff: {maxInterval: 1s}}}", "maxInterval: has no effect: baseInterval"),
    ("retry: {perRetry: {backOff: {baseInterval: 5s, maxInterval: 1s}}}",
     "spec.retry.perRetry.backOff.maxInterval: has no effect: it is shorter"),
    ("healthCheck: {active: {type: HTTP, http: {path: /, requestBody: {type: Text, text: a}}}}",
     "spec.healthCheck.active.http.requestBody: has no effect: the method GET has no body"),
    ("healthCheck: {active: {type: TCP, grpc: {}}}", "active.grpc: has no effect: it is not for"),
    ("http2: {connectionKeepalive: {timeout: 2s}}",
     "spec.http2.connectionKeepalive: has no effect: interval or idleInterval must be set"),
    ("httpUpgrade: [{type: websocket}], requestBuffer: {limit: 1Ki}",
     "spec.httpUpgrade[0]: has no effect: requestBuffer has Envoy read each request whole"),
    ("compression: [{type: Gzip}], compressor: [{type: Brotli}]",
     "spec.compression: has no effect: compressor replaces it"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "words"), UNMET)
def test_a_field_without_effect_beside_others_is_told(spec: str, words: str) -> None:
    assert words in message(world(GIVEN + route("r") + policy("p", spec)), "p")


def test_failures_that_envoy_does_not_know_are_left_out() -> None:
    spec = "retry: {retryOn: {triggers: [5xx, 'reset,5xx']}}"
    assert forward(world(GIVEN + route("r") + policy("p", spec))).retry == nodes.Retry(("5xx",), 2)


def test_a_route_whose_requests_are_read_whole_takes_no_websockets() -> None:
    speaks = GIVEN.replace("port: 80}", "port: 80, appProtocol: kubernetes.io/ws}")
    it = world(speaks + route("r") + policy("p", "httpUpgrade: [{type: websocket}]"))
    assert forward(it).websockets
    apply(it, policy("p", "requestBuffer: {limit: 1Ki}"))
    assert not forward(it).websockets


@pytest.mark.parametrize("target", [ROUTE, GATEWAY], ids=["route", "gateway"])
@pytest.mark.parametrize(
    ("kind", "protocol", "words"),
    [
        ("HTTPRoute", "http", "the policy applies"),
        ("HTTPRoute", "kubernetes.io/ws", "so HTTPRoute default/r takes no WebSockets"),
        ("GRPCRoute", "http", "calls to GRPCRoute default/r whose clients stream"),
    ],
)
def test_conversations_on_a_route_whose_requests_are_read_whole_are_told(
    kind: str, protocol: str, words: str, target: str
) -> None:
    speaks = GIVEN.replace("port: 80}", f"port: 80, appProtocol: {protocol}}}")
    made = route("r").replace("HTTPRoute", kind)
    buffered = policy("p", "requestBuffer: {limit: 1Ki}", target.replace("HTTPRoute", kind))
    it = world(speaks + made + buffered)
    assert words in message(it, "p")
    assert ("spec.requestBuffer" in message(it, "p")) is (words != "the policy applies")
    apply(it, policy("p", "retry: {}", target.replace("HTTPRoute", kind)))
    assert message(it, "p") == "True/Accepted: the policy applies"


MET = [
    HASHING % "Header, header: {name: a}",
    HASHING % "SourceIP",
    "loadBalancer: {type: RoundRobin, slowStart: {window: 3s}}",
    "loadBalancer: {type: Random}, connection: {preconnect: {predictivePercent: 200}}",
    "loadBalancer: {type: LeastRequest}, connection: {preconnect: {perEndpointPercent: 200}}",
    "retry: {perRetry: {backOff: {baseInterval: 1s, maxInterval: 1s}}}",
    "http2: {connectionKeepalive: {idleInterval: 2s}}",
    "httpUpgrade: [{type: WebSocket}]",
    "healthCheck: {active: {type: HTTP, http: {path: /, method: Put,"
    " requestBody: {type: Text, text: a}}}}",
]


@pytest.mark.parametrize("spec", MET)
def test_a_field_that_has_what_it_needs_is_served_in_silence(spec: str) -> None:
    it = world(GIVEN + route("r") + policy("p", spec))
    assert message(it, "p") == "True/Accepted: the policy applies"


OF_TCP = {
    "timeout.tcp.connectTimeout": "timeout: {tcp: {connectTimeout: 3s}}",
    "connection.bufferLimit": "connection: {bufferLimit: 1Mi}",
    "connection.socketBufferLimit": "connection: {socketBufferLimit: 64Ki}",
    "connection.preconnect": "connection: {preconnect: {perEndpointPercent: 150}}",
    "circuitBreaker.maxPendingRequests": "circuitBreaker: {maxPendingRequests: 3}",
    "circuitBreaker.perEndpoint": "circuitBreaker: {perEndpoint: {maxConnections: 3}}",
    "healthCheck.passive": "healthCheck: {passive: {}}",
    "healthCheck.active": "healthCheck: {active: {type: TCP}}",
    "tcpKeepalive": "tcpKeepalive: {probes: 3}",
    "proxyProtocol": "proxyProtocol: {version: V1}",
}


@pytest.mark.parametrize("field", OF_TCP)
def test_what_a_policy_says_of_tcp_is_told_where_it_is_for_datagrams(field: str) -> None:
    ports = listener("tcp", 9000, "TCP"), listener("udp", 9000, "UDP")
    given = gateway_class() + gateway("gw", *ports) + service("s1")
    given += stream_route("TCPRoute", "t", "{name: s1, port: 80}")
    it = world(given + policy("p", OF_TCP[field], GATEWAY))
    assert message(it, "p") == "True/Accepted: the policy applies"
    apply(it, stream_route("UDPRoute", "u", "{name: s1, port: 80}"))
    told = f"spec.{field}: has no effect on UDPRoutes, whose backends get packets of UDP"
    assert told in accepted(it, "p")
    delete(it, "UDPRoute", "u")
    assert message(it, "p") == "True/Accepted: the policy applies"


@pytest.mark.parametrize("kind", ["BackendTrafficPolicy", "EnvoyExtensionPolicy"])
@pytest.mark.parametrize("section", ["", "sectionName: tcp"])
def test_what_closes_a_listener_closes_its_streams(kind: str, section: str) -> None:
    raw = gateway_class() + gateway("gw", listener("tcp", 9000, "TCP")) + service("s1")
    raw += stream_route("TCPRoute", "t", "{name: s1, port: 80}")
    closing = UNKEPT if kind == "BackendTrafficPolicy" else "lua: [{}]"
    target = GATEWAY.replace("}", f", {section}}}") if section else GATEWAY
    closed = guarding("gw", closing, target).replace("SecurityPolicy", kind)
    it = world(raw + closed)
    assert not _leads_on(it)
    own = "{group: gateway.networking.k8s.io, kind: TCPRoute, name: t}"
    apply(it, policy("own", "timeout: {tcp: {connectTimeout: 4s}}", own))
    assert _leads_on(it) == (kind == "BackendTrafficPolicy")
    delete(it, "BackendTrafficPolicy", "own")
    delete(it, kind, "gw")
    assert _leads_on(it)


def _leads_on(engine: Engine) -> bool:
    at = nodes.HostKey(DEFAULT_FLEET, "tcp-9000", "*")
    return all(it.cluster is not None for it in engine.ask(gateway_hosts.stream_of, at).shares)


def _timeout(engine: Engine) -> float | None:
    at = nodes.HostKey(DEFAULT_FLEET, "tcp-9000", "*")
    (share,) = engine.ask(gateway_hosts.stream_of, at).shares
    return share.cluster.connect_timeout if share.cluster is not None else None


@pytest.mark.parametrize(("group", "kind"), [("''", "Service"), ("example.com", "Unknown")])
def test_an_object_that_is_no_target_is_told(group: str, kind: str) -> None:
    target = f"{{group: {group}, kind: {kind}, name: s1}}"
    it = world(GIVEN + policy("a", timing(1), target))
    assert message(it, "a").startswith("False/TargetNotFound: spec.targetRefs[0]: ")

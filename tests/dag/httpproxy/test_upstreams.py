"""What Envoy keeps for each Service of a route: checks, mirrors, cookies, redirects it follows."""

import pytest

from crds.meta import NamespacedName
from dag import nodes
from tests.dag.httpproxy import served
from tests.dag.httpproxy.manifests import configuration, root, services, tls_root, to
from tests.dag.world import messages, world
from tests.testbed import pairs


def service(rest: str, route: str = "") -> str:
    return f"{{services: [{{name: s1, port: 80, {rest}}}]{', ' + route if route else ''}}}"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("{path: /up}", nodes.HealthCheck("/up", "contour-envoy-healthcheck")),
        (
            "{path: /up, host: b.com, intervalSeconds: 5, timeoutSeconds: 1, "
            "unhealthyThresholdCount: 7, healthyThresholdCount: 8, "
            "expectedStatuses: [{start: 200, end: 300}]}",
            nodes.HealthCheck("/up", "b.com", 5.0, 1.0, 7, 8, ((200, 300),)),
        ),
        (
            "{path: /up, timeoutSeconds: 600}",
            nodes.HealthCheck("/up", "contour-envoy-healthcheck", timeout=60.0),
        ),
    ],
)
def test_endpoints_are_asked_whether_they_work(policy: str, expected: nodes.HealthCheck) -> None:
    found = served.cluster(service("healthPort: 8080", f"healthCheckPolicy: {policy}"))
    assert (found.health_check, found.health_port) == (expected, 8080)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (80, None),
        (81, nodes.ServicePort(NamespacedName("default", "two"), 81, "health")),
        (82, 82),  # for UDP
        (83, 83),
    ],
)
def test_health_is_asked_for_at_a_port_of_the_service(
    number: int, expected: nodes.ServicePort | int | None
) -> None:
    ports = "{name: web, port: 80}, {name: health, port: 81}, {name: u, port: 82, protocol: UDP}"
    two = services("two").replace("{port: 80}", ports)
    to_two = f"services: [{{name: two, port: 80, healthPort: {number}}}]"
    found = served.cluster(f"{{{to_two}, healthCheckPolicy: {{path: /}}}}", two)
    assert found.health_port == expected


@pytest.mark.parametrize(
    "policy",
    [
        "{path: up}",
        "{path: /up, intervalSeconds: -1}",
        "{path: /up, timeoutSeconds: 90000}",
        "{path: /up, expectedStatuses: [{start: 300, end: 300}]}",
        '{path: "/a\\r\\nb"}',
    ],
)
def test_a_check_that_makes_no_sense_drops_its_route_alone(policy: str) -> None:
    (told,) = served.refusals(to("s1", f"healthCheckPolicy: {policy}"))
    assert told.startswith("RouteError/HealthCheckPolicyInvalid: spec.routes[0].healthCheckPolicy")


def test_answers_count_against_an_endpoint() -> None:
    policy = (
        "{consecutiveServerErrors: 3, interval: 1s, baseEjectionTime: 5s, maxEjectionPercent: 50}"
    )
    assert served.cluster(to("s1", f"outlierDetection: {policy}")).outliers == (
        nodes.OutlierDetection(
            consecutive_5xx=3, interval=1.0, ejection_time=5.0, max_ejection_percent=50
        )
    )


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("{window: 10s}", nodes.SlowStart(10.0, 1.0, 10)),
        (
            "{window: 1m, aggression: '.5', minWeightPercent: 0}",
            nodes.SlowStart(60.0, 0.5, 0),
        ),
    ],
)
def test_a_new_endpoint_starts_slowly(policy: str, expected: nodes.SlowStart) -> None:
    assert served.cluster(service(f"slowStartPolicy: {policy}")).slow_start == expected


@pytest.mark.parametrize(
    ("policy", "strategy"),
    [
        ("{window: 0s}", "RoundRobin"),
        ("{window: 10s, aggression: '0'}", "RoundRobin"),
        ("{window: 25h}", "RoundRobin"),
        ("{window: 10s}", "Random"),
        ("{window: 10s}", "Cookie"),
    ],
)
def test_a_slow_start_that_cannot_be_drops_its_route(policy: str, strategy: str) -> None:
    balancing = f"loadBalancerPolicy: {{strategy: {strategy}}}"
    (told,) = served.refusals(service(f"slowStartPolicy: {policy}", balancing))
    assert told.startswith(
        "ServiceError/SlowStartInvalid: spec.routes[0].services[0].slowStartPolicy"
    )


@pytest.mark.parametrize(
    ("mirrors", "expected"),
    [
        ("{name: s2, port: 80, mirror: true}", [("s2", 100)]),
        ("{name: s2, port: 80, mirror: true, weight: 30}", [("s2", 30)]),
        (
            "{name: s2, port: 80, mirror: true, weight: 100}, {name: s3, port: 80, mirror: true}",
            [("s2", 100), ("s3", 100)],
        ),
    ],
)
def test_mirrors_get_copies(mirrors: str, expected: list[tuple[str, int]]) -> None:
    action = served.forward(f"{{services: [{{name: s1, port: 80}}, {mirrors}]}}")
    found = [(it.cluster.port.service.name, it.numerator) for it in action.mirrors]
    assert found == expected
    assert len(action.backends) == 1


def test_a_mirror_gets_no_more_than_all_requests() -> None:
    mirror = "{name: s2, port: 80, mirror: true, weight: 101}"
    found, (told,) = served.route(f"{{services: [{{name: s1, port: 80}}, {mirror}]}}")
    assert isinstance(found.action, nodes.Forward)
    assert [it.numerator for it in found.action.mirrors] == [100]
    assert told.startswith("?SpecError/IgnoredField: spec.routes[0].services[1].weight: is the")


def test_a_mirror_alone_answers_nobody() -> None:
    assert served.closed("{services: [{name: s1, port: 80, mirror: true}]}") == []


def test_cookies_are_rewritten_for_a_route_and_for_a_service() -> None:
    policy = "{name: a, pathRewrite: {value: /x}, domainRewrite: {value: b.com}, secure: true}"
    own = "{name: a, sameSite: Strict, secure: false}"
    action = served.forward(
        service(f"cookieRewritePolicies: [{own}]", f"cookieRewritePolicies: [{policy}]")
    )
    assert action.cookies == (nodes.CookieRewrite("a", "/x", "b.com", True),)
    assert action.backends[0].cookies == (
        nodes.CookieRewrite("a", secure=False, same_site="Strict"),
    )


@pytest.mark.parametrize(
    "policies", ["{name: a}", "{name: a, secure: true}, {name: a, secure: false}"]
)
def test_a_rewrite_of_a_cookie_that_is_not_clear_drops_its_route(policies: str) -> None:
    (told,) = served.refusals(to("s1", f"cookieRewritePolicies: [{policies}]"))
    assert told.startswith("RouteError/CookieRewritePoliciesInvalid: spec.routes[0].cookie")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("{}", nodes.InternalRedirect()),
        ("{maxInternalRedirects: 0}", nodes.InternalRedirect(0)),
        (
            "{maxInternalRedirects: 5, redirectResponseCodes: [301, 307], "
            "allowCrossSchemeRedirect: SafeOnly, denyRepeatedRouteRedirect: true}",
            nodes.InternalRedirect(5, (301, 307), "SafeOnly", True),
        ),
    ],
)
def test_redirects_of_a_service_are_followed(policy: str, expected: nodes.InternalRedirect) -> None:
    action = served.forward(to("s1", f"internalRedirectPolicy: {policy}"))
    assert action.internal_redirect == expected


@pytest.mark.parametrize(("hops", "is_told"), [(0, False), (1, True)])
def test_where_hops_are_trusted_not_every_redirect_is_followed(hops: int, is_told: bool) -> None:
    trusted = configuration(f"envoy: {{network: {{numTrustedHops: {hops}}}}}")
    _, told = served.route(to("s1", "internalRedirectPolicy: {}"), trusted)
    where = "?SpecError/IgnoredField: spec.routes[0].internalRedirectPolicy: redirects to other"
    assert [it.startswith(where) for it in told] == ([True] if is_told else [])


@pytest.mark.parametrize(("text", "expected"), [("90s", 90.0), ("infinity", 0.0), ("0s", None)])
def test_a_connection_may_idle(text: str, expected: float | None) -> None:
    found = served.cluster(to("s1", f"timeoutPolicy: {{idleConnection: {text}}}"))
    assert found.idle_timeout == expected


@pytest.mark.parametrize(
    ("manifest", "is_told"),
    [
        (root("it", f"routes: [{to('odd')}]"), True),
        (root("it", "routes: [{services: [{name: odd, port: 80, protocol: h2c}]}]"), False),
        (tls_root("it", "tcpproxy: {services: [{name: odd, port: 80}]}"), False),
    ],
)
def test_an_app_protocol_that_is_not_known_is_told(manifest: str, is_told: bool) -> None:
    odd = services("odd").replace("port: 80", "port: 80, appProtocol: grpc")
    told = messages(world(odd + pairs.secret("cert") + manifest), "HTTPProxy", "it")
    text = "?SpecError/IgnoredField: spec.routes[0].services[0]: port 80 of Service default/odd has"
    assert [it.startswith(text) for it in told] == [True] * is_told


def test_equal_policies_of_two_routes_are_one_cluster() -> None:
    policy = "healthCheckPolicy: {path: /up}"
    assert served.cluster(to("s1", policy)) == served.cluster(to("s1", policy), services("s9"))


def test_a_name_elsewhere_is_refused_and_the_setting_is_named() -> None:
    external = """
---
apiVersion: v1
kind: Service
metadata: {name: external}
spec: {type: ExternalName, externalName: b.com, ports: [{port: 80}]}
"""
    (told,) = served.closed(to("external"), external)
    assert told.startswith("ServiceError/ServiceUnresolvedReference: spec.routes[0].services[0]: ")
    assert told.endswith("unless the ContourConfiguration has enableExternalNameService: true")

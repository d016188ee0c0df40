"""What happens to the requests of a route: forwarding, answers, redirects, policies."""

import pytest

from dag import hosts, nodes
from tests.dag.httpproxy.manifests import on, proxy, root, services, to
from tests.dag.world import FLEET, apply, messages, problems, routes, world

SERVICES = services("s1", "s2", "s3")


def served(route: str) -> nodes.Route:
    engine = world(SERVICES + root("root", f"routes: [{route}]"))
    assert problems(engine, "HTTPProxy", "root") == []
    key = nodes.HostKey(FLEET, "ingress_http", "a.com")
    found = engine.answer(hosts.virtual_host, key)
    assert found is not None
    return found.routes[0]


def forwarded(route: str) -> nodes.Forward:
    action = served(route).action
    assert isinstance(action, nodes.Forward)
    return action


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        (("s1", 0), "default/s1:80"),
        (("s1", 0, "s2", 0), "default/s1:80 x1, default/s2:80 x1"),
        (("s1", 10, "s2", 90), "default/s1:80 x10, default/s2:80 x90"),
        (("s1", 10, "s2", 0), "default/s1:80 x10, default/s2:80 x0"),
        (("s1", 10, "gone", 90), "default/s1:80"),
        (("s1", 0, "gone", 0), "default/s1:80"),
        (("s1", 0, "gone", 90), "503"),
        (("gone", 0), "503"),
    ],
)
def test_services_share_by_weight_and_a_missing_one_gives_its_share_to_those_that_had_one(
    shares: tuple[str | int, ...], expected: str
) -> None:
    pairs = zip(shares[::2], shares[1::2], strict=True)
    backends = ", ".join(f"{{name: {name}, port: 80, weight: {weight}}}" for name, weight in pairs)
    engine = world(SERVICES + root("root", f"routes: [{{services: [{backends}]}}]"))
    assert routes(engine, "a.com") == [f"/ -> {expected}"]
    told = ["ServiceError/ServiceUnresolvedReference"] if "gone" in shares else []
    assert problems(engine, "HTTPProxy", "root") == told


def test_a_missing_service_is_told_with_its_place_and_wakes_when_it_appears() -> None:
    engine = world(root("root", f"routes: [{to('s1')}]"))
    assert messages(engine, "HTTPProxy", "root") == [
        "ServiceError/ServiceUnresolvedReference: spec.routes[0].services[0]: "
        "Service default/s1 not found"
    ]
    apply(engine, SERVICES)
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    assert problems(engine, "HTTPProxy", "root") == []


def test_a_mirror_gets_no_share_of_the_traffic() -> None:
    mirror = "{name: s2, port: 80, mirror: true}"
    route = f"{{services: [{{name: s1, port: 80}}, {mirror}]}}"
    engine = world(SERVICES + root("root", f"routes: [{route}]"))
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    assert problems(engine, "HTTPProxy", "root") == []


@pytest.mark.parametrize(
    "action",
    [
        "{}",
        "{services: [{name: s1, port: 80}], directResponsePolicy: {statusCode: 200}}",
        "{requestRedirectPolicy: {}, directResponsePolicy: {statusCode: 200}}",
    ],
)
def test_a_route_needs_exactly_one_action(action: str) -> None:
    engine = world(SERVICES + root("root", f"routes: [{action}]"))
    assert routes(engine, "a.com") == []
    assert problems(engine, "HTTPProxy", "root") == ["RouteError/RouteActionCountNotValid"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("directResponsePolicy: {statusCode: 418, body: tea}", nodes.Respond(418, "tea")),
        ("requestRedirectPolicy: {}", nodes.Redirect(302)),
        (
            "requestRedirectPolicy: {scheme: https, hostname: b.com, port: 8443, statusCode: 301}",
            nodes.Redirect(301, "https", "b.com", 8443),
        ),
        ("requestRedirectPolicy: {path: /y}", nodes.Redirect(302, full_path="/y")),
        ("requestRedirectPolicy: {prefix: /y}", nodes.Redirect(302, prefix="/y")),
    ],
)
def test_a_route_may_answer_by_itself(policy: str, expected: nodes.Action) -> None:
    assert served(f"{{{policy}}}").action == expected


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{directResponsePolicy: {statusCode: 304, body: a}}", "directResponsePolicy.body"),
        (
            to(
                "s1",
                "errorPages: [{statuses: [{start: 404, end: 405}], statusCode: 304, body: a}]",
            ),
            "errorPages[0].body",
        ),
    ],
)
def test_an_answer_whose_status_has_no_body_gets_none(text: str, where: str) -> None:
    engine = world(SERVICES + root("root", f"routes: [{text}]"))
    found = engine.answer(hosts.virtual_host, nodes.HostKey(FLEET, "ingress_http", "a.com"))
    assert found is not None
    policies, action = found.routes[0].policies, found.routes[0].action
    answer = action if policies is None else policies.error_pages
    assert answer in (nodes.Respond(304), (nodes.ErrorPage(((404, 405),), status=304),))
    assert messages(engine, "HTTPProxy", "root") == [
        f"?SpecError/IgnoredField: spec.routes[0].{where}: has no effect: an answer with the "
        "status 304 has no body"
    ]


def test_timeouts_know_a_default_and_no_limit() -> None:
    found = forwarded(to("s1", "timeoutPolicy: {response: 1m30s, idle: infinity}"))
    assert (found.timeout, found.idle_timeout) == (90.0, 0.0)
    unset = forwarded(to("s1", "timeoutPolicy: {response: 0s}"))
    assert (unset.timeout, unset.idle_timeout) == (None, None)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("{}", nodes.Retry(("5xx",), 1)),
        ("{count: 0}", nodes.Retry(("5xx",), 1)),
        ("{count: -1}", nodes.Retry(("5xx",), 0)),
        (
            "{count: 3, perTryTimeout: 150ms, retryOn: [gateway-error, retriable-status-codes], "
            "retriableStatusCodes: [503]}",
            nodes.Retry(("gateway-error", "retriable-status-codes"), 3, 0.15, (503,)),
        ),
    ],
)
def test_a_retry_policy_has_contours_defaults(policy: str, expected: nodes.Retry) -> None:
    assert forwarded(to("s1", f"retryPolicy: {policy}")).retry == expected


def test_websockets_and_balancing_reach_the_node() -> None:
    found = forwarded(to("s1", "enableWebsockets: true, loadBalancerPolicy: {strategy: Random}"))
    assert found.websockets
    assert found.backends[0].cluster is not None
    assert found.backends[0].cluster.balancing == "Random"


@pytest.mark.parametrize(
    ("of_host", "of_route"), [(", maxRequestBytes: 9", ""), ("", ", maxRequestBytes: 9")]
)
def test_a_route_with_a_limit_of_requests_takes_no_websockets(of_host: str, of_route: str) -> None:
    route = to("s1", f"enableWebsockets: true{of_route}")
    written = f"virtualhost: {{fqdn: a.com{of_host}}}, routes: [{route}]"
    engine = world(SERVICES + proxy("root", written))
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith("?SpecError/IgnoredField: spec.routes[0].enableWebsockets: has no effe")
    found = engine.answer(hosts.virtual_host, nodes.HostKey(FLEET, "ingress_http", "a.com"))
    assert found is not None
    action = found.routes[0].action
    assert isinstance(action, nodes.Forward)
    assert not action.websockets


def test_h2c_of_a_route_wins_over_the_services_own_protocol() -> None:
    found = forwarded("{services: [{name: s1, port: 80, protocol: h2c}]}")
    assert found.backends[0].cluster is not None
    assert found.backends[0].cluster.protocol == "h2c"


def test_headers_are_set_and_removed_as_literal_text_and_host_is_a_rewrite() -> None:
    route = served(
        to(
            "s1",
            "requestHeadersPolicy: {set: [{name: X-A, value: '100% %CONTOUR_NAMESPACE%'}, "
            "{name: Host, value: b.com}], remove: [X-B]}, "
            "responseHeadersPolicy: {set: [{name: X-C, value: c}]}",
        )
    )
    assert route.request_headers == nodes.HeaderPolicy(
        set=(("x-a", "100% default"),), remove=("x-b",)
    )
    assert route.response_headers == nodes.HeaderPolicy(set=(("x-c", "c"),))
    assert isinstance(route.action, nodes.Forward)
    assert route.action.rewrite == nodes.Rewrite(host="b.com")


@pytest.mark.parametrize(
    ("reason", "policy"),
    [
        (
            "RequestHeadersPolicyInvalid",
            "requestHeadersPolicy: {set: [{name: 'a b', value: x}]}",
        ),
        ("RequestHeadersPolicyInvalid", "requestHeadersPolicy: {remove: [Host]}"),
        (
            "RequestHeadersPolicyInvalid",
            "requestHeadersPolicy: {set: [{name: a, value: x}, {name: A, value: y}]}",
        ),
        (
            "RequestHeadersPolicyInvalid",
            "requestHeadersPolicy: {set: [{name: host, value: x}, {name: Host, value: y}]}",
        ),
        (
            "RequestHeadersPolicyInvalid",
            'requestHeadersPolicy: {set: [{name: a, value: "x\\r\\ny: z"}]}',
        ),
        (
            "ResponseHeaderPolicyInvalid",
            "responseHeadersPolicy: {set: [{name: Host, value: x}]}",
        ),
        ("TimeoutPolicyNotValid", "timeoutPolicy: {response: 25h}"),
        ("TimeoutPolicyNotValid", "retryPolicy: {perTryTimeout: 25h}"),
        ("RetryPolicyNotValid", "retryPolicy: {retriableStatusCodes: [700]}"),
    ],
)
def test_a_policy_that_cannot_be_served_drops_its_route(reason: str, policy: str) -> None:
    bad = to("s1", f"conditions: [{{prefix: /bad}}], {policy}")
    engine = world(SERVICES + root("root", f"routes: [{to('s2')}, {bad}]"))
    assert routes(engine, "a.com") == ["/ -> default/s2:80"]
    assert problems(engine, "HTTPProxy", "root") == [f"RouteError/{reason}"]


@pytest.mark.parametrize(
    ("reason", "answer"),
    [
        ("RequestRedirectPolicy", "requestRedirectPolicy: {path: /x, prefix: /y}"),
        ("RequestRedirectPolicy", 'requestRedirectPolicy: {path: "/x\\ry"}'),
        (
            "RequestRedirectPolicy",
            "conditions: [{exact: /x}], requestRedirectPolicy: {prefix: /y}",
        ),
        (
            "DirectResponsePolicy",
            f"directResponsePolicy: {{statusCode: 200, body: {'x' * 4097}}}",
        ),
    ],
)
def test_an_answer_that_cannot_be_given_drops_its_route(reason: str, answer: str) -> None:
    engine = world(SERVICES + root("root", f"routes: [{{{answer}}}]"))
    assert routes(engine, "a.com") == []
    assert problems(engine, "HTTPProxy", "root") == [f"RouteError/{reason}"]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("[{replacement: /new}]", "/new"),
        ("[{prefix: /x, replacement: /new}]", "/new"),
        ("[{prefix: /x, replacement: /new}, {replacement: /other}]", "/new"),
        ("[{prefix: /z, replacement: /new}, {replacement: /other}]", "/other"),
        ("[{prefix: /z, replacement: /new}]", None),
    ],
)
def test_the_replacement_for_exactly_the_routes_prefix_counts(
    rules: str, expected: str | None
) -> None:
    rewrite = forwarded(on("/x", "s1", f"pathRewritePolicy: {{replacePrefix: {rules}}}")).rewrite
    assert (rewrite.prefix if rewrite else None) == expected


REWRITTEN = "pathRewritePolicy: {replacePrefix: [{prefix: /x/, replacement: /new}]}"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([on("/x/", "s1", REWRITTEN)], ["/x/ -> default/s1:80", "/x/... -> default/s1:80"]),
        ([on("/y/", "s1", REWRITTEN)], ["/y/ -> default/s1:80"]),
        ([on("/x/", "s1")], ["/x/ -> default/s1:80"]),
        (
            [on("/x/", "s1", REWRITTEN), on("/x", "s2")],
            ["/x/ -> default/s1:80", "/x -> default/s2:80"],
        ),
        (
            [
                to("s1", f"conditions: [{{prefix: /x/}}, {{method: GET}}], {REWRITTEN}"),
                on("/x", "s2"),
            ],
            ["/x/ GET -> default/s1:80", "/x -> default/s2:80"],
        ),
        (
            [on("/x/", "s1", REWRITTEN), to("s2", "conditions: [{prefix: /x}, {method: GET}]")],
            ["/x/ -> default/s1:80", "/x GET -> default/s2:80", "/x/... -> default/s1:80"],
        ),
        ([on("/x/", "s1", REWRITTEN), on("/x/", "s2")], ["/x/ -> default/s2:80"]),
        ([on("/x/", "gone", REWRITTEN)], ["/x/ -> 503", "/x/... -> 503"]),
        (
            [on("/x/", "s1", f"ipDenyPolicy: [{{source: Peer, cidr: x}}], {REWRITTEN}")],
            ["/x/ -> 503", "/x/... -> 503"],
        ),
    ],
)
def test_a_rewritten_prefix_is_also_taken_without_its_last_slash(
    written: list[str], expected: list[str]
) -> None:
    engine = world(SERVICES + root("root", f"routes: [{', '.join(written)}]"))
    assert routes(engine, "a.com") == expected


@pytest.mark.parametrize(
    ("reason", "condition", "rules"),
    [
        ("MustHavePrefix", "exact: /x", "[{replacement: /new}]"),
        ("MustHavePrefix", "regex: /x", "[{replacement: /new}]"),
        ("AmbiguousReplacement", "prefix: /x", "[{replacement: /a}, {replacement: /b}]"),
        (
            "DuplicateReplacement",
            "prefix: /x",
            "[{prefix: /x, replacement: /a}, {prefix: /x, replacement: /b}]",
        ),
        ("ReplacementNotValid", "prefix: /x", "[{replacement: new}]"),
        ("ReplacementNotValid", "prefix: /x", '[{replacement: "/n\\r\\nx"}]'),
    ],
)
def test_replacements_that_are_not_clear_drop_their_route(
    reason: str, condition: str, rules: str
) -> None:
    route = to(
        "s1", f"conditions: [{{{condition}}}], pathRewritePolicy: {{replacePrefix: {rules}}}"
    )
    engine = world(SERVICES + root("root", f"routes: [{route}]"))
    assert routes(engine, "a.com") == []
    assert problems(engine, "HTTPProxy", "root") == [f"PrefixReplaceError/{reason}"]


def test_of_two_routes_for_the_same_requests_the_last_one_serves_and_the_first_is_told() -> None:
    engine = world(SERVICES + root("root", f"routes: [{to('s1')}, {to('s2')}]"))
    assert routes(engine, "a.com") == ["/ -> default/s2:80"]
    assert messages(engine, "HTTPProxy", "root") == [
        "?RouteError/DuplicateMatchConditions: spec.routes[0]: has the same conditions as "
        "spec.routes[1] of HTTPProxy default/root and is not used"
    ]


def test_a_strategy_that_does_not_exist_is_told_and_replaced() -> None:
    policy = "loadBalancerPolicy: {strategy: Magic}"
    engine = world(SERVICES + root("root", f"routes: [{to('s1', policy)}]"))
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    assert problems(engine, "HTTPProxy", "root") == ["?SpecError/IgnoredField"]

"""What the rules of an HTTPRoute become: matches, filters, timeouts, and rules that are dropped."""

import pytest

from dag import hosts, nodes
from dag.engine.incremental import Engine
from dag.nodes import SessionPersistence as Session
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    http,
    on,
    route,
    service,
    to,
)
from tests.dag.world import FLEET, routes, world

GIVEN = gateway_class() + gateway("gw") + service("s1") + service("s2")
FINE = ["Accepted", "ResolvedRefs"]
WHOLLY_DROPPED = ["Accepted=False/UnsupportedValue", "ResolvedRefs"]
PARTLY_DROPPED = [*FINE, "PartiallyInvalid=True/UnsupportedValue"]


def first(it: Engine, listener: str = "ingress_http", host: str = "*") -> nodes.Route:
    found = it.answer(hosts.virtual_host, nodes.HostKey(FLEET, listener, host))
    assert found is not None
    return found.routes[0]


def forward(it: Engine) -> nodes.Forward:
    action = first(it).action
    assert isinstance(action, nodes.Forward)
    return action


@pytest.mark.parametrize(
    ("match", "text"),
    [
        ("{}", "/"),
        ("{path: {value: /}}", "/"),
        ("{path: {value: /a}}", "/a/..."),
        ("{path: {value: /a/}}", "/a/..."),
        ("{path: {type: Exact, value: /a/}}", "=/a/"),
        ("{path: {type: RegularExpression, value: '/a.*'}}", "~/a.*"),
        ("{method: HEAD}", "/ HEAD"),
        ("{headers: [{name: X-A, value: b}]}", "/ x-a=b"),
        ("{headers: [{name: x, value: 'b+', type: RegularExpression}]}", "/ x~b+"),
        ("{headers: [{name: b, value: '1'}, {name: a, value: '2'}]}", "/ a=2 b=1"),
        ("{headers: [{name: a, value: '1'}, {name: A, value: '2'}]}", "/ a=1"),
        ("{queryParams: [{name: Q, value: b}]}", "/ ?Q=b"),
        ("{queryParams: [{name: q, value: 'b+', type: RegularExpression}]}", "/ ?q~b+"),
        ("{queryParams: [{name: q, value: '1'}, {name: Q, value: '2'}]}", "/ ?Q=2 ?q=1"),
        (
            "{path: {value: /a}, method: GET, headers: [{name: h, value: '1'}], "
            "queryParams: [{name: q, value: '2'}]}",
            "/a/... GET h=1 ?q=2",
        ),
    ],
)
def test_a_match_takes_the_requests_it_describes(match: str, text: str) -> None:
    it = world(GIVEN + route("r", to("s1", f"matches: [{match}]")))
    assert routes(it, "*") == [f"{text} -> default/s1:80"]
    assert status_text.route(it, "r") == FINE


def test_each_match_of_a_rule_is_a_route_of_its_own() -> None:
    two = "matches: [{path: {value: /a}}, {method: GET}]"
    it = world(GIVEN + route("r", to("s1", two)))
    assert routes(it, "*") == ["/a/... -> default/s1:80", "/ GET -> default/s1:80"]


def test_a_rule_without_matches_takes_everything() -> None:
    it = world(GIVEN + route("r", to("s1", "matches: []")))
    assert routes(it, "*") == ["/ -> default/s1:80"]


@pytest.mark.parametrize(
    ("match", "path"),
    [
        ("{path: {type: RegularExpression, value: '/a('}}", "path.value"),
        ("{path: {type: RegularExpression, value: '/(?=a)'}}", "path.value"),
        ("{headers: [{name: a, value: '(', type: RegularExpression}]}", "headers[0]"),
        ("{queryParams: [{name: a, value: '(', type: RegularExpression}]}", "queryParams[0]"),
        ('{headers: [{name: a, value: "1\\n2"}]}', "headers[0]"),
    ],
)
def test_a_rule_whose_match_cannot_be_served_is_dropped_and_the_others_serve(
    match: str, path: str
) -> None:
    bad = to("s1", f"matches: [{match}]")
    it = world(GIVEN + route("r", bad, on("/ok", "s2")))
    assert routes(it, "*") == ["/ok/... -> default/s2:80"]
    assert status_text.route(it, "r") == PARTLY_DROPPED
    message = status_text.route_messages(it, "r")[2]
    assert message.startswith(f"Dropped Rule: spec.rules[0].matches[0].{path}: ")
    assert status_text.attached(it) == {"http": 1}


def test_a_route_that_has_no_rule_left_is_not_accepted_and_not_counted() -> None:
    bad = to("s1", "matches: [{path: {type: RegularExpression, value: '('}}]")
    it = world(GIVEN + route("r", bad))
    assert routes(it, "*") == []
    assert status_text.route(it, "r") == WHOLLY_DROPPED
    assert status_text.attached(it) == {"http": 0}


def headers(text: str) -> str:
    return f"filters: [{{type: RequestHeaderModifier, requestHeaderModifier: {text}}}]"


def test_header_filters_change_requests_and_answers() -> None:
    changes = "{set: [{name: A, value: '1'}], add: [{name: B, value: '%REQ(x)%'}], remove: [c]}"
    filters = (
        f"filters: [{{type: RequestHeaderModifier, requestHeaderModifier: {changes}}}, "
        "{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [Server]}}]"
    )
    it = world(GIVEN + route("r", to("s1", filters)))
    assert first(it).request_headers == nodes.HeaderPolicy(
        set=(("A", "1"),), add=(("B", "%REQ(x)%"),), remove=("c",)
    )
    assert first(it).response_headers == nodes.HeaderPolicy(remove=("Server",))


def test_of_a_header_that_is_named_twice_the_first_counts() -> None:
    text = "{set: [{name: A, value: '1'}, {name: a, value: '2'}], add: [{name: A, value: '3'}]}"
    it = world(GIVEN + route("r", to("s1", headers(text))))
    assert first(it).request_headers == nodes.HeaderPolicy(set=(("A", "1"),), add=(("A", "3"),))


@pytest.mark.parametrize(
    "text",
    [
        "{set: [{name: Host, value: x}]}",
        "{remove: [host]}",
        "{add: [{name: Connection, value: x}]}",
        "{remove: [':path']}",
        "{set: [{name: Content-Length, value: '3'}]}",
        "{add: [{name: content-length, value: '3'}]}",
        "{remove: [Content-Length]}",
        "{set: [{name: X-Forwarded-For, value: 1.2.3.4}]}",
        "{add: [{name: x-forwarded-client-cert, value: x}]}",
        '{set: [{name: a, value: "x\\ny"}]}',
    ],
)
def test_a_rule_whose_filter_cannot_be_served_answers_500(text: str) -> None:
    guarded = on("/guarded", "s1", headers(text))
    it = world(GIVEN + route("r", guarded, on("/", "s2")))
    assert routes(it, "*") == ["/guarded/... -> 500", "/ -> default/s2:80"]
    assert first(it).request_headers is None
    assert status_text.route(it, "r") == PARTLY_DROPPED


@pytest.mark.parametrize(
    "filter_",
    [
        "{type: URLRewrite, "
        'urlRewrite: {path: {type: ReplaceFullPath, replaceFullPath: "/a\\nb"}}}',
        "{type: RequestHeaderModifier, requestHeaderModifier: {remove: [Upgrade]}}",
        "{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [Upgrade]}}",
        "{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [Content-Length]}}",
        "{type: ExtensionRef, extensionRef: {group: example.com, kind: Auth, name: x}}",
        "{type: RequestRedirect, requestRedirect: {statusCode: 309}}",
        "{type: Cache}",
        "{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: s2, port: 80}, "
        "http: {allowedResponseHeaders: [Content-Length]}}}",
        "{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: s2, port: 80}, "
        "http: {path: check}}}",
    ],
)
def test_a_filter_that_cannot_be_served_closes_the_rule_it_stands_on(filter_: str) -> None:
    on_rule = f"{{matches: [{{path: {{value: /rule}}}}], filters: [{filter_}]}}"
    on_backend = on("/backend", f"{{name: s1, port: 80, filters: [{filter_}]}}")
    it = world(GIVEN + route("r", on_rule, on_backend, to("s2")))
    assert routes(it, "*") == ["/backend/... -> 500", "/rule/... -> 500", "/ -> default/s2:80"]
    assert status_text.route(it, "r") == PARTLY_DROPPED
    only = world(GIVEN + route("r", on_rule))
    assert routes(only, "*") == ["/rule/... -> 500"]
    assert status_text.route(only, "r") == WHOLLY_DROPPED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{hostname: b.com}", nodes.Rewrite(host="b.com")),
        (
            "{path: {type: ReplaceFullPath, replaceFullPath: /x}}",
            nodes.Rewrite(full_path="/x"),
        ),
        (
            "{path: {type: ReplacePrefixMatch, replacePrefixMatch: /x}}",
            nodes.Rewrite(prefix="/x"),
        ),
        ("{path: {type: ReplacePrefixMatch, replacePrefixMatch: ''}}", nodes.Rewrite(prefix="/")),
        ("{path: {type: ReplaceFullPath, replaceFullPath: x}}", nodes.Rewrite(full_path="/x")),
    ],
)
def test_a_rewrite_changes_what_reaches_the_backend(text: str, expected: nodes.Rewrite) -> None:
    it = world(
        GIVEN + route("r", on("/a", "s1", f"filters: [{{type: URLRewrite, urlRewrite: {text}}}]"))
    )
    assert forward(it).rewrite == expected


AWAY = "filters: [{type: RequestRedirect, requestRedirect: {hostname: b.com}}]"
TO_HOST, TO_PATH, TO_OTHERS = (
    f"filters: [{{type: URLRewrite, urlRewrite: {{{it}}}}}]"
    for it in (
        "hostname: b.com",
        "path: {type: ReplacePrefixMatch, replacePrefixMatch: /x}",
        "hostname: c.com, path: {type: ReplaceFullPath, replaceFullPath: /y}",
    )
)


@pytest.mark.parametrize(
    ("rule", "backend", "expected"),
    [
        (TO_PATH, TO_HOST, nodes.Rewrite("b.com", prefix="/x")),
        (TO_HOST, TO_PATH, nodes.Rewrite("b.com", prefix="/x")),
        (TO_HOST, TO_OTHERS, nodes.Rewrite("c.com", full_path="/y")),
        (TO_OTHERS, TO_PATH, nodes.Rewrite("c.com", prefix="/x")),
        (TO_OTHERS, "", nodes.Rewrite("c.com", full_path="/y")),
    ],
)
def test_a_backend_rewrites_over_what_its_rule_rewrites(
    rule: str, backend: str, expected: nodes.Rewrite
) -> None:
    it = world(GIVEN + route("r", on("/a", f"{{name: s1, port: 80, {backend}}}", rule)))
    assert forward(it).rewrite == expected


@pytest.mark.parametrize(
    ("rule", "rewrite", "hosts"),
    [
        ("", None, ["b.com", ""]),
        (TO_HOST.replace("b.com", "d.com"), None, ["b.com", "d.com"]),
        (TO_PATH, nodes.Rewrite(prefix="/x"), ["b.com", ""]),
        (TO_OTHERS, nodes.Rewrite(full_path="/y"), ["b.com", "c.com"]),
    ],
)
def test_backends_with_hosts_of_their_own_get_these_and_others_that_of_the_rule(
    rule: str, rewrite: nodes.Rewrite | None, hosts: list[str]
) -> None:
    references = f"{{name: s1, port: 80, {TO_HOST}}}, {{name: s2, port: 80}}"
    match = f"matches: [{{path: {{value: /a}}}}], {rule}{', ' if rule else ''}"
    it = world(GIVEN + route("r", f"{{{match}backendRefs: [{references}]}}"))
    assert forward(it).rewrite == rewrite
    assert [backend.host for backend in forward(it).backends] == hosts


@pytest.mark.parametrize(
    ("rule", "backend", "expected"),
    [
        ("remove: [a]", "set: [{name: A, value: b}]", nodes.HeaderPolicy(set=(("A", "b"),))),
        (
            "remove: [a]",
            "add: [{name: A, value: b}]",
            nodes.HeaderPolicy(add=(("A", "b"),), remove=("a",)),
        ),
        (
            "set: [{name: a, value: r}], add: [{name: b, value: r}]",
            "remove: [A], set: [{name: B, value: b}]",
            nodes.HeaderPolicy(set=(("B", "b"),), remove=("A",)),
        ),
        (
            "set: [{name: a, value: r}]",
            "add: [{name: a, value: b}]",
            nodes.HeaderPolicy(set=(("a", "r"),), add=(("a", "b"),)),
        ),
    ],
)
def test_headers_are_changed_by_the_rule_and_then_by_the_backend(
    rule: str, backend: str, expected: nodes.HeaderPolicy
) -> None:
    on_rule, on_backend = (
        f"filters: [{{type: RequestHeaderModifier, requestHeaderModifier: {{{it}}}}}]"
        for it in (rule, backend)
    )
    references = f"{{name: s1, port: 80, {on_backend}}}, {{name: s2, port: 80}}"
    it = world(GIVEN + route("r", f"{{{on_rule}, backendRefs: [{references}]}}"))
    own, other = forward(it).backends
    assert first(it).request_headers is None
    assert own.request_headers == expected
    plain = world(GIVEN + route("r", to("s1", on_rule)))
    assert other.request_headers == first(plain).request_headers


CORS, OTHER_CORS = (
    f"filters: [{{type: CORS, cors: {{allowOrigins: [{it!r}]}}}}]"
    for it in ("https://a.com", "https://b.com")
)
ASKING, ASKING_ANOTHER = (
    "filters: [{type: ExternalAuth, externalAuth: "
    f"{{protocol: HTTP, http: {{}}, backendRef: {{name: {it}, port: 80}}}}}}]"
    for it in ("s1", "s2")
)


@pytest.mark.parametrize(
    ("rule", "backend"),
    [(ASKING, ASKING_ANOTHER), (CORS, OTHER_CORS), (TO_PATH, AWAY)],
    ids=["servers", "origins", "a redirect of what is rewritten"],
)
def test_a_backend_closes_its_share_whose_filter_cannot_stand_beside_the_rules(
    rule: str, backend: str
) -> None:
    references = f"{{name: s1, port: 80}}, {{name: s2, port: 80, {backend}}}"
    match = "matches: [{path: {value: /a}}]"
    it = world(GIVEN + route("r", f"{{{match}, {rule}, backendRefs: [{references}]}}", to("s2")))
    shown = ["/a/... up to 50% -> default/s1:80", "/a/... -> 500", "/ -> default/s2:80"]
    assert routes(it, "*") == shown
    assert status_text.route(it, "r") == PARTLY_DROPPED
    assert "spec.rules[0].backendRefs[1].filters[0]: cannot stand beside" in " ".join(
        status_text.route_messages(it, "r")
    )


@pytest.mark.parametrize(
    ("fields", "exposed", "is_told"),
    [
        ("exposeHeaders: ['*', x-a], allowCredentials: true", ("x-a",), True),
        ("exposeHeaders: ['*']", ("*",), False),
        ("exposeHeaders: [x-a], allowCredentials: true", ("x-a",), False),
    ],
)
def test_not_every_header_can_be_read_with_credentials(
    fields: str, exposed: tuple[str, ...], is_told: bool
) -> None:
    filter_ = f"{{type: CORS, cors: {{allowOrigins: [https://a.com], {fields}}}}}"
    it = world(GIVEN + route("r", to("s1", f"filters: [{filter_}]")))
    policies = first(it).policies
    assert policies is not None
    assert isinstance(policies.cors, nodes.Cors)
    assert policies.cors.exposed == exposed
    assert status_text.route(it, "r") == FINE
    field = "spec.rules[0].filters[0].cors.exposeHeaders: '*' stands for no header"
    assert (field in status_text.route_messages(it, "r")[0]) == is_told


@pytest.mark.parametrize("text", [ASKING, CORS])
def test_a_backend_may_say_what_its_rule_says(text: str) -> None:
    it = world(GIVEN + route("r", on("/a", f"{{name: s1, port: 80, {text}}}", text)))
    assert routes(it, "*") == ["/a/... -> default/s1:80"]
    assert status_text.route(it, "r") == FINE


@pytest.mark.parametrize(
    ("text", "port", "expected"),
    [
        ("{hostname: b.com}", 80, nodes.Redirect(302, host="b.com")),
        ("{hostname: b.com}", 8080, nodes.Redirect(302, host="b.com", port=8080)),
        ("{scheme: https}", 80, nodes.Redirect(302, scheme="https")),
        ("{scheme: https}", 8080, nodes.Redirect(302, scheme="https")),
        ("{scheme: http}", 8080, nodes.Redirect(302, scheme="http")),
        ("{port: 8443}", 80, nodes.Redirect(302, port=8443)),
        ("{port: 80}", 8080, nodes.Redirect(302, scheme="http")),
        ("{scheme: https, port: 443}", 80, nodes.Redirect(302, scheme="https")),
        ("{scheme: https, port: 8443}", 80, nodes.Redirect(302, scheme="https", port=8443)),
        ("{scheme: https, port: 80}", 80, nodes.Redirect(302, scheme="https", port=80)),
        ("{statusCode: 308}", 80, nodes.Redirect(308)),
        (
            "{path: {type: ReplaceFullPath, replaceFullPath: /x}}",
            80,
            nodes.Redirect(302, full_path="/x"),
        ),
        (
            "{path: {type: ReplacePrefixMatch, replacePrefixMatch: x}}",
            80,
            nodes.Redirect(302, prefix="/x"),
        ),
    ],
)
def test_a_redirect_goes_where_it_says_and_leaves_usual_ports_out(
    text: str, port: int, expected: nodes.Redirect
) -> None:
    rule = (
        "{matches: [{path: {value: /a}}], "
        f"filters: [{{type: RequestRedirect, requestRedirect: {text}}}]}}"
    )
    it = world(
        gateway_class() + gateway("gw", http(port=port)) + route("r", rule, hosts=("a.com",))
    )
    listener = "ingress_http" if port == 80 else f"http-{port}"
    assert first(it, listener, "a.com").action == expected
    assert status_text.route(it, "r") == FINE


@pytest.mark.parametrize(
    ("text", "port", "expected"),
    [
        ("{scheme: https}", 80, nodes.Redirect(302, scheme="https")),
        ("{scheme: https}", 8080, nodes.Redirect(302, scheme="https", port=443)),
        ("{scheme: https, hostname: b.com}", 8080, nodes.Redirect(302, "https", "b.com")),
    ],
)
def test_a_usual_port_is_written_where_the_port_of_an_unknown_host_would_stay(
    text: str, port: int, expected: nodes.Redirect
) -> None:
    rule = f"{{filters: [{{type: RequestRedirect, requestRedirect: {text}}}]}}"
    it = world(gateway_class() + gateway("gw", http(port=port)) + route("r", rule))
    assert first(it, "ingress_http" if port == 80 else f"http-{port}").action == expected


def test_one_redirect_is_completed_for_each_listener_by_itself() -> None:
    rule = "{filters: [{type: RequestRedirect, requestRedirect: {hostname: b.com}}]}"
    given = gateway("gw", http("a"), http("b", port=8080))
    it = world(gateway_class() + given + route("r", rule))
    assert first(it).action == nodes.Redirect(302, host="b.com")
    assert first(it, "http-8080").action == nodes.Redirect(302, host="b.com", port=8080)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("{request: 500ms}", 0.5),
        ("{backendRequest: 1m30s}", 90.0),
        ("{request: 10s, backendRequest: 2s}", 2.0),
        ("{request: 0s}", 0.0),
        ("{request: 0s, backendRequest: 2s}", 2.0),
        ("{request: 2s, backendRequest: 0s}", 2.0),
        ("{request: 99999h}", 86400.0),
        ("{}", None),
    ],
)
def test_the_shorter_of_both_timeouts_holds_and_zero_is_none(
    text: str, seconds: float | None
) -> None:
    it = world(GIVEN + route("r", to("s1", f"timeouts: {text}")))
    assert forward(it).timeout == seconds


TRIES = "timeouts: {backendRequest: 10m}, retry: {attempts: 1}"


@pytest.mark.parametrize(
    ("rule", "seconds"),
    [
        ("timeouts: {request: 10m}", 600.0),
        ("timeouts: {request: 0s}", 0.0),
        ("timeouts: {backendRequest: 10m}", 600.0),
        (TRIES, 0.0),
        (TRIES.replace("10m", "1s"), None),
        ("timeouts: {request: 5m}", None),
        ("name: a", None),
    ],
)
def test_a_request_may_be_silent_for_as_long_as_it_may_take(
    rule: str, seconds: float | None
) -> None:
    assert forward(world(GIVEN + route("r", to("s1", rule)))).idle_timeout == seconds


MIRROR = "filters: [{type: RequestMirror, requestMirror: {backendRef: {name: s2, port: 80}}}]"
HEADER = (
    "filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: b}]}}]"
)


@pytest.mark.parametrize(
    ("backends", "expected"),
    [
        (("", ""), ["/ -> default/s1:80 x1, default/s1:80 x1"]),
        ((MIRROR, MIRROR), ["/ -> default/s1:80 x1, default/s1:80 x1"]),
        ((HEADER, ""), ["/ -> default/s1:80 x1, default/s1:80 x1"]),
        ((MIRROR, ""), ["/ up to 50% -> default/s1:80", "/ -> default/s1:80"]),
        (
            ("weight: 1", f"weight: 2, {MIRROR}", "weight: 1"),
            ["/ up to 50% -> default/s1:80 x1, default/s1:80 x1", "/ -> default/s1:80"],
        ),
        (("weight: 3", f"weight: 1, {AWAY}"), ["/ up to 75% -> default/s1:80", "/ -> 302 b.com"]),
        ((f"weight: 0, {MIRROR}", ""), ["/ -> default/s1:80"]),
    ],
)
def test_backends_whose_filters_envoy_has_per_route_are_drawn(
    backends: tuple[str, ...], expected: list[str]
) -> None:
    references = ", ".join(f"{{name: s1, port: 80, {it}}}" for it in backends)
    it = world(GIVEN + route("r", f"{{backendRefs: [{references}]}}"))
    assert routes(it, "*") == expected
    assert status_text.route(it, "r") == FINE


def test_a_client_with_a_session_is_not_drawn_at_each_request() -> None:
    references = f"{{name: s1, port: 80, {MIRROR}}}, {{name: s2, port: 80}}"
    rule = f"{{sessionPersistence: {{sessionName: a}}, backendRefs: [{references}]}}"
    it = world(GIVEN + route("r", rule))
    assert routes(it, "*") == ["/ -> 500"]
    assert status_text.route(it, "r") == WHOLLY_DROPPED
    assert "session persistence" in status_text.route_messages(it, "r")[0]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("", Session("session-default-r-0")),
        ("cookie: {}", Session("session-default-r-0")),
        ("cookie: {name: a, path: /x}", Session("a", path="/x")),
        (
            "cookie: {name: a, lifetimeType: Permanent}, absoluteTimeout: 1h",
            Session("a", lifetime=3600),
        ),
        ("cookie: {name: a}, absoluteTimeout: 1h", Session("a")),
        ("type: Header, header: {name: x-a}", Session("x-a", "Header")),
        ("sessionName: a", Session("a")),
        (
            "sessionName: a, cookieConfig: {lifetimeType: Permanent}, absoluteTimeout: 1h",
            Session("a", lifetime=3600),
        ),
        ("type: Header, sessionName: x-a", Session("x-a", "Header")),
        ("type: Header", Session("x-session-default-r-0", "Header")),
    ],
)
def test_a_session_is_kept_as_either_release_writes_it(written: str, expected: Session) -> None:
    rule = f"{{sessionPersistence: {{{written}}}, backendRefs: [{{name: s1, port: 80}}]}}"
    policies = first(world(GIVEN + route("r", rule))).policies
    assert policies is not None
    assert policies.session == expected


@pytest.mark.parametrize(
    ("written", "field"),
    [
        *((f"cookie: {{path: {it}}}", "cookie.path") for it in ("x", "''", "/a;Secure", "/a b")),
        *((f"cookie: {{path: {it}}}", "cookie.path") for it in ('"/\\n"', "/ä")),
        ('sessionName: "a\\r\\n\\r\\nHTTP/1.1 200 OK"', "sessionName"),
        ("sessionName: a;Secure", "sessionName"),
        ('type: Header, sessionName: "a\\r\\n\\r\\nHTTP/1.1 200 OK"', "sessionName"),
        ("type: Header, sessionName: Content-Length", "sessionName"),
        ("type: Header, header: {name: transfer-encoding}", "header.name"),
    ],
)
def test_what_no_response_can_have_for_a_session_drops_its_rule(written: str, field: str) -> None:
    rule = f"{{sessionPersistence: {{{written}}}, backendRefs: [{{name: s1, port: 80}}]}}"
    it = world(GIVEN + route("r", rule))
    assert routes(it, "*") == ["/ -> 500"]
    assert status_text.route(it, "r") == WHOLLY_DROPPED
    assert f"rules[0].sessionPersistence.{field}:" in status_text.route_messages(it, "r")[0]


def test_a_missing_backend_of_a_drawn_share_is_told_once_with_its_place() -> None:
    references = f"{{name: s1, port: 80, {MIRROR}}}, {{name: gone, port: 80}}"
    it = world(GIVEN + route("r", f"{{backendRefs: [{references}]}}"))
    assert routes(it, "*") == ["/ up to 50% -> default/s1:80", "/ -> 500"]
    (message,) = (it for it in status_text.route_messages(it, "r") if "gone" in it)
    assert message.count("rules[0].backendRefs[1]") == 1


def test_a_route_tells_that_who_authorizes_every_request_cannot_be_asked() -> None:
    configuration = """
---
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec: {gateway: {}, globalExtAuth: {extensionRef: {name: gone, namespace: default}}}
"""
    engine = world(GIVEN + configuration + route("r"))
    assert routes(engine, "*") == ["/ -> 503"]
    assert status_text.route(engine, "r") == FINE
    told = status_text.route_messages(engine, "r")
    assert (
        "ExtensionService default/gone not found); what it guards is answered with 503" in told[0]
    )

"""HTTPRouteFilters: what they do to the rules that name them, and what the routes are told."""

import pytest

from crds.meta import NamespacedName
from dag import hosts, nodes, statuses
from dag.engine import work
from dag.engine.incremental import Engine
from dag.plan import STATUSES
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import gateway, gateway_class, route, service, to
from tests.dag.world import FLEET, apply, routes, world

GIVEN = gateway_class() + gateway("gw") + service("s1") + service("s2")
CLOSED = ["/a/... -> 500", "/ -> default/s2:80"]
BOTH = ["Accepted", "ResolvedRefs=False/UnsupportedValue", "PartiallyInvalid=True/UnsupportedValue"]


def ref(name: str = "it") -> str:
    named = f"group: gateway.envoyproxy.io, kind: HTTPRouteFilter, name: {name}"
    return f"{{type: ExtensionRef, extensionRef: {{{named}}}}}"


def filter_(spec: str, name: str = "it", namespace: str = "default") -> str:
    return (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: HTTPRouteFilter, "
        f"metadata: {{name: {name}, namespace: {namespace}}}, spec: {{{spec}}}}}\n"
    )


def filtered(*filters: str, backend: str = "{name: s1, port: 80}") -> str:
    return (
        f"{{matches: [{{path: {{value: /a}}}}], filters: [{', '.join(filters or (ref(),))}], "
        f"backendRefs: [{backend}]}}"
    )


def pages(**data: str) -> str:
    found = ", ".join(f"{key.replace('_', '.')}: '{value}'" for key, value in data.items())
    return (
        "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: pages, namespace: default}, "
        f"data: {{{found}}}}}\n"
    )


def action(engine: Engine) -> nodes.Action:
    found = engine.answer(hosts.virtual_host, nodes.HostKey(FLEET, "ingress_http", "*"))
    assert found is not None
    return found.routes[0].action


def served(*manifests: str, rule: str = "") -> nodes.Action:
    """What is done with requests for `/a`, where nothing is wrong."""
    it = world(GIVEN + "".join(manifests) + route("r", rule or filtered(), to("s2")))
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    return action(it)


def refusal(*manifests: str, rule: str = "") -> str:
    """What is told of a rule that is closed."""
    it = world(GIVEN + "".join(manifests) + route("r", rule or filtered(), to("s2")))
    assert routes(it, "*") == CLOSED
    assert status_text.route(it, "r") == BOTH
    return status_text.route_messages(it, "r")[1]


REGEX = "pattern: '^/service/([^/]+)(/.*)$', substitution: '\\2/instance/\\1'"
PATH = f"path: {{type: ReplaceRegexMatch, replaceRegexMatch: {{{REGEX}}}}}"
SUBSTITUTION = nodes.Substitution("^/service/([^/]+)(/.*)$", "\\2/instance/\\1")
HEADER = "hostname: {type: Header, header: X-Host}"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (PATH, nodes.Rewrite(path=SUBSTITUTION)),
        (HEADER, nodes.Rewrite(host_header="x-host", tells_host=True)),
        (f"{HEADER}, appendXForwardedHost: false", nodes.Rewrite(host_header="x-host")),
        ("hostname: {type: Backend}", nodes.Rewrite(host_of_endpoint=True, tells_host=True)),
        (
            f"hostname: {{type: PathRegex, pathRegex: {{{REGEX}}}}}",
            nodes.Rewrite(host_from_path=SUBSTITUTION, tells_host=True),
        ),
        (
            f"{HEADER}, {PATH}",
            nodes.Rewrite(host_header="x-host", path=SUBSTITUTION, tells_host=True),
        ),
    ],
)
def test_urls_are_rewritten(spec: str, expected: nodes.Rewrite) -> None:
    found = served(filter_(f"urlRewrite: {{{spec}}}"))
    assert isinstance(found, nodes.Forward)
    assert found.rewrite == expected


def core(change: str) -> str:
    return f"{{type: URLRewrite, urlRewrite: {{{change}}}}}"


FULL = "path: {type: ReplaceFullPath, replaceFullPath: /b}"


def test_a_url_rewrite_of_the_gateway_api_may_change_the_other_part() -> None:
    found = served(filter_(f"urlRewrite: {{{HEADER}}}"), rule=filtered(core(FULL), ref()))
    assert isinstance(found, nodes.Forward)
    assert found.rewrite == nodes.Rewrite(full_path="/b", host_header="x-host", tells_host=True)
    found = served(
        filter_(f"urlRewrite: {{{PATH}}}"), rule=filtered(ref(), core("hostname: b.com"))
    )
    assert isinstance(found, nodes.Forward)
    assert found.rewrite == nodes.Rewrite("b.com", path=SUBSTITUTION)


INLINE = "directResponse: {contentType: text/html, statusCode: 503, body: {inline: 'Oops!'}}"
STORED = "body: {type: ValueRef, valueRef: {group: '', kind: ConfigMap, name: pages}}"
_HEADERS = "header: {set: [{name: X-A, value: a%b}], add: [{name: b, value: c}]}"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("{}", nodes.Respond(200)),
        ("{body: {inline: 'a%b'}}", nodes.Respond(200, "a%b")),
        (
            "{body: {inline: 'it is %REQ(x-a)%'}}",
            nodes.Respond(200, nodes.Format(("it is ", nodes.Operator("REQ", "x-a")))),
        ),
        (f"{{statusCode: 404, {STORED}}}", nodes.Respond(404, "stored")),
        (f"{{statusCode: 204, {STORED}}}", nodes.Respond(204)),
        (
            f"{{contentType: text/html, {_HEADERS}}}",
            nodes.Respond(
                200,
                "",
                nodes.HeaderPolicy((("content-type", "text/html"), ("x-a", "a%b")), (("b", "c"),)),
            ),
        ),
    ],
)
def test_requests_are_answered(spec: str, expected: nodes.Respond) -> None:
    made = filter_(f"directResponse: {spec}")
    assert served(made, pages(response_body="stored", a="other")) == expected


def test_without_its_key_the_first_value_of_a_configmap_is_the_body() -> None:
    made = filter_(f"directResponse: {{{STORED}}}")
    assert served(made, pages(b="second", a="first")) == nodes.Respond(200, "first")


def test_a_rule_that_is_answered_needs_no_backend() -> None:
    rule = f"{{matches: [{{path: {{value: /a}}}}], filters: [{ref()}]}}"
    assert served(filter_("directResponse: {statusCode: 503}"), rule=rule) == nodes.Respond(503)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (
            "urlRewrite: {path: {type: ReplaceRegexMatch, "
            "replaceRegexMatch: {pattern: '(', substitution: a}}}",
            "spec.urlRewrite.path.replaceRegexMatch.pattern: is not a valid RE2 expression",
        ),
        (
            "urlRewrite: {hostname: {type: PathRegex, "
            "pathRegex: {pattern: a, substitution: '\\1'}}}",
            "spec.urlRewrite.hostname.pathRegex.substitution: names group 1",
        ),
        (
            "urlRewrite: {hostname: {type: Header, header: a b}}",
            "spec.urlRewrite.hostname.header: 'a b' is not a valid header name",
        ),
        ("directResponse: {statusCode: 199}", "spec.directResponse.statusCode: 199 is not from"),
        ("directResponse: {statusCode: 600}", "spec.directResponse.statusCode: 600 is not from"),
        (
            f"directResponse: {{{STORED}}}",
            "spec.directResponse.body.valueRef: ConfigMap pages not found",
        ),
        (
            f"directResponse: {{{STORED.replace('ConfigMap', 'Secret')}}}",
            "spec.directResponse.body.valueRef.kind: Secret is no ConfigMap",
        ),
        (
            f"directResponse: {{body: {{inline: {'a' * 4097}}}}}",
            "spec.directResponse.body: has more than 4096 bytes",
        ),
        (
            'directResponse: {contentType: "a\\nb"}',
            "spec.directResponse.contentType: holds a line break",
        ),
        (
            "directResponse: {header: {add: [{name: Content-Length, value: '1'}]}}",
            "spec.directResponse.header.add[0]: 'Content-Length' says where the message ends",
        ),
        (
            "directResponse: {header: {set: [{name: Connection, value: close}]}}",
            "spec.directResponse.header.set[0]: 'Connection' belongs to the connection",
        ),
        ("matches: [{}]", "spec.matches[0]: has no condition"),
        (
            "matches: [{cookies: [{name: a b, value: b}]}]",
            "spec.matches[0].cookies[0].name: 'a b' is no name of a cookie",
        ),
        (
            "matches: [{cookies: [{name: a, value: a;b}]}]",
            "spec.matches[0].cookies[0].value: 'a;b' is no value of a cookie",
        ),
        (
            "matches: [{cookies: [{name: a, type: RegularExpression, value: '[!-~]'}]}]",
            "spec.matches[0].cookies[0].value: '[!-~]' has [!-~], which matches a semicolon",
        ),
        ("", "spec: says nothing that a rule could do"),
        (
            f"{INLINE}, urlRewrite: {{{PATH}}}",
            "a rule that is answered by directResponse sends no requests on",
        ),
    ],
)
def test_a_filter_that_cannot_be_served_closes_its_rule(spec: str, told: str) -> None:
    found = refusal(filter_(spec))
    assert "spec.rules[0].filters[0].extensionRef: " in found
    assert told in found


@pytest.mark.parametrize(
    ("spec", "filters", "told"),
    [
        (
            f"urlRewrite: {{{PATH}}}",
            (ref(), core(FULL)),
            "filters[0].extensionRef: its urlRewrite.path cannot stand beside",
        ),
        (
            f"urlRewrite: {{{HEADER}}}",
            (core("hostname: b.com"), ref()),
            "filters[1].extensionRef: its urlRewrite.hostname cannot stand beside",
        ),
        (
            INLINE,
            (core(FULL), ref()),
            "filters[1].extensionRef: its directResponse cannot stand beside",
        ),
        (
            f"urlRewrite: {{{HEADER}}}",
            (ref(), ref("other")),
            "filters[1].extensionRef: HTTPRouteFilter default/it has urlRewrite.hostname, too",
        ),
    ],
)
def test_nothing_is_said_twice_of_a_rule(spec: str, filters: tuple[str, ...], told: str) -> None:
    other = filter_("urlRewrite: {hostname: {type: Backend}}", "other")
    assert told in refusal(filter_(spec), other, rule=filtered(*filters))


@pytest.mark.parametrize("spec", [INLINE, f"urlRewrite: {{{PATH}}}"])
def test_what_is_redirected_is_neither_answered_nor_rewritten(spec: str) -> None:
    redirect = "{type: RequestRedirect, requestRedirect: {hostname: b.com}}"
    rule = f"{{matches: [{{path: {{value: /a}}}}], filters: [{redirect}, {ref()}]}}"
    assert "filters[1].extensionRef: its " in refusal(filter_(spec), rule=rule)


def test_a_backend_may_not_be_sent_another_host_than_the_filter_says() -> None:
    hosted = f"{{name: s1, port: 80, filters: [{core('hostname: b.com')}]}}"
    made = filter_(f"urlRewrite: {{{HEADER}}}")
    told = refusal(made, rule=filtered(ref(), backend=hosted))
    assert "its urlRewrite.hostname cannot stand beside" in told


def test_two_filters_may_change_two_parts_and_one_may_be_named_twice() -> None:
    other = filter_(f"urlRewrite: {{{PATH}}}", "other")
    rule = filtered(ref(), ref("other"), ref())
    found = served(filter_(f"urlRewrite: {{{HEADER}}}"), other, rule=rule)
    assert isinstance(found, nodes.Forward)
    assert found.rewrite == nodes.Rewrite(host_header="x-host", path=SUBSTITUTION, tells_host=True)


def cookie(name: str, value: str = "v", type_: str = "Exact") -> str:
    return f"{{name: {name}, value: '{value}', type: {type_}}}"


def matches(*groups: str) -> str:
    """Conditions, of which those of each group must hold together."""
    return f"matches: [{', '.join(f'{{cookies: [{it}]}}' for it in groups)}]"


REWRITING = f"urlRewrite: {{{PATH}}}"
REDIRECT = "{type: RequestRedirect, requestRedirect: {hostname: b.com}}"


@pytest.mark.parametrize(
    ("spec", "rule", "expected"),
    [
        (matches(cookie("a")), "", ["/a/... cookie a=v -> default/s1:80"]),
        (
            matches(cookie("b") + ", " + cookie("a"), cookie("c", "w.*", "RegularExpression")),
            "",
            [
                "/a/... cookie a=v cookie b=v -> default/s1:80",
                "/a/... cookie c~w.* -> default/s1:80",
            ],
        ),
        (f"{matches(cookie('a'))}, {INLINE}", "", ["/a/... cookie a=v -> 503"]),
        (f"{matches(cookie('a'))}, {REWRITING}", "", ["/a/... cookie a=v -> default/s1:80"]),
        (matches(cookie("a")), filtered(ref(), REDIRECT, backend=""), ["/a/... cookie a=v -> "]),
        (matches(cookie("a")), filtered(ref(), ref()), ["/a/... cookie a=v -> default/s1:80"]),
        (
            matches(cookie("a")),
            f"{{matches: [{{path: {{value: /a}}}}, {{headers: [{{name: x, value: y}}]}}], "
            f"filters: [{ref()}], backendRefs: [{{name: s1, port: 80}}]}}",
            ["/a/... cookie a=v -> default/s1:80", "/ x=y cookie a=v -> default/s1:80"],
        ),
        (
            f"{matches(cookie('a'))}, {REWRITING}",
            filtered(core("hostname: b.com"), ref(), ref("missing")),
            ["/a/... cookie a=v -> 500"],
        ),
    ],
)
def test_only_requests_with_cookies_are_of_the_rule(
    spec: str, rule: str, expected: list[str]
) -> None:
    it = world(GIVEN + filter_(spec) + route("r", rule or filtered(), to("s2")))
    *found, rest = routes(it, "*")
    assert rest == "/ -> default/s2:80"
    assert len(found) == len(expected), found
    assert all(map(str.startswith, found, expected)), found


def test_more_cookies_come_first_and_behind_all_that_the_gateway_api_orders() -> None:
    headed = "{matches: [{headers: [{name: x, value: y}]}], backendRefs: [{name: s2, port: 80}]}"
    rules = (
        f"{{filters: [{ref(it)}], backendRefs: [{{name: s1, port: 80}}]}}" for it in ("one", "two")
    )
    made = filter_(matches(cookie("a")), "one")
    made += filter_(matches(cookie("a") + ", " + cookie("b")), "two")
    it = world(GIVEN + made + route("r", *rules, headed, to("s2")))
    assert routes(it, "*") == [
        "/ x=y -> default/s2:80",
        "/ cookie a=v cookie b=v -> default/s1:80",
        "/ cookie a=v -> default/s1:80",
        "/ -> default/s2:80",
    ]


def test_two_filters_with_cookies_close_the_rule_for_everybody() -> None:
    both = filter_(matches(cookie("a"))) + filter_(matches(cookie("b")), "other")
    found = refusal(both, rule=filtered(ref(), ref("other")))
    assert "HTTPRouteFilter default/it has matches, too, which a rule may have once" in found


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (
            f"urlRewrite: {{{PATH}, appendXForwardedHost: false}}",
            "spec.urlRewrite.appendXForwardedHost: has no effect without hostname",
        ),
        (
            "directResponse: {header: {remove: [a]}}",
            "spec.directResponse.header.remove: has no effect",
        ),
        (
            "directResponse: {statusCode: 204, body: {inline: a}}",
            "spec.directResponse.body: has no effect: an answer with the status 204 has no body",
        ),
    ],
)
def test_what_has_no_effect_is_told(spec: str, told: str) -> None:
    it = world(GIVEN + filter_(spec) + route("r", filtered(), to("s2")))
    target = routes(it, "*")[0].removeprefix("/a/... -> ")
    assert target in {"default/s1:80", "200", "204"}
    assert told in status_text.route_messages(it, "r")[1]


def grpc(filters: str = "") -> str:
    return (
        "---\n{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, "
        "metadata: {name: g, namespace: default}, spec: {parentRefs: [{name: gw}], rules: "
        f"[{{filters: [{filters or ref()}], backendRefs: [{{name: s1, port: 80}}]}}]}}}}\n"
    )


def grpc_messages(engine: Engine) -> list[str]:
    found = engine.answer(STATUSES["GRPCRoute"], NamespacedName("default", "g"))
    assert isinstance(found, statuses.RouteStatus)
    return [it.message for it in found.parents[0].conditions]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("directResponse: {}", "statusCode: answers 200, which gRPC clients take for a success"),
        (f"urlRewrite: {{{PATH}}}", "a GRPCRoute may have a directResponse, and nothing else"),
        (
            f"directResponse: {{statusCode: 403}}, {matches(cookie('a'))}",
            "a GRPCRoute may have a directResponse, and nothing else",
        ),
    ],
)
def test_in_a_grpc_route_some_filters_close_the_rule(spec: str, told: str) -> None:
    it = world(GIVEN + filter_(spec) + grpc())
    assert action(it) == nodes.Respond(503)
    assert any(told in message for message in grpc_messages(it))


def test_a_grpc_route_is_answered_with_an_error_of_its_protocol() -> None:
    it = world(GIVEN + filter_(INLINE) + grpc())
    assert action(it) == nodes.Respond(503, "Oops!", nodes.HeaderPolicy())
    assert any("the content type is left out" in message for message in grpc_messages(it))


def test_a_rule_that_is_answered_cannot_be_counted() -> None:
    limit = (
        "---\n{apiVersion: gateway.envoyproxy.io/v1alpha1, kind: RateLimitFilter, "
        "metadata: {name: few, namespace: default}, spec: {type: Global, global: "
        "{rules: [{limit: {requests: 1, unit: Hour}}]}}}\n"
    )
    counted = ref("few").replace("HTTPRouteFilter", "RateLimitFilter")
    it = world(GIVEN + filter_(INLINE) + limit + route("r", filtered(ref(), counted), to("s2")))
    assert routes(it, "*") == CLOSED


def test_an_edit_does_the_same_work_for_any_number_of_routes_that_it_does_not_change() -> None:
    """Another name of the header in other case is the same header."""
    assert [_edited(10), _edited(100)] == [work.Work(runs=1, checks=1, woken=1)] * 2


def _edited(count: int) -> work.Work:
    many = "".join(route(f"r{it}", filtered(), hosts=(f"h{it}.com",)) for it in range(count))
    it = world(GIVEN + filter_(f"urlRewrite: {{{HEADER}}}") + many)
    before = (it.work.runs, it.work.checks, it.work.woken)
    apply(it, filter_(f"urlRewrite: {{{HEADER.replace('X-Host', 'x-host')}}}"))
    after = (it.work.runs, it.work.checks, it.work.woken)
    return work.Work(*(b - a for a, b in zip(before, after, strict=True)))

"""What stands before the action of a route: on a host, on a route, and where it cannot be built."""

import pytest

from dag import nodes
from tests.dag.httpproxy import served
from tests.dag.httpproxy.manifests import configuration, extension, on, root, to
from tests.dag.world import apply, messages, problems, routes, world

SERVICES = served.SERVICES


def hosted(guard: str) -> nodes.Policies:
    """What stands on a virtual host, with nothing to complain about."""
    text = root("root", f"routes: [{to('s1')}]").replace("fqdn: a.com", f"fqdn: a.com, {guard}")
    engine = world(SERVICES + COUNTER + text)
    assert problems(engine, "HTTPProxy", "root") == []
    found = served.virtual_host(engine)
    assert found.routes[0].policies is None
    assert found.policies is not None
    return found.policies


def on_route(guard: str) -> nodes.Policies:
    """What stands on a route, with nothing to complain about."""
    found, told = served.route(to("s1", guard), COUNTER)
    assert told == []
    assert found.policies is not None
    return found.policies


SERVICE = "extensionService: {namespace: default, name: counter}"
COUNTER = extension("counter") + configuration(f"rateLimitService: {{{SERVICE}}}")

ANY = nodes.ValueMatch("present")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("allowOrigin: ['*'], allowMethods: [GET]", nodes.Cors((ANY,), ("GET",))),
        (
            "allowOrigin: ['https://a.com:8443'], allowMethods: [GET, POST], allowHeaders: [X-A], "
            "exposeHeaders: [X-B], maxAge: 10m, allowCredentials: true, allowPrivateNetwork: true",
            nodes.Cors(
                (nodes.ValueMatch("exact", "https://a.com:8443", ignore_case=True),),
                ("GET", "POST"),
                ("X-A",),
                ("X-B",),
                600,
                credentials=True,
                private_network=True,
            ),
        ),
        (
            "allowOrigin: ['http://[::1]:3000'], allowMethods: [GET]",
            nodes.Cors(
                (nodes.ValueMatch("exact", "http://[::1]:3000", ignore_case=True),), ("GET",)
            ),
        ),
        (
            "allowOrigin: ['https://*.a.com'], allowMethods: [GET], maxAge: '0'",
            nodes.Cors(
                (nodes.ValueMatch("regex", r"(?i)https\:\/\/[a-z0-9.-]+\.a\.com"),),
                ("GET",),
                max_age=0,
            ),
        ),
        (
            "allowOrigin: ['https?://(a|b)[.]com'], allowMethods: [GET], maxAge: 720h",
            nodes.Cors(
                (nodes.ValueMatch("regex", "https?://(a|b)[.]com"),), ("GET",), max_age=2592000
            ),
        ),
    ],
)
def test_pages_of_other_origins(policy: str, expected: nodes.Cors) -> None:
    assert hosted(f"corsPolicy: {{{policy}}}").cors == expected


RANGES = "{source: Peer, cidr: 10.1.2.3/8}, {source: Remote, cidr: '2001:db8::1'}"
FOUND = (nodes.IpRange("10.0.0.0/8", "Peer"), nodes.IpRange("2001:db8::1/128", "Remote"))


@pytest.mark.parametrize("kind", ["Allow", "Deny"])
def test_addresses_are_filtered_on_hosts_and_on_routes(kind: str) -> None:
    written = f"ip{kind}Policy: [{RANGES}]"
    expected = nodes.IpFilter("ALLOW" if kind == "Allow" else "DENY", FOUND)
    assert hosted(written).ip_filter == expected
    assert on_route(written).ip_filter == expected


def test_mapped_addresses_are_filtered_as_those_of_ipv4_that_envoy_sees() -> None:
    written = "ipDenyPolicy: [{source: Peer, cidr: '::ffff:10.0.0.0/104'}]"
    found = nodes.IpFilter("DENY", (nodes.IpRange("10.0.0.0/8"),))
    assert hosted(written).ip_filter == on_route(written).ip_filter == found


LIMIT = (
    "rateLimitPolicy: {local: {requests: 5, unit: minute, burst: 2, responseStatusCode: 503, "
    "responseHeadersToAdd: [{name: X-Over, value: '1'}]}}"
)


def test_requests_are_counted_by_each_envoy() -> None:
    expected = nodes.LocalRateLimit(5, "minute", 2, 503, (("x-over", "1"),))
    assert hosted(LIMIT).local_rate_limit == expected
    assert on_route(LIMIT).local_rate_limit == expected


DESCRIPTORS = (
    "rateLimitPolicy: {global: {descriptors: [{entries: [{remoteAddress: {}}, "
    "{genericKey: {value: a}}]}, {entries: [{requestHeader: {headerName: X-A, descriptorKey: b}}, "
    "{requestHeaderValueMatch: {headers: [{name: X-B, exact: c}], expectMatch: false, "
    "value: d}}]}]}}"
)
COUNTED = nodes.RateLimits(
    (
        (nodes.RemoteAddress(), nodes.GenericKey("a")),
        (
            nodes.RequestHeader("x-a", "b"),
            nodes.HeaderValueMatch(
                (nodes.HeaderMatch("x-b", nodes.ValueMatch("exact", "c")),), "d", expect=False
            ),
        ),
    )
)


def test_requests_are_counted_by_a_service_for_all_envoys() -> None:
    assert hosted(DESCRIPTORS).rate_limits == COUNTED
    assert on_route(DESCRIPTORS).rate_limits == COUNTED
    assert on_route("rateLimitPolicy: {global: {disabled: true}}").rate_limits == nodes.OFF
    assert hosted("rateLimitPolicy: {global: {disabled: true}}").rate_limits == nodes.OFF


def test_where_envoy_does_not_ask_the_service_a_warning_tells() -> None:
    found, told = served.route(f"{{requestRedirectPolicy: {{}}, {DESCRIPTORS}}}", COUNTER)
    assert found.policies == nodes.Policies(rate_limits=COUNTED)
    assert told == [
        "?SpecError/IgnoredField: spec.routes[0].rateLimitPolicy.global: Envoy asks the rate limit "
        "service only of routes with services"
    ]


PAGE = "errorPages: [{statuses: [{start: 500, end: 600}], body: sorry, contentType: text/html}]"


def test_bodies_are_limited_and_errors_have_pages() -> None:
    pages = (nodes.ErrorPage(((500, 600),), "sorry", "text/html"),)
    for guards in (hosted, on_route):
        found = guards(f"maxRequestBytes: 1024, {PAGE}")
        assert (found.body_limit, found.error_pages) == (1024, pages)


@pytest.mark.parametrize(
    "answer",
    ["requestRedirectPolicy: {hostname: b.com}", "directResponsePolicy: {statusCode: 200}"],
)
def test_guards_stand_before_every_kind_of_route(answer: str) -> None:
    found, told = served.route(f"{{{answer}, ipDenyPolicy: [{RANGES}], {LIMIT}}}")
    assert told == []
    assert found.policies is not None
    assert found.policies.ip_filter == nodes.IpFilter("DENY", FOUND)
    assert found.policies.local_rate_limit is not None


BAD = [
    ("ipAllowPolicy: [{source: Peer, cidr: x}, {source: Peer, cidr: 10.0.0.0/8}]",
     "IPFilterError/InvalidCIDR", "ipAllowPolicy[0].cidr"),
    ("ipDenyPolicy: [{source: Peer, cidr: 'fe80::1%eth0'}]",
     "IPFilterError/InvalidCIDR", "ipDenyPolicy[0].cidr"),
    (f"ipAllowPolicy: [{RANGES}], ipDenyPolicy: [{RANGES}]",
     "IPFilterError/IncompatibleIPAddressFilters", "ipDenyPolicy"),
    ("rateLimitPolicy: {local: {requests: 4294967295, unit: hour, burst: 1}}",
     "Error/RateLimitPolicyNotValid", "rateLimitPolicy.local.burst"),
    ("rateLimitPolicy: {local: {requests: 1, unit: hour, responseHeadersToAdd: "
     "[{name: 'a b', value: c}]}}",
     "Error/RateLimitPolicyNotValid", "rateLimitPolicy.local.responseHeadersToAdd[0]"),
    ("rateLimitPolicy: {local: {requests: 1, unit: hour, responseStatusCode: 430}}",
     "Error/RateLimitPolicyNotValid", "rateLimitPolicy.local.responseStatusCode"),
    ("rateLimitPolicy: {global: {descriptors: [{entries: [{}]}]}}",
     "Error/RateLimitPolicyNotValid", "rateLimitPolicy.global.descriptors[0].entries[0]"),
    ("rateLimitPolicy: {global: {descriptors: [{entries: [{requestHeaderValueMatch: "
     "{headers: [{name: a}], value: b}}]}]}}",
     "Error/RateLimitPolicyNotValid",
     "rateLimitPolicy.global.descriptors[0].entries[0].requestHeaderValueMatch"),
    ("rateLimitPolicy: {global: {descriptors: [{entries: [{requestHeaderValueMatch: "
     "{value: b}}]}]}}",
     "Error/RateLimitPolicyNotValid",
     "rateLimitPolicy.global.descriptors[0].entries[0].requestHeaderValueMatch"),
    ("errorPages: [{statuses: [{start: 500, end: 500}]}]",
     "Error/ErrorPagesInvalid", "errorPages[0].statuses"),
    (f"errorPages: [{{statuses: [{{start: 500, end: 600}}], body: {'x' * 4097}}}]",
     "Error/ErrorPagesInvalid", "errorPages[0].body"),
]  # fmt: skip


@pytest.mark.parametrize(("guard", "reason", "where"), BAD)
def test_a_guard_that_cannot_be_built_closes_its_route(guard: str, reason: str, where: str) -> None:
    (told,) = served.closed(to("s1", guard))
    type_, _, rest = told.partition("/")
    assert f"{type_}/{rest}".partition(":")[0].endswith(reason)
    assert f": spec.routes[0].{where}: " in told
    assert told.endswith("; what it guards is answered with 503")


HOST_ONLY = [
    ("corsPolicy: {allowOrigin: ['(('], allowMethods: [GET]}",
     "CORSError/PolicyDidNotParse", "corsPolicy.allowOrigin[0]"),
    ("corsPolicy: {allowOrigin: [''], allowMethods: [GET]}",
     "CORSError/PolicyDidNotParse", "corsPolicy.allowOrigin[0]"),
    ("authorization: {}", "AuthError/ExtensionServiceNotFound", "authorization"),
]  # fmt: skip


@pytest.mark.parametrize(("guard", "reason", "where"), [*BAD, *HOST_ONLY])
def test_a_guard_that_cannot_be_built_closes_its_host(guard: str, reason: str, where: str) -> None:
    text = root("root", f"routes: [{to('s1')}, {on('/x', 's2')}]")
    engine = world(SERVICES + text.replace("fqdn: a.com", f"fqdn: a.com, {guard}"))
    assert routes(engine, "a.com") == ["/x -> 503", "/ -> 503"]
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.partition(":")[0].endswith(reason)
    assert f": spec.virtualhost.{where}: " in told


ALLOWED = f"ipAllowPolicy: [{RANGES}]"
LENGTH = "requestHeadersPolicy: {set: [{name: Content-Length, value: '1'}]}"


@pytest.mark.parametrize(
    "guard",
    [
        ALLOWED,
        f"ipDenyPolicy: [{RANGES}]",
        "rateLimitPolicy: {local: {requests: 1, unit: hour}}",
        "maxRequestBytes: 1",
        "authPolicy: {context: {a: b}}",
    ],
)
@pytest.mark.parametrize(
    ("mistake", "where"),
    [
        (LENGTH, "spec.routes[0].requestHeadersPolicy: "),
        ("timeoutPolicy: {response: 25h}", "spec.routes[0].timeoutPolicy.response: "),
        ("directResponsePolicy: {statusCode: 200}", "spec.routes[0]: "),
    ],
)
def test_a_mistake_beside_a_sound_guard_closes_the_route(
    mistake: str, where: str, guard: str
) -> None:
    def served_of(rest: str) -> tuple[list[str], list[str]]:
        text = root("root", f"routes: [{on('/x', 's1', rest)}, {to('s2')}]")
        engine = world(SERVICES + text)
        return routes(engine, "a.com"), messages(engine, "HTTPProxy", "root")

    found, told = served_of(f"{guard}, {mistake}")
    assert found == ["/x -> 503", "/ -> default/s2:80"]
    assert where in told[0]
    assert told[0].endswith("; the route has a guard, so it is answered with 503")
    found, (alone,) = served_of(mistake)
    assert found == ["/ -> default/s2:80"]
    assert "503" not in alone


def test_a_mistake_closes_a_route_that_its_host_guards_because_a_wider_one_may_replace_that() -> (
    None
):
    bad, wide = on("/x", "s1", LENGTH), to("s2", "ipAllowPolicy: [{source: Peer, cidr: 0.0.0.0/0}]")
    text = root("root", f"routes: [{bad}, {wide}]")
    engine = world(SERVICES + text.replace("fqdn: a.com", f"fqdn: a.com, {ALLOWED}"))
    assert routes(engine, "a.com") == ["/x -> 503", "/ -> default/s2:80"]


def test_preflights_of_routes_for_one_method_are_taken() -> None:
    guarded = "fqdn: a.com, corsPolicy: {allowOrigin: ['*'], allowMethods: [GET]}"
    text = root("root", f"routes: [{to('s1', 'conditions: [{method: GET}]')}]")
    engine = world(SERVICES + text.replace("fqdn: a.com", guarded))
    assert routes(engine, "a.com") == [
        "/ GET -> default/s1:80",
        "/ OPTIONS origin~.+ access-control-request-method=GET -> default/s1:80",
    ]


def test_not_every_header_can_be_read_with_credentials() -> None:
    cors = "allowOrigin: ['*'], allowMethods: [GET], exposeHeaders: ['*'], allowCredentials: true"
    guarded = f"fqdn: a.com, corsPolicy: {{{cors}}}"
    text = root("root", f"routes: [{to('s1')}]").replace("fqdn: a.com", guarded)
    (told,) = messages(world(SERVICES + text), "HTTPProxy", "root")
    assert told == (
        "?SpecError/IgnoredField: spec.virtualhost.corsPolicy.exposeHeaders: '*' stands for no "
        "header where credentials are allowed; it has no effect"
    )


def test_a_host_that_says_nothing_gets_the_default_rate_limits_of_the_configuration() -> None:
    default = DESCRIPTORS.removeprefix("rateLimitPolicy: {global: ").removesuffix("}")
    everywhere = configuration(
        f"rateLimitService: {{{SERVICE}, defaultGlobalRateLimitPolicy: {default}}}"
    )
    engine = world(
        SERVICES + extension("counter") + everywhere + root("root", f"routes: [{to('s1')}]")
    )
    assert served.virtual_host(engine).policies == nodes.Policies(rate_limits=COUNTED)


@pytest.mark.parametrize(
    ("fails_open", "expected"), [("false", ["/ -> 503"]), ("true", ["/ -> default/s1:80"])]
)
def test_what_is_limited_is_closed_while_nobody_counts_unless_it_is_to_fail_open(
    fails_open: str, expected: list[str]
) -> None:
    everywhere = configuration(f"rateLimitService: {{{SERVICE}, failOpen: {fails_open}}}")
    limited = root("root", f"routes: [{to('s1', DESCRIPTORS)}]")
    free = root("free", f"routes: [{to('s1')}]", fqdn="b.com")
    engine = world(SERVICES + everywhere + limited + free)
    assert routes(engine, "a.com") == expected
    assert routes(engine, "b.com") == ["/ -> default/s1:80"]
    apply(engine, extension("counter"))
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]


def test_without_a_service_that_counts_a_warning_tells() -> None:
    _, told = served.route(to("s1", DESCRIPTORS))
    assert told == [
        "?SpecError/IgnoredField: spec.routes[0].rateLimitPolicy.global: has no effect: the "
        "configuration names no rateLimitService"
    ]


def test_a_limit_that_nobody_counts_is_told_of_the_host_or_the_route() -> None:
    limit = "rateLimitPolicy: {global: {descriptors: [{entries: [{remoteAddress: {}}]}]}}"
    uncounted = configuration(f"rateLimitService: {{{SERVICE}}}")
    text = root("root", f"routes: [{to('s1')}]").replace("fqdn: a.com", f"fqdn: a.com, {limit}")
    engine = world(SERVICES + uncounted + text + root("b", f"routes: [{to('s1', limit)}]", "b.com"))
    assert problems(engine, "HTTPProxy", "root") == ["VirtualHostError/RateLimitPolicyNotValid"]
    assert problems(engine, "HTTPProxy", "b") == ["RouteError/RateLimitPolicyNotValid"]

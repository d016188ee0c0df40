"""Which routes serve a host: isolation of listeners, precedence of routes, TLS, and the merge."""

import pytest

from dag import hosts, nodes
from dag.engine.incremental import Engine
from dag.gateway import hosts as gateway_hosts
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    host,
    http,
    https,
    on,
    route,
    service,
    to,
)
from tests.dag.httpproxy import manifests as httpproxy
from tests.dag.world import FLEET, apply, delete, routes, secure, secure_host, tls, world
from tests.testbed import pairs

SERVICES = service("s1") + service("s2") + service("s3")


def given(*listeners: str) -> str:
    return gateway_class() + gateway("gw", *listeners) + SERVICES


def exists(it: Engine, name: str, listener: str = "ingress_http") -> bool:
    return it.answer(hosts.virtual_host, nodes.HostKey(FLEET, listener, name)) is not None


NESTED = (
    http("none"),
    http("wide", host("*.example.com")),
    http("narrow", host("*.foo.example.com")),
    http("exact", host("abc.foo.example.com")),
)
NAMES = ("*", "*.example.com", "*.foo.example.com", "abc.foo.example.com")


def test_a_host_is_served_by_the_most_specific_listener_only() -> None:
    it = world(given(*NESTED))
    for section, path in (("none", "a"), ("wide", "b"), ("narrow", "c"), ("exact", "d")):
        apply(
            it,
            route(section, on(f"/{path}", "s1"), parents=f"{{name: gw, sectionName: {section}}}"),
        )
    assert [routes(it, name) for name in NAMES] == [
        ["/a/... -> default/s1:80"],
        ["/b/... -> default/s1:80"],
        ["/c/... -> default/s1:80"],
        ["/d/... -> default/s1:80"],
    ]


def test_the_host_of_a_listener_without_routes_is_there_so_that_no_wider_one_answers() -> None:
    it = world(given(*NESTED) + route("r", parents="{name: gw, sectionName: none}"))
    assert routes(it, "*") == ["/ -> default/s1:80"]
    for name in NAMES[1:]:
        assert exists(it, name)
        assert routes(it, name) == []


def test_a_route_of_a_wider_listener_gets_no_host_that_a_narrower_one_owns() -> None:
    it = world(
        given(*NESTED)
        + route("r", parents="{name: gw, sectionName: none}", hosts=("x.example.com", "b.com"))
    )
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    assert routes(it, "b.com") == ["/ -> default/s1:80"]
    assert not exists(it, "x.example.com")


def test_a_listener_that_is_not_accepted_owns_nothing() -> None:
    rest = f"{host('a.com')}, allowedRoutes: {{kinds: [{{kind: TCPRoute}}]}}"
    it = world(given(https("wide"), https("odd", rest=rest)) + pairs.secret("cert") + route("r"))
    assert secure(it, "*") == ["/ -> default/s1:80"]
    assert not exists(it, "a.com", "ingress_https")
    assert tls(it, "a.com") == ""


def test_a_listener_without_its_certificate_leaves_its_host_to_no_other() -> None:
    wide, narrow = https("wide"), https("narrow", "missing", host("a.com"))
    it = world(given(wide, narrow) + pairs.secret("cert") + route("r"))
    assert secure(it, "*") == ["/ -> default/s1:80"]
    assert not exists(it, "a.com", "ingress_https")
    assert secure_host(it, "a.com").stream == gateway_hosts.CLOSED


def test_equal_matches_go_to_the_oldest_route_then_to_the_first_by_name_then_rule() -> None:
    it = world(
        given()
        + route("a", on("/x", "s1"), created="02")
        + route("b", on("/x", "s2"), on("/x", "s3"), created="01")
    )
    assert routes(it, "*") == ["/x/... -> default/s2:80"]
    delete(it, "HTTPRoute", "b")
    assert routes(it, "*") == ["/x/... -> default/s1:80"]
    apply(it, route("b", on("/x", "s2"), created="02"))
    assert routes(it, "*") == ["/x/... -> default/s1:80"]


def test_matches_of_equal_rank_are_tried_in_the_order_of_age() -> None:
    header = "matches: [{headers: [{name: %s, value: '1'}]}]"
    it = world(
        given()
        + route("a", to("s1", header % "x"), created="02")
        + route("b", to("s2", header % "y"), created="01")
    )
    assert routes(it, "*") == ["/ y=1 -> default/s2:80", "/ x=1 -> default/s1:80"]


def test_routes_of_many_objects_are_ordered_by_their_matches() -> None:
    it = world(
        given()
        + route("a", on("/", "s1"), to("s2", "matches: [{path: {type: Exact, value: /x}}]"))
        + route("b", on("/x", "s2"), on("/x/y", "s3"))
        + route("c", to("s3", "matches: [{path: {value: /x}, method: GET}]"))
    )
    assert routes(it, "*") == [
        "=/x -> default/s2:80",
        "/x/y/... -> default/s3:80",
        "/x/... GET -> default/s3:80",
        "/x/... -> default/s2:80",
        "/ -> default/s1:80",
    ]


def test_tls_is_terminated_with_the_certificate_of_the_listener_that_owns_the_host() -> None:
    it = world(
        given(https("wide"), https("narrow", "other", host("*.a.com")))
        + pairs.secret("cert")
        + pairs.secret("other")
        + route("r", hosts=("x.a.com", "b.com"))
    )
    found = {name: tls(it, name).split(" ")[0] for name in ("*", "*.a.com", "x.a.com", "b.com")}
    assert found == {
        "*": "default/cert",
        "*.a.com": "default/other",
        "x.a.com": "default/other",
        "b.com": "default/cert",
    }
    assert secure(it, "x.a.com") == secure(it, "b.com") == ["/ -> default/s1:80"]


def test_the_versions_of_tls_are_those_of_the_configuration() -> None:
    versions = httpproxy.configuration(
        "gateway: {}, envoy: {listener: {tls: {minimumProtocolVersion: '1.3'}}}"
    )
    it = world(given(https()) + pairs.secret("cert") + versions)
    assert tls(it, "*") == "default/cert 1.3-1.3"


def test_an_httproute_beats_an_httpproxy_where_both_match_and_shares_where_not() -> None:
    rules = f"routes: [{httpproxy.on('/', 's2')}, {httpproxy.on('/p', 's3')}]"
    it = world(given() + httpproxy.root("p", rules, fqdn="a.com") + route("r", hosts=("a.com",)))
    assert routes(it, "a.com") == ["/p -> default/s3:80", "/ -> default/s1:80"]
    delete(it, "HTTPRoute", "r")
    assert routes(it, "a.com") == ["/p -> default/s3:80", "/ -> default/s2:80"]


@pytest.mark.parametrize(
    ("path", "before"),
    [
        ("/o/other/more", []),
        ("/o/other", ["/n", "/o/other"]),
        ("/long", ["/n", "/o/other"]),
        ("/o", ["/n", "/o/other", "/o"]),
        ("/", ["/n", "/o/other", "/o"]),
    ],
)
def test_an_httpproxy_stays_below_each_route_that_matches_as_closely(
    path: str, before: list[str]
) -> None:
    proxy = httpproxy.root("p", f"routes: [{httpproxy.on(path, 's3')}]", fqdn="x.a.com")
    wider = route("a", on("/o/other", "s2"), on("/o", "s2"), hosts=("*.a.com",))
    nearest = route("b", on("/n", "s2"), hosts=("x.a.com",))
    it = world(given(http(rest=host("x.a.com"))) + wider + nearest + proxy)
    found = routes(it, "x.a.com")
    own = found.index(f"{path} -> default/s3:80")
    assert [it.split("/..")[0] for it in found[:own]] == before
    assert len(found) == 4


def test_a_gateway_that_goes_takes_its_hosts_and_leaves_those_of_others() -> None:
    proxy = httpproxy.root("p", f"routes: [{httpproxy.on('/', 's2')}]", fqdn="a.com")
    it = world(given() + proxy + route("r", hosts=("a.com", "b.com")))
    delete(it, "Gateway", "gw")
    assert routes(it, "a.com") == ["/ -> default/s2:80"]
    assert not exists(it, "b.com")
    assert not exists(it, "*")

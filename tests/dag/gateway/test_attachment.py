"""Where routes are attached, and the reason at the stage that leaves no listener."""

import pytest

from dag import tables
from dag.plan import STATUSES
from dag.statuses import PolicyStatus
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    ALL,
    gateway,
    gateway_class,
    host,
    http,
    https,
    listener,
    namespace,
    route,
    service,
    with_field,
)
from tests.dag.gateway.test_securitypolicies import policy
from tests.dag.world import apply, delete, key, routes, world

S1 = ["/ -> default/s1:80"]
NOWHERE = "NoMatchingParent"
REFUSED = "NotAllowedByListeners"
STRANGER = "NoMatchingListenerHostname"


def selector(text: str) -> str:
    return f"allowedRoutes: {{namespaces: {{from: Selector, selector: {text}}}}}"


def given(*listeners: str) -> str:
    return gateway_class() + gateway("gw", *listeners) + service("s1")


@pytest.mark.parametrize(
    ("parent", "attached"),
    [
        ("{name: gw}", {"a": 1, "b": 1}),
        ("{name: gw, sectionName: a}", {"a": 1, "b": 0}),
        ("{name: gw, port: 8080}", {"a": 0, "b": 1}),
        ("{name: gw, port: 8080, sectionName: b}", {"a": 0, "b": 1}),
        ("{name: gw, sectionName: a}, {name: gw, sectionName: b}", {"a": 1, "b": 1}),
    ],
)
def test_a_parent_reference_selects_by_section_and_port(
    parent: str, attached: dict[str, int]
) -> None:
    it = world(given(http("a"), http("b", port=8080)) + route("r", parents=parent))
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    assert status_text.attached(it) == attached
    assert routes(it, "*", "ingress_http") == (S1 if attached["a"] else [])
    assert routes(it, "*", "http-8080") == (S1 if attached["b"] else [])


@pytest.mark.parametrize(
    "parent",
    [
        "{name: gw, sectionName: missing}",
        "{name: gw, port: 81}",
        "{name: gw, sectionName: a, port: 8080}",
    ],
)
def test_a_reference_that_selects_no_listener_has_no_matching_parent(parent: str) -> None:
    it = world(given(http("a"), http("b", port=8080)) + route("r", parents=parent))
    assert status_text.route(it, "r") == [f"Accepted=False/{NOWHERE}", "ResolvedRefs"]
    assert status_text.attached(it) == {"a": 0, "b": 0}
    assert routes(it, "*") == []


@pytest.mark.parametrize(
    "parent",
    [
        "{name: missing}",
        "{name: gw, namespace: far}",
        "{name: gw, kind: Service, group: ''}",
        "{name: gw, group: example.com}",
    ],
)
def test_parents_that_are_not_ours_say_nothing(parent: str) -> None:
    it = world(given() + route("r", parents=f"{parent}, {{name: gw}}"))
    assert [each.parent.name for each in status_text.parents_of(it, "r")] == ["gw"]
    apply(it, route("r", parents=parent))
    assert status_text.parents_of(it, "r") == ()


def test_each_parent_reference_has_its_entry_as_it_was_written() -> None:
    parents = "{name: gw, sectionName: a, namespace: default}, {name: gw, sectionName: x}"
    it = world(given(http("a")) + route("r", parents=parents))
    first, second = (each.parent for each in status_text.parents_of(it, "r"))
    assert (first.section_name, first.namespace) == ("a", "default")
    assert (second.section_name, second.namespace) == ("x", None)
    assert status_text.route(it, "r", 0) == ["Accepted", "ResolvedRefs"]
    assert status_text.route(it, "r", 1)[0] == f"Accepted=False/{NOWHERE}"


@pytest.mark.parametrize(
    ("rest", "admitted"),
    [
        ("", False),
        ("allowedRoutes: {namespaces: {from: Same}}", False),
        (ALL, True),
        (selector("{matchLabels: {team: blue}}"), True),
        (selector("{matchLabels: {team: red}}"), False),
        (selector("{matchLabels: {team: blue, tier: x}}"), False),
        (selector("{matchLabels: {kubernetes.io/metadata.name: far}}"), True),
        (selector("{matchExpressions: [{key: team, operator: In, values: [blue]}]}"), True),
        (selector("{matchExpressions: [{key: team, operator: In, values: [red]}]}"), False),
        (selector("{matchExpressions: [{key: team, operator: NotIn, values: [red]}]}"), True),
        (selector("{matchExpressions: [{key: team, operator: NotIn, values: [blue]}]}"), False),
        (selector("{matchExpressions: [{key: team, operator: Exists}]}"), True),
        (selector("{matchExpressions: [{key: x, operator: Exists}]}"), False),
        (selector("{matchExpressions: [{key: x, operator: DoesNotExist}]}"), True),
        (selector("{matchExpressions: [{key: team, operator: DoesNotExist}]}"), False),
        (selector("{}"), True),
    ],
)
def test_listeners_admit_namespaces(rest: str, admitted: bool) -> None:
    it = world(
        given(http(rest=rest))
        + namespace("far", "team: blue")
        + route("far/r", parents="{name: gw, namespace: default}")
    )
    accepted = "Accepted" if admitted else f"Accepted=False/{REFUSED}"
    assert status_text.route(it, "far/r")[0] == accepted
    assert status_text.attached(it) == {"http": int(admitted)}


@pytest.mark.parametrize(
    ("listener", "message"),
    [
        (
            http(),
            "allows routes of kind HTTPRoute from namespace far (see allowedRoutes.namespaces",
        ),
        (
            http(rest="allowedRoutes: {kinds: [{kind: GRPCRoute}]}"),
            "takes routes of kind HTTPRoute, only GRPCRoute (see protocol and allowedRoutes.kinds",
        ),
        (http(rest="allowedRoutes: {kinds: [{kind: X}]}"), "takes routes (see protocol and"),
    ],
)
def test_a_route_is_told_whether_its_kind_or_its_namespace_is_not_taken(
    listener: str, message: str
) -> None:
    it = world(given(listener) + route("far/r", parents="{name: gw, namespace: default}"))
    assert status_text.route(it, "far/r")[0] == f"Accepted=False/{REFUSED}"
    told = status_text.route_messages(it, "far/r")[0]
    assert told.startswith(f"no listener of Gateway default/gw {message}")


NOT_A_NAME = "'10.0.0.1' is an IP address, not a DNS name"
UNMATCHED = "'c.example.org' matches the hostname of no listener that takes the route"


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (("10.0.0.1",), f"spec.hostnames: none matches * of gw: {NOT_A_NAME}"),
        (("a.example.com", "10.0.0.1"), f"spec.hostnames[1]: {NOT_A_NAME}; it has no effect"),
        (("c.example.org", "a.example.com"), f"spec.hostnames[0]: {UNMATCHED}; it has no effect"),
        (("c.example.org",), "spec.hostnames: none matches * of gw"),
        (("a.example.com", "*.com"), "the route is attached"),
    ],
)
def test_a_host_name_without_effect_is_told(hosts: tuple[str, ...], message: str) -> None:
    it = world(given(http("a", "hostname: '*.example.com'")) + route("r", hosts=hosts))
    told = status_text.route_messages(it, "r")[0]
    of_listeners = "the hostname of a listener of Gateway default/gw, which has *.example.com"
    assert told.removeprefix("the route is attached; ") == message.replace("* of gw", of_listeners)


def test_a_host_name_that_one_parent_serves_is_not_told_at_the_other_one() -> None:
    listeners = http("a", "hostname: a.example.com"), http("b", "hostname: b.example.com")
    parents = "{name: gw, sectionName: a}, {name: gw, sectionName: b}"
    it = world(
        given(*listeners) + route("r", parents=parents, hosts=("a.example.com", "b.example.com"))
    )
    for parent in (0, 1):
        assert status_text.route_messages(it, "r", parent)[0] == "the route is attached"


def test_labels_of_a_namespace_that_change_move_its_routes() -> None:
    it = world(
        given(http(rest=selector("{matchLabels: {team: blue}}")))
        + route("far/r", parents="{name: gw, namespace: default}")
    )
    assert status_text.route(it, "far/r")[0] == f"Accepted=False/{REFUSED}"
    apply(it, namespace("far", "team: blue"))
    assert status_text.route(it, "far/r")[0] == "Accepted"
    apply(it, namespace("far", "team: red"))
    assert status_text.route(it, "far/r")[0] == f"Accepted=False/{REFUSED}"


def test_a_namespace_that_is_not_there_has_its_name_as_a_label() -> None:
    by_name = selector("{matchLabels: {kubernetes.io/metadata.name: far}}")
    parent = "{name: gw, namespace: default}"
    it = world(given(http(rest=by_name)) + route("far/r", parents=parent))
    assert status_text.route(it, "far/r")[0] == "Accepted"


@pytest.mark.parametrize(
    ("asked", "admitted"),
    [
        ("{key: team, operator: NotIn, values: [red]}", False),
        ("{key: team, operator: DoesNotExist}", False),
        ("{key: kubernetes.io/metadata.name, operator: NotIn, values: [other]}", True),
        ("{key: kubernetes.io/metadata.name, operator: In, values: [far]}", True),
    ],
)
def test_a_namespace_that_a_cluster_has_not_told_of_is_not_admitted_for_what_it_lacks(
    asked: str, admitted: bool
) -> None:
    before = f"Accepted=False/{REFUSED}" if not admitted else "Accepted"
    listening = given(http(rest=selector(f"{{matchExpressions: [{asked}]}}")))
    it = world(listening + route("far/r", parents="{name: gw, namespace: default}"))
    assert status_text.route(it, "far/r")[0] == "Accepted", "on one machine nothing else is told"
    it.write(tables.LOOPBACK_REFUSED, (), True)
    it.settle()
    assert status_text.route(it, "far/r")[0] == before
    apply(it, namespace("far", "tier: x"))
    assert status_text.route(it, "far/r")[0] == "Accepted"


@pytest.mark.parametrize(
    "only",
    [
        listener("http", 80, "TCP"),
        http(rest="allowedRoutes: {kinds: [{kind: GRPCRoute}]}"),
    ],
)
def test_listeners_that_take_no_httproutes_refuse_them(only: str) -> None:
    it = world(given(only) + route("r"))
    assert status_text.route(it, "r") == [f"Accepted=False/{REFUSED}", "ResolvedRefs"]
    assert status_text.attached(it) == {"http": 0}


@pytest.mark.parametrize(
    ("served", "wanted", "effective"),
    [
        ("a.x.com", ("a.x.com",), ["a.x.com"]),
        ("*.x.com", ("a.x.com", "a.b.x.com"), ["a.x.com", "a.b.x.com"]),
        ("a.x.com", ("*.x.com",), ["a.x.com"]),
        ("*.x.com", ("*.com",), ["*.x.com"]),
        ("*.x.com", ("*.x.com",), ["*.x.com"]),
        ("*.com", ("*.x.com",), ["*.x.com"]),
        ("", ("a.x.com", "*.b.com"), ["a.x.com", "*.b.com"]),
        ("", (), ["*"]),
        ("*.x.com", (), ["*.x.com"]),
        ("*.x.com", ("a.x.com", "b.com"), ["a.x.com"]),
        ("*.x.com", ("x.com",), []),
        ("a.x.com", ("b.x.com",), []),
        ("*.x.com", ("*.b.com",), []),
        ("", ("10.0.0.1",), []),
    ],
)
def test_the_hosts_of_listener_and_route_intersect(
    served: str, wanted: tuple[str, ...], effective: list[str]
) -> None:
    it = world(given(http(rest=host(served) if served else "")) + route("r", hosts=wanted))
    candidates = {*wanted, served or "*", "*.x.com"}
    assert sorted(each for each in candidates if routes(it, each)) == sorted(effective)
    accepted = "Accepted" if effective else f"Accepted=False/{STRANGER}"
    assert status_text.route(it, "r") == [accepted, "ResolvedRefs"]
    assert status_text.attached(it) == {"http": int(bool(effective))}


def test_one_listener_that_takes_it_is_enough() -> None:
    it = world(
        given(http("a", host("a.com")), http("b", host("b.com"))) + route("r", hosts=("b.com",))
    )
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    assert status_text.attached(it) == {"a": 0, "b": 1}


def test_the_numbers_of_attached_routes_follow_routes_that_come_and_go() -> None:
    it = world(given(http("a", host("*.a.com")), https("b", "missing", host("x.a.com"))))
    for name, hosts in (("r1", ("x.a.com",)), ("r2", ("y.a.com",)), ("r3", ("z.com",))):
        apply(it, route(name, hosts=hosts))
    assert status_text.attached(it) == {"a": 2, "b": 1}
    delete(it, "HTTPRoute", "r1")
    assert status_text.attached(it) == {"a": 1, "b": 0}
    delete(it, "HTTPRoute", "r2")
    assert status_text.attached(it) == {"a": 0, "b": 0}


def test_a_route_that_is_attached_twice_to_a_listener_counts_and_serves_once() -> None:
    parents = "{name: gw, sectionName: a}, {name: gw, port: 80}"
    it = world(given(http("a")) + route("r", parents=parents))
    assert status_text.attached(it) == {"a": 1}
    assert routes(it, "*") == S1


def test_a_listener_that_is_added_takes_the_routes_that_wait_for_it() -> None:
    it = world(given(http("a")) + route("r", parents="{name: gw, sectionName: b}"))
    assert status_text.route(it, "r")[0] == f"Accepted=False/{NOWHERE}"
    apply(it, gateway("gw", http("a"), http("b", port=81)))
    assert status_text.route(it, "r")[0] == "Accepted"
    assert routes(it, "*", "http-81") == S1
    apply(it, gateway("gw", http("a")))
    assert status_text.route(it, "r")[0] == f"Accepted=False/{NOWHERE}"
    assert routes(it, "*", "http-81") == []


def test_a_route_may_ask_for_the_default_gateways_and_follows_them() -> None:
    asking = with_field(route("r", parents=""), "useDefaultGateways: All")
    it = world(given() + asking)
    assert status_text.route(it, "r") == []
    apply(it, gateway("gw", rest="defaultScope: All"))
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    assert routes(it, "*") == S1
    assert status_text.attached(it) == {"http": 1}
    apply(it, gateway("gw", rest="defaultScope: None"))
    assert status_text.route(it, "r") == []
    assert routes(it, "*") == []


@pytest.mark.parametrize("kind", ["SecurityPolicy", "BackendTrafficPolicy", "EnvoyExtensionPolicy"])
def test_a_policy_of_a_route_at_a_default_gateway_applies_and_is_told(kind: str) -> None:
    asking = with_field(route("r", parents=""), "useDefaultGateways: All")
    it = world(given() + asking + policy("p", "").replace("SecurityPolicy", kind))
    assert it.answer(STATUSES[kind], key("p")) is None
    apply(it, gateway("gw", rest="defaultScope: All"))
    assert routes(it, "*") == S1
    found = it.answer(STATUSES[kind], key("p"))
    assert isinstance(found, PolicyStatus)
    assert [each.ancestor.name for each in found.ancestors] == ["gw"]


def test_a_default_gateway_takes_only_routes_that_ask_and_that_it_allows() -> None:
    default = gateway_class() + gateway("gw", rest="defaultScope: All") + service("s1")
    it = world(default + route("quiet", parents=""))
    assert status_text.route(it, "quiet") == []
    apply(it, with_field(route("far/r", parents=""), "useDefaultGateways: All"))
    assert status_text.route(it, "far/r")[0] == f"Accepted=False/{REFUSED}"


def test_a_default_gateway_that_a_route_names_too_is_told_once() -> None:
    default = gateway_class() + gateway("gw", rest="defaultScope: All") + service("s1")
    it = world(default + with_field(route("r"), "useDefaultGateways: All"))
    assert len(status_text.parents_of(it, "r")) == 1

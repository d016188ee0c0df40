"""What routes are told whose matches other routes take on the same host."""

import pytest

from dag import statuses
from dag.engine.incremental import Engine
from dag.plan import STATUSES
from tests.dag.gateway.manifests import (
    gateway,
    gateway_class,
    host,
    http,
    listener,
    on,
    route,
    service,
    stream_route,
    to,
)
from tests.dag.world import apply, delete, key, secure_host, world
from tests.testbed import pairs

WORLD = gateway_class() + gateway("gw") + service("s1")
OLD, NEW = "01", "02"
QUERY = "matches: [{path: {type: Exact, value: /x}, queryParams: [{name: q, value: v}]}]"
GRPC = "matches: [{method: {service: s, method: m}}]"


def lost(engine: Engine, name: str, kind: str = "HTTPRoute") -> list[str]:
    """The reason and the message of what a route loses; empty if it loses nothing."""
    found = engine.answer(STATUSES[kind], key(name))
    assert isinstance(found, statuses.RouteStatus)
    (parent,) = found.parents
    accepted = next(it for it in parent.conditions if it.type == "Accepted")
    assert accepted.status == "True"
    told = [it for it in parent.conditions if it.type == "PartiallyInvalid"]
    return [line for it in told for line in (it.reason, it.message)]


WHOLE, PART = "RuleMatchConflict", "RuleMatchPartiallyConflict"
NOTHING_LEFT = "Dropped Rule: no request reaches this route: "
ONE = "Dropped Rule: 1 match is taken by routes that come first: "


@pytest.mark.parametrize(
    ("older", "younger", "told"),
    [
        ((to("s1"),), (to("s1"),), [WHOLE, "path prefix / on a.com"]),
        ((on("/x", "s1"),), (on("/x", "s1"), on("/y", "s1")), [PART, "path prefix /x on a.com"]),
        ((on("/x", "s1"),), (on("/y", "s1"),), []),
        ((on("/", "s1"),), (on("/y", "s1"),), []),  # the longer path comes first
        (
            (to("s1", "matches: [{method: GET, headers: [{name: a, value: b}]}]"),),
            (to("s1", "matches: [{method: GET, headers: [{name: A, value: b}]}]"),),
            [WHOLE, "path prefix /, method GET, header a on a.com"],
        ),
        (
            (to("s1", QUERY),),
            (to("s1", QUERY),),
            [WHOLE, "path /x, query parameter q on a.com"],
        ),
    ],
)  # fmt: skip
def test_the_younger_route_is_told_which_of_its_matches_the_older_one_takes(
    older: tuple[str, ...], younger: tuple[str, ...], told: list[str]
) -> None:
    it = world(
        WORLD
        + route("a-younger", *younger, hosts=("a.com",), created=NEW)
        + route("b-older", *older, hosts=("a.com",), created=OLD)
    )
    assert lost(it, "b-older") == []
    expected = told and [
        told[0],
        (NOTHING_LEFT if told[0] == WHOLE else ONE) + f"HTTPRoute default/b-older takes {told[1]}",
    ]
    assert lost(it, "a-younger") == expected


def test_the_route_with_the_nearer_host_name_takes_a_match_from_an_older_one() -> None:
    it = world(
        gateway_class() + gateway("gw", http(rest=host("x.a.com"))) + service("s1")
        + route("wide", hosts=("*.com", "*.a.com"), created=OLD)
        + route("wider", hosts=("*.com",), created=OLD)
        + route("near", hosts=("*.com", "x.a.com"), created=NEW)
    )  # fmt: skip
    assert lost(it, "near") == []
    for name in ("wide", "wider"):
        assert lost(it, name) == [
            WHOLE, NOTHING_LEFT + "HTTPRoute default/near takes path prefix / on x.a.com"
        ]  # fmt: skip
    delete(it, "HTTPRoute", "near")
    assert lost(it, "wide") == []


def test_of_routes_of_one_age_the_first_by_name_is_served() -> None:
    it = world(WORLD + route("a") + route("b"))
    assert lost(it, "a") == []
    assert lost(it, "b") == [
        WHOLE,
        NOTHING_LEFT + "HTTPRoute default/a takes path prefix / on every host",
    ]


def test_what_is_lost_is_counted_by_host_and_each_winner_is_named_once() -> None:
    it = world(
        WORLD
        + route("a", on("/x", "s1"), hosts=("a.com",))
        + route("b", on("/x", "s1"), on("/y", "s1"), hosts=("b.com",))
        + route("c", on("/x", "s1"), on("/y", "s1"), hosts=("a.com", "b.com"))
    )
    assert lost(it, "c") == [
        PART,
        "Dropped Rule: 3 matches are taken by routes that come first: "
        "HTTPRoute default/a takes path prefix /x on a.com; "
        "HTTPRoute default/b takes path prefix /x on b.com",
    ]


def test_of_many_winners_some_are_named() -> None:
    older = "".join(route(f"r{n}", on(f"/{n}", "s1")) for n in range(6))
    it = world(WORLD + older + route("z", *(on(f"/{n}", "s1") for n in range(6))))
    _, message = lost(it, "z")
    assert message.count("takes path prefix") == 4
    assert message.endswith("; 2 more routes take others")


def test_who_has_lost_is_told_when_the_winner_goes() -> None:
    it = world(WORLD + route("a") + route("b"))
    assert lost(it, "b") != []
    delete(it, "HTTPRoute", "a")
    assert lost(it, "b") == []
    apply(it, route("a", on("/x", "s1")))
    assert lost(it, "b") == []


def test_routes_of_other_listeners_take_nothing() -> None:
    listeners = (http("one", host("*.one.com")), http("two", host("*.two.com")))
    it = world(
        gateway_class() + gateway("gw", *listeners) + service("s1")
        + route("a", parents="{name: gw, sectionName: one}")
        + route("b", parents="{name: gw, sectionName: two}")
    )  # fmt: skip
    assert lost(it, "a") == lost(it, "b") == []


def test_of_routes_of_streams_the_oldest_takes_every_connection() -> None:
    it = world(
        gateway_class() + gateway("gw", listener("tcp", 9000, "TCP")) + service("s1")
        + stream_route("TCPRoute", "a", "{name: s1, port: 80}", created=NEW)
        + stream_route("TCPRoute", "b", "{name: s1, port: 80}", created=OLD)
    )  # fmt: skip
    assert lost(it, "b", "TCPRoute") == []
    assert lost(it, "a", "TCPRoute") == [
        WHOLE, NOTHING_LEFT + "TCPRoute default/b takes all connections on every host"
    ]  # fmt: skip


def test_where_tls_ends_the_oldest_route_of_a_name_takes_its_connections() -> None:
    tls = "tls: {certificateRefs: [{name: cert}]}"
    it = world(
        gateway_class() + gateway("gw", listener("tls", 443, "TLS", tls)) + pairs.secret("cert")
        + service("s1") + stream_route("TCPRoute", "a", "{name: s1, port: 80}", created=NEW)
        + stream_route("TLSRoute", "b", "{name: s1, port: 80}", created=OLD)
        + stream_route("TLSRoute", "c", "{name: s1, port: 80}", "[c.com]", created=NEW)
    )  # fmt: skip
    assert lost(it, "b", "TLSRoute") == lost(it, "c", "TLSRoute") == []
    assert lost(it, "a", "TCPRoute") == [
        WHOLE, NOTHING_LEFT + "TLSRoute default/b takes all connections on every host"
    ]  # fmt: skip
    served = secure_host(it, "*"), secure_host(it, "c.com")
    assert [it.origins[0].name for it in served] == ["b", "c"]


def test_calls_of_grpc_and_other_requests_do_not_meet() -> None:
    calls = route("a", to("s1", GRPC)).replace("HTTPRoute", "GRPCRoute")
    it = world(WORLD + calls + calls.replace("name: a", "name: b") + route("c"))
    assert lost(it, "c") == []
    assert lost(it, "b", "GRPCRoute") == [
        WHOLE, NOTHING_LEFT + "GRPCRoute default/a takes gRPC calls with path /s/m on every host"
    ]  # fmt: skip

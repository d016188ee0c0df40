"""The addresses that a Gateway asks for, those it is given, and what it is told of both."""

import pytest

from dag import statuses
from dag.engine.incremental import Engine
from dag.gateway import addresses
from dag.plan import STATUSES
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import configuration, gateway, gateway_class, http, route, service
from tests.dag.gateway.test_crdversions import definition
from tests.dag.world import FLEET, apply, key, routes, world

IP = statuses.Address("IPAddress", "192.0.2.1")
OTHER = statuses.Address("IPAddress", "192.0.2.2")
IPV6 = statuses.Address("IPAddress", "2001:db8::1")
NAME = statuses.Address("Hostname", "lb.example.com")


def asking(*addresses_: str) -> str:
    return gateway("gw", http(), rest=f"addresses: [{', '.join(addresses_)}]")


def assign(engine: Engine, *found: statuses.Address, fleet: str = FLEET) -> None:
    engine.write(addresses.ASSIGNED, fleet, found)
    engine.settle()


def has(engine: Engine, name: str = "gw") -> tuple[statuses.Address, ...] | None:
    found = engine.answer(STATUSES["Gateway"], key(name))
    assert isinstance(found, statuses.GatewayStatus)
    if found.addresses is None:
        return None
    return tuple(it._replace(routability=None) for it in found.addresses)


@pytest.mark.parametrize(
    ("asked", "assigned", "programmed"),
    [
        ((), (IP,), "Programmed"),
        ((), (IP, NAME), "Programmed"),
        ((), (), "Programmed=False/AddressNotAssigned"),
        (("{}",), (IP,), "Programmed"),
        (("{type: Hostname}",), (IP,), "Programmed"),
        (("{type: IPAddress}",), (), "Programmed=False/AddressNotAssigned"),
        (("{value: 192.0.2.1}",), (IP,), "Programmed"),
        (("{value: 192.0.2.1}",), (OTHER, IP), "Programmed"),
        (("{value: 192.0.2.1}",), (), "Programmed=False/AddressNotUsable"),
        (("{value: 192.0.2.1}",), (OTHER,), "Programmed=False/AddressNotUsable"),
        (("{value: 192.0.2.1}", "{value: 192.0.2.2}"), (IP,), "Programmed=False/AddressNotUsable"),
        (("{value: '2001:DB8:0::1'}",), (IPV6,), "Programmed"),
        (("{type: Hostname, value: lb.example.com}",), (NAME,), "Programmed"),
        (("{type: Hostname, value: b.example.com}",), (NAME,), "Programmed=False/AddressNotUsable"),
    ],
)
def test_a_gateway_is_programmed_where_it_is_asked_to_be(
    asked: tuple[str, ...], assigned: tuple[statuses.Address, ...], programmed: str
) -> None:
    for crds in ("", definition("v1.6.1")):
        it = world(gateway_class() + asking(*asked) + crds)
        assign(it, *assigned)
        assert status_text.gateway(it)[:3] == ["Accepted", programmed, "ResolvedRefs"]
    assert has(it) == assigned


def test_an_address_that_is_not_there_yet_hurts_no_route() -> None:
    it = world(gateway_class() + asking("{value: 192.0.2.1}") + route("r") + service("s1"))
    assign(it)
    assert routes(it, "*") == ["/ -> default/s1:80"]
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    assert "192.0.2.1 not assigned; none is" in status_text.gateway_messages(it)[1]
    assign(it, OTHER)
    assert "192.0.2.1 not assigned; assigned: 192.0.2.2" in status_text.gateway_messages(it)[1]


def test_where_nobody_assigns_addresses_a_value_has_no_effect_and_its_author_is_told() -> None:
    it = world(gateway_class() + asking("{value: 192.0.2.1}"))
    assert status_text.gateway(it) == ["Accepted", "Programmed", "ResolvedRefs"]
    assert "spec.addresses: has no effect" in status_text.gateway_messages(it)[0]
    assert has(it) is None


def test_an_address_of_a_kind_that_envoy_cannot_have_stops_the_gateway_until_it_is_gone() -> None:
    it = world(gateway_class() + asking("{type: test/odd, value: x y}", "{value: 192.0.2.1}"))
    assign(it, IP)
    assert status_text.gateway(it)[:2] == [
        "Accepted=False/UnsupportedAddress",
        "Programmed=False/Invalid",
    ]
    apply(it, asking("{value: 192.0.2.1}"))
    assert status_text.gateway(it)[:2] == ["Accepted", "Programmed"]


def test_a_gateway_that_waits_has_no_address() -> None:
    it = world(gateway_class() + gateway("gw", created="01") + gateway("late", created="02"))
    assign(it, IP)
    assert (has(it), has(it, "late")) == ((IP,), ())


def test_gateways_with_fleets_of_their_own_have_addresses_of_their_own() -> None:
    each = configuration("gateway: {mode: PerGateway}")
    it = world(gateway_class() + each + gateway("gw") + gateway("late"))
    assign(it, IP, fleet="default/gw")
    assign(it, fleet="default/late")
    assert (has(it), has(it, "late")) == ((IP,), ())
    assert status_text.gateway(it, "late")[1] == "Programmed=False/AddressNotAssigned"


WITHIN = statuses.Address("IPAddress", "10.96.0.42")
CLUSTER = "{routability: Cluster}"
SENTINEL = "{routability: testing.x-k8s.io/sentinel}"
ASSIGNED = "AddressesAssigned"
PARTLY = "AddressesAssigned=False/PartiallyAssigned"
NOTHING = "AddressesAssigned=False/NotAssigned"
NO_SCOPE = "Programmed=False/AddressNotAssigned"


@pytest.mark.parametrize(
    ("asked", "assigned", "expected", "conditions", "message"),
    [
        # By default, and what was asked for by its type or value.
        ((), (IP,), ["192.0.2.1 "], ["Programmed", ASSIGNED], ""),
        ((), (WITHIN,), ["10.96.0.42 Cluster"], ["Programmed", ASSIGNED], ""),
        ((), (), [], [NO_SCOPE, NOTHING], "any address"),
        (("{}",), (IP,), ["192.0.2.1 "], ["Programmed", ASSIGNED], ""),
        (("{}",), (IP, OTHER), ["192.0.2.1 "], ["Programmed", ASSIGNED], ""),
        (("{}",), (WITHIN,), ["10.96.0.42 Cluster"], ["Programmed", ASSIGNED], ""),
        # From within the cluster: a cluster IP, and never another address.
        ((CLUSTER,), (IP,), ["10.96.0.42 Cluster"], ["Programmed", ASSIGNED], ""),
        ((CLUSTER,), (), ["10.96.0.42 Cluster"], ["Programmed", ASSIGNED], ""),
        (
            ("{}", CLUSTER), (IP,), ["10.96.0.42 Cluster", "192.0.2.1 "],
            ["Programmed", ASSIGNED], "",
        ),
        (
            ("{value: 192.0.2.1, routability: Cluster}",), (IP,), [], [NO_SCOPE, NOTHING],
            "IPAddress 192.0.2.1 with routability Cluster",
        ),
        (
            ("{type: Hostname, routability: Cluster}",), (NAME,), [], [NO_SCOPE, NOTHING],
            "Hostname with routability Cluster",
        ),
        # One address serves one entry.
        (
            (CLUSTER, CLUSTER), (IP,), ["10.96.0.42 Cluster"], ["Programmed", PARTLY],
            "IPAddress with routability Cluster",
        ),
        # What nobody knows is never satisfied; the test's own value is.
        (
            ("{routability: example.com/x}",), (IP,), [], [NO_SCOPE, NOTHING],
            "IPAddress with routability example.com/x",
        ),
        (
            ("{routability: testing.x-k8s.io/x}",), (IP,), [], [NO_SCOPE, NOTHING],
            "IPAddress with routability testing.x-k8s.io/x",
        ),
        (
            ("{routability: example.com/x}", "{}"), (IP,), ["192.0.2.1 "], ["Programmed", PARTLY],
            "IPAddress with routability example.com/x",
        ),
        ((SENTINEL,), (IP,), [f"192.0.2.1 {addresses.SENTINEL}"], ["Programmed", ASSIGNED], ""),
        # An address that serves stays in the status while what was asked for is missing.
        (
            ("{value: 192.0.2.1}",), (OTHER,), ["192.0.2.2 "],
            ["Programmed=False/AddressNotUsable", NOTHING], "IPAddress 192.0.2.1",
        ),
        (
            ("{value: 192.0.2.1}", "{value: 192.0.2.9}"), (IP,), ["192.0.2.1 "],
            ["Programmed=False/AddressNotUsable", PARTLY], "IPAddress 192.0.2.9",
        ),
    ],
)  # fmt: skip
def test_an_address_is_reached_from_where_it_is_asked_to_be(
    asked: tuple[str, ...],
    assigned: tuple[statuses.Address, ...],
    expected: list[str],
    conditions: list[str],
    message: str,
) -> None:
    it = world(gateway_class() + asking(*asked))
    it.write(addresses.CLUSTER_IPS, FLEET, (WITHIN,))
    assign(it, *assigned)
    found = it.answer(STATUSES["Gateway"], key("gw"))
    assert isinstance(found, statuses.GatewayStatus)
    told = [f"{each.value} {each.routability}" for each in found.addresses or ()]
    assert sorted(told) == expected
    every = status_text.gateway(it)
    assert [every[1], every[3]] == conditions
    assert not message or status_text.gateway_messages(it)[3] == (
        f"spec.addresses: not assigned: {message}"
    )


@pytest.mark.parametrize("crd", [definition("v1.6.1"), definition("v1.7.0", channel="standard")])
def test_crds_without_the_field_get_neither_it_nor_the_condition(crd: str) -> None:
    it = world(gateway_class() + asking("{}") + crd)
    assign(it, IP, OTHER)
    found = it.answer(STATUSES["Gateway"], key("gw"))
    assert isinstance(found, statuses.GatewayStatus)
    assert found.addresses == (IP, OTHER)
    assert len(status_text.gateway(it)) == 3


@pytest.mark.parametrize(
    "scope", ["Cluster ", "k8s.io/x", "a.k8s.io/x", "x", "/x", "A.com/x", "a/"]
)
def test_a_scope_that_the_crd_refuses_is_refused(scope: str) -> None:
    with pytest.raises(AssertionError, match="routability must be"):
        world(asking(f"{{routability: '{scope}'}}"))

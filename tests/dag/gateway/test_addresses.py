"""The addresses that a Gateway asks for, those it is given, and what it is told of both."""

import pytest

from dag import statuses
from dag.engine.incremental import Engine
from dag.gateway import addresses
from dag.plan import STATUSES
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import configuration, gateway, gateway_class, http, route, service
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
    return found.addresses


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
    it = world(gateway_class() + asking(*asked))
    assign(it, *assigned)
    assert status_text.gateway(it) == ["Accepted", programmed, "ResolvedRefs"]
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

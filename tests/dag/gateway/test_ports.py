"""What can share a port: families of protocols, Gateways and their ListenerSets by age."""

import pytest

from dag import listeners
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    configuration,
    gateway,
    gateway_class,
    host,
    http,
    https,
    listener,
    listener_set,
)
from tests.dag.world import FLEET, apply, delete, world
from tests.testbed import pairs

FINE = ["Accepted", "ResolvedRefs", "Programmed"]
PASSED = "tls: {mode: Passthrough}"


def lost(reason: str) -> list[str]:
    return [
        f"Accepted=False/{reason}",
        "ResolvedRefs",
        f"Programmed=False/{reason}",
        f"Conflicted=True/{reason}",
    ]


PROTOCOL, HOSTNAME = lost("ProtocolConflict"), lost("HostnameConflict")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (http("a", host("a.com")), http("b", host("b.com")), FINE),
        (http("a"), https("b", port=80), PROTOCOL),
        (http("a"), listener("b", 80, "TCP"), PROTOCOL),
        (http("a", port=443), listener("b", 443, "TLS", PASSED), PROTOCOL),
        (https("a"), listener("b", 443, "TLS", f"{PASSED}, {host('b.com')}"), None),
        (https("a"), listener("b", 443, "TLS", PASSED), HOSTNAME),
        (https("a"), listener("b", 443, "UDP"), FINE),
        (listener("a", 90, "TCP"), listener("b", 90, "UDP"), FINE),
    ],
)
def test_two_listeners_of_a_gateway(one: str, other: str, expected: list[str] | None) -> None:
    it = world(
        gateway_class() + gateway("gw", one, other, http("c", port=99)) + pairs.secret("cert")
    )
    for name in ("a", "b"):
        found = status_text.listener(it, name)
        assert found == expected if expected else found[:3] == FINE
    assert status_text.listener(it, "c") == FINE


ALL_SETS = "allowedListeners: {namespaces: {from: All}}"


def test_a_gateway_that_contradicts_itself_gives_its_port_to_nobody() -> None:
    both = gateway("gw", http("a"), listener("b", 80, "TCP"), http("c", port=99), rest=ALL_SETS)
    it = world(gateway_class() + both + listener_set("s", http("x", host("x.com"))))
    assert status_text.set_listener(it, "x", "s") == PROTOCOL


@pytest.mark.parametrize(
    ("one", "more", "expected"),
    [
        (listener("x", 443, "TCP"), "", PROTOCOL),
        (listener("x", 80, "TCP"), "", PROTOCOL),
        (http("x", port=443), "", PROTOCOL),
        (https("x"), "", FINE),
        (listener("x", 443, "UDP"), "", FINE),
        (listener("x", 444, "TCP"), "", FINE),
        (listener("x", 443, "TCP"), "gateway: {only: true}", FINE),
        (listener("x", 443, "TCP"), "gateway: {mode: PerGateway}", FINE),
    ],
)
def test_ports_that_the_settings_name_are_those_of_ingress_and_httpproxy(
    one: str, more: str, expected: list[str]
) -> None:
    said = "envoy: {externalPorts: {http: 80, https: 443}}"
    own = gateway("gw", http("c", port=99), rest=ALL_SETS)
    it = world(gateway_class() + own + listener_set("s", one) + pairs.secret("cert"))
    assert status_text.set_listener(it, "x", "s") == FINE
    apply(it, configuration(f"{said}, {more}" if more else said))
    assert status_text.set_listener(it, "x", "s") == expected
    served = {(one.protocol, one.port) for one in it.answer(listeners.listeners, FLEET) or ()}
    assert bool(more) or served > {("HTTP", 80), ("HTTPS", 443)}


def test_what_loses_its_port_takes_nothing_from_later_ones() -> None:
    sets = (
        listener_set("s1", https("x", rest=host("x.com"), port=80), created="02"),
        listener_set("s2", http("x", host("x.com")), created="03"),
    )
    own = gateway("gw", http("a", host("a.com")), rest=ALL_SETS, created="01")
    it = world("".join((gateway_class(), own, *sets, pairs.secret("cert"))))
    assert status_text.set_listener(it, "x", "s1") == PROTOCOL
    assert status_text.set_listener(it, "x", "s2") == FINE


def test_the_next_set_is_promoted_when_the_older_goes() -> None:
    sets = (listener_set(f"s{n}", http("x", host("x.com")), created=f"0{n}") for n in (1, 2))
    own = gateway("gw", http("a", host("a.com")), rest=ALL_SETS)
    it = world("".join((gateway_class(), own, *sets)))
    assert status_text.set_listener(it, "x", "s2") == HOSTNAME
    delete(it, "ListenerSet", "s1")
    assert status_text.set_listener(it, "x", "s2") == FINE
    apply(it, gateway("gw", http("a", host("x.com")), rest=ALL_SETS))
    assert status_text.set_listener(it, "x", "s2") == HOSTNAME


def test_nothing_of_one_set_is_told_to_the_owner_of_another() -> None:
    sets = (listener_set(f"secret{n}", http(f"n{n}", host("x.com"))) for n in (1, 2))
    own = gateway("gw", http("a", host("a.com")), rest=ALL_SETS)
    it = world("".join((gateway_class(), own, *sets)))
    for message in status_text.set_messages(it, "n2", "secret2"):
        assert "secret1" not in message
        assert "n1" not in message


def test_a_set_of_a_gateway_that_waits_is_told_so() -> None:
    first = gateway("first", created="01")
    it = world(gateway_class() + first + gateway("gw", created="02") + listener_set("s", http("x")))
    assert status_text.listener_set(it, "s") == [
        "Accepted=False/ParentNotAccepted",
        "Programmed=False/ParentNotProgrammed",
    ]


def test_a_set_of_a_gateway_that_is_not_accepted_is_told_so() -> None:
    own = (
        "addresses: [{type: NamedAddress, value: x}], allowedListeners: {namespaces: {from: Same}}"
    )
    it = world(gateway_class() + gateway("gw", rest=own) + listener_set("s", http("x", port=8080)))
    assert status_text.listener_set(it, "s") == [
        "Accepted=False/ParentNotAccepted",
        "Programmed=False/ParentNotProgrammed",
    ]


def test_one_number_for_tcp_and_udp_is_bound_for_both() -> None:
    it = world(gateway_class() + gateway("gw", listener("a", 53, "TCP"), listener("b", 53, "UDP")))
    found = [each for each in it.answer(listeners.listeners, FLEET) or () if each.port == 53]
    assert [(each.name, each.bind_port) for each in found] == [("tcp-53", 8053), ("udp-53", 8053)]

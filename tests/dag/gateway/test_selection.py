"""Which GatewayClass and Gateway are served, and what the others are told."""

from dag.plan import STATUSES
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import gateway, gateway_class, http, route, service
from tests.dag.world import apply, delete, key, routes, world

FINE = ["Accepted", "Programmed", "ResolvedRefs"]
OLDER = ["Accepted=False/OlderGatewayExists", "Programmed=False/Invalid", "ResolvedRefs"]
S1 = ["/ -> default/s1:80"]


def test_the_class_of_another_controller_and_its_gateways_are_told_nothing() -> None:
    it = world(gateway_class(controller="example.com/other") + gateway("gw") + route("r"))
    assert status_text.gateway_class(it, "contour") == []
    assert status_text.gateway(it) == []
    assert status_text.route(it, "r") == []
    assert routes(it, "*") == []


def test_a_gateway_without_its_class_is_told_nothing_until_the_class_comes() -> None:
    it = world(gateway("gw") + route("r") + service("s1"))
    assert status_text.gateway(it) == []
    apply(it, gateway_class())
    assert status_text.gateway(it) == FINE
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    assert routes(it, "*") == S1


def test_the_oldest_class_wins_and_the_others_are_told_which() -> None:
    it = world(gateway_class("b", created="01") + gateway_class("a", created="02"))
    assert status_text.gateway_class(it, "b") == ["Accepted", "SupportedVersion"]
    assert status_text.gateway_class(it, "a")[0] == "Accepted=False/OlderGatewayClassExists"


def test_classes_of_the_same_age_are_ordered_by_name() -> None:
    it = world(gateway_class("b") + gateway_class("a"))
    assert status_text.gateway_class(it, "a") == ["Accepted", "SupportedVersion"]
    assert status_text.gateway_class(it, "b")[0] == "Accepted=False/OlderGatewayClassExists"


def test_a_gateway_of_a_class_that_lost_is_told_which_one_is_served() -> None:
    it = world(gateway_class("first", created="01") + gateway_class(created="02") + gateway("gw"))
    assert status_text.gateway(it) == [
        "Accepted=False/OlderGatewayClassExists",
        "Programmed=False/Invalid",
        "ResolvedRefs",
    ]
    found = it.answer(STATUSES["Gateway"], key("gw"))
    assert "the older GatewayClass first names the same controller and is served instead" in str(
        found
    )
    apply(it, gateway_class(created="02", controller="example.com/other"))
    assert status_text.gateway(it) == []


def test_the_next_class_is_promoted_when_the_winner_goes() -> None:
    it = world(gateway_class("first", created="01") + gateway_class(created="02") + gateway("gw"))
    assert status_text.gateway(it)[0] == "Accepted=False/OlderGatewayClassExists"
    apply(it, gateway_class("first", created="01", controller="example.com/other"))
    assert status_text.gateway_class(it, "first") == []
    assert status_text.gateway_class(it, "contour") == ["Accepted", "SupportedVersion"]
    assert status_text.gateway(it) == FINE


def test_the_oldest_gateway_wins_and_the_next_is_promoted_when_it_goes() -> None:
    it = world(
        gateway_class()
        + gateway("young", http(), created="02")
        + gateway("old", http(), created="01")
        + route("r", parents="{name: young}")
        + service("s1")
    )
    assert status_text.gateway(it, "old") == FINE
    assert status_text.gateway(it, "young") == OLDER
    assert status_text.route(it, "r") == ["Accepted=False/NoMatchingParent", "ResolvedRefs"]
    assert routes(it, "*") == []
    delete(it, "Gateway", "old")
    assert status_text.gateway(it, "young") == FINE
    assert status_text.route(it, "r") == ["Accepted", "ResolvedRefs"]
    assert routes(it, "*") == S1


def test_a_gateway_that_is_being_deleted_has_left_already() -> None:
    it = world(gateway_class() + gateway("gw") + route("r") + service("s1"))
    leaving = gateway("gw").replace(
        "namespace: default", "namespace: default, deletionTimestamp: '2026-01-01T00:00:00Z'"
    )
    apply(it, leaving)
    assert status_text.gateway(it) == []
    assert status_text.route(it, "r") == []
    assert routes(it, "*") == []


def test_without_a_controller_name_no_gateway_is_served() -> None:
    silent = """
---
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour}
spec: {}
"""
    it = world(gateway_class() + gateway("gw") + silent)
    assert status_text.gateway_class(it, "contour") == []
    assert status_text.gateway(it) == []

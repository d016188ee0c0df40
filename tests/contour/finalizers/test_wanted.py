"""Which objects are to have a finalizer of ours, and what it is called."""

import re

import pytest

from contour.finalizers import wanted
from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.engine.incremental import Engine
from tests.dag.gateway.manifests import configuration, gateway, gateway_class
from tests.dag.world import apply, delete, key, world

EACH = configuration("gateway: {mode: PerGateway}")
CLASS = ObjectRef("GatewayClass", "", "contour")
LEAVING = "deletionTimestamp: '2026-01-01T00:00:00Z', "


def leaving(manifest: str) -> str:
    return manifest.replace("metadata: {", f"metadata: {{{LEAVING}", 1)


def gateways(engine: Engine, *names: str) -> list[bool | None]:
    return [wanted.is_wanted(engine, ObjectRef("Gateway", "default", it)) for it in names]


def test_the_gateway_that_is_served_has_one_and_those_that_wait_have_none() -> None:
    it = world(gateway_class() + gateway("a", created="01") + gateway("b", created="02"))
    assert gateways(it, "a", "b", "missing") == [True, False, False]
    delete(it, "Gateway", "a")
    assert gateways(it, "a", "b") == [False, True]


def test_every_gateway_with_a_fleet_of_its_own_has_one() -> None:
    it = world(EACH + gateway_class() + gateway("a") + gateway("b"))
    assert gateways(it, "a", "b") == [True, True]


def test_what_is_deleted_has_none_any_more_and_the_next_one_has() -> None:
    first = leaving(gateway("a", created="01"))
    it = world(gateway_class() + first + gateway("b", created="02"))
    assert gateways(it, "a", "b") == [False, True]


@pytest.mark.parametrize(
    ("objects", "is_wanted"),
    [
        (gateway_class(), False),
        (gateway_class() + gateway("a"), True),
        (gateway_class() + leaving(gateway("a")), True),
        (leaving(gateway_class()) + gateway("a"), True),
        (leaving(gateway_class()), False),
        (gateway_class(controller="example.com/another") + gateway("a"), None),
        (gateway_class("older", created="01") + gateway_class(created="02") + gateway("a"), False),
        ("", None),
    ],
)
def test_a_class_has_one_while_it_is_served_and_used(objects: str, is_wanted: bool | None) -> None:
    assert wanted.is_wanted(world(EACH + objects), CLASS) is is_wanted


@pytest.mark.parametrize(
    ("finalizer", "is_served"),
    [("gateway.projectcontour.io/other.contour", True), ("example.com/accounting", False)],
)
def test_a_class_is_served_while_an_instance_has_its_finalizer_on_a_gateway_of_it(
    finalizer: str, is_served: bool
) -> None:
    it = world(gateway_class(controller="example.com/another") + gateway("a"))
    found = {ObjectRef("Gateway", "default", "a"): [finalizer]}
    assert wanted.is_served(it, CLASS, found.__getitem__) is is_served
    assert not wanted.is_served(it, ObjectRef("GatewayClass", "", "other"), found.__getitem__)


def test_gateways_of_other_classes_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    of_another = gateway("b").replace("gatewayClassName: contour", "gatewayClassName: other")
    it = world(gateway_class() + leaving(gateway("a")) + of_another)
    monkeypatch.delattr(Engine, "rows")
    found = {ObjectRef("Gateway", "default", "a"): ["gateway.projectcontour.io/other.contour"]}
    assert wanted.is_served(it, CLASS, found.__getitem__)


def test_a_gateway_concerns_the_classes_and_other_kinds_concern_nobody() -> None:
    it = world(gateway_class() + gateway("a"))
    assert set(wanted.concerned(it, ObjectRef("Gateway", "default", "a"))) == {
        ObjectRef("Gateway", "default", "a"),
        CLASS,
    }
    assert list(wanted.concerned(it, ObjectRef("HTTPRoute", "default", "a"))) == []


def test_an_instance_whose_configuration_is_deleted_takes_leave_of_everything() -> None:
    it = world(EACH + gateway_class() + gateway("a"))
    it.write(tables.CONFIGURATION_NAME, (), key("projectcontour/contour"))
    apply(it, leaving(EACH))
    assert gateways(it, "a") == [False]
    assert wanted.is_wanted(it, CLASS) is False
    concerned = wanted.concerned(it, ObjectRef("ContourConfiguration", "projectcontour", "contour"))
    assert set(concerned) == {ObjectRef("Gateway", "default", "a"), CLASS}


@pytest.mark.parametrize("length", [1, 20, 40, 63, 253])
def test_finalizers_of_two_instances_differ_and_the_api_server_takes_them(length: int) -> None:
    names = {
        wanted.finalizer("Gateway", NamespacedName("n" * min(length, 63), "a" * length + end))
        for end in ("", "b", "c")
    }
    assert len(names) == 3
    for it in names:
        assert re.fullmatch(r"gateway\.projectcontour\.io/[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?", it)


def test_the_finalizer_of_a_class_is_that_of_the_gateway_api() -> None:
    found = wanted.finalizer("GatewayClass", NamespacedName("a", "b"))
    assert found == "gateway-exists-finalizer.gateway.networking.k8s.io"

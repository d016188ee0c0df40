"""Gateways and classes that are deleted while they are served, in a real cluster."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster
from tests.e2e import incluster
from tests.e2e.incluster import Instance
from tests.e2e.test_serve import CONFIGURATION, GATEWAY, SERVICES

pytestmark = [pytest.mark.envoy, pytest.mark.cluster]

GATEWAY_EXISTS = "gateway-exists-finalizer.gateway.networking.k8s.io"
FOREIGN = "example.com/accounting"
CLASS, FIRST, ROUTE = GATEWAY.split("---")
SECOND = FIRST.replace("name: gateway", "name: second").replace("name: http,", "name: other,")
LOST = ROUTE.replace("name: route", "name: lost").replace("route.example.com", "lost.example.com")
OF_SECOND = LOST.replace("name: gateway", "name: second")


@pytest.fixture
def instance(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Instance]:
    with incluster.instance(cluster, namespace, tmp_path) as found:
        yield found


def own(instance: Instance) -> str:
    return f"gateway.projectcontour.io/{instance.namespace}.contour"


def finalizers(instance: Instance, kind: str, name: str) -> list[str]:
    found: list[str] = instance.get(kind, name)["metadata"].get("finalizers", [])
    return found


def is_gone(instance: Instance, kind: str, name: str) -> bool:
    return not instance.cluster.look_up(kind, instance.namespace, name)


def test_a_gateway_goes_when_it_is_served_no_more_and_the_next_one_takes_its_place(
    instance: Instance,
) -> None:
    parts = (CONFIGURATION, SERVICES, CLASS, FIRST, ROUTE, OF_SECOND)
    instance.apply("---".join(parts))
    instance.start_envoy(instance.start_replica())
    instance.until_ready()
    mine = own(instance)
    instance.until(lambda: finalizers(instance, "Gateway", "gateway") == [mine], "its finalizer")
    instance.until(
        lambda: finalizers(instance, "GatewayClass", instance.namespace) == [GATEWAY_EXISTS],
        "the finalizer of the class",
    )
    instance.apply(SECOND.replace("name: second", f"name: second, finalizers: [{FOREIGN}]"))
    instance.until_condition("Gateway", "second", "Accepted", reason="OlderGatewayExists")
    assert finalizers(instance, "Gateway", "second") == [FOREIGN]
    assert instance.ask("route.example.com").backend == "two"

    instance.delete(FIRST)
    instance.until(lambda: is_gone(instance, "Gateway", "gateway"), "the Gateway to be gone")
    assert instance.get("HTTPRoute", "route").get("status", {}).get("parents", []) == []
    instance.until(lambda: instance.ask("route.example.com").status == 404, "its route to be gone")
    instance.until_answered("lost.example.com", "two")
    instance.until(
        lambda: finalizers(instance, "Gateway", "second") == [FOREIGN, mine],
        "the finalizer of the next one, beside another's",
    )


def test_a_class_stays_until_its_last_gateway_has_left(instance: Instance) -> None:
    instance.apply("---".join((CONFIGURATION, SERVICES, CLASS, FIRST)))
    instance.start_replica()
    instance.until_ready()
    name = instance.namespace
    instance.until(
        lambda: finalizers(instance, "GatewayClass", name) == [GATEWAY_EXISTS], "the finalizer"
    )
    instance.cluster.kubectl("delete", "gatewayclass", name, "--wait=false")
    found = instance.until_condition("GatewayClass", name, "Accepted", status="True")
    instance.until(
        lambda: (
            "is being deleted" in instance.condition("GatewayClass", name, "Accepted")["message"]
        ),
        "the class to be told that it stays",
        got=found,
    )
    assert not is_gone(instance, "GatewayClass", name)
    instance.delete(FIRST)
    instance.until(lambda: is_gone(instance, "GatewayClass", name), "the class to be gone")


def test_a_leader_that_dies_leaves_what_the_next_one_puts_right(instance: Instance) -> None:
    instance.apply("---".join((CONFIGURATION, SERVICES, CLASS, FIRST)))
    first = instance.start_replica()
    instance.until_ready()
    mine = own(instance)
    instance.until(lambda: finalizers(instance, "Gateway", "gateway") == [mine], "its finalizer")
    first.kill()
    instance.processes.remove(first)
    instance.cluster.kubectl(
        "delete", "gateway", "gateway", "-n", instance.namespace, "--wait=false"
    )
    assert not is_gone(instance, "Gateway", "gateway")
    instance.start_replica()
    instance.until(lambda: is_gone(instance, "Gateway", "gateway"), "the Gateway to be gone")


@pytest.mark.parametrize(
    "change",
    [
        {"op": "remove", "path": "/spec/gateway"},
        {"op": "replace", "path": "/spec/gateway/controllerName", "value": "example.com/later"},
    ],
    ids=["no-gateway", "other-controller"],
)
def test_a_leader_lets_go_of_what_is_not_its_own_any_more_since_it_came(
    instance: Instance, change: dict[str, str]
) -> None:
    instance.apply("---".join((CONFIGURATION, SERVICES, CLASS, FIRST)))
    name = instance.namespace
    foreign = CLASS.replace("$namespace", "not-$namespace").replace("$controller", "example.com/x")
    instance.apply(foreign)
    first = instance.start_replica()
    instance.until_ready()

    def of_class(named: str = name) -> list[str]:
        return finalizers(instance, "GatewayClass", named)

    instance.until(lambda: of_class() == [GATEWAY_EXISTS], "the finalizer")
    first.stop()
    instance.processes.remove(first)
    for named, at, patch in (
        (f"not-{name}", "/metadata/finalizers", {"op": "add", "value": [GATEWAY_EXISTS]}),
        (name, "/metadata/finalizers/0", {"op": "add", "value": FOREIGN}),
    ):
        patched = json.dumps([patch | {"path": at}])
        instance.cluster.kubectl("patch", "gatewayclass", named, "--type=json", "-p", patched)
    instance.cluster.kubectl(
        *("patch", "contourconfiguration", "contour", "-n", name, "--type=json"),
        *("-p", json.dumps([change])),
    )
    assert of_class() == [FOREIGN, GATEWAY_EXISTS]
    instance.start_replica()
    instance.until(lambda: of_class() == [FOREIGN], "the finalizer of the class to go")
    assert of_class(f"not-{name}") == [GATEWAY_EXISTS]
    for named in (name, f"not-{name}"):
        freed = '{"metadata": {"finalizers": null}}'
        instance.cluster.kubectl("patch", "gatewayclass", named, "--type=merge", "-p", freed)
    instance.cluster.kubectl("delete", "gatewayclass", f"not-{name}")


def test_an_instance_that_serves_no_gateways_any_more_lets_go_of_them(instance: Instance) -> None:
    instance.apply("---".join((CONFIGURATION, SERVICES, CLASS, FIRST)))
    instance.start_replica()
    instance.until_ready()
    name = instance.namespace

    def held() -> list[str]:
        of_class = finalizers(instance, "GatewayClass", name)
        return of_class + finalizers(instance, "Gateway", "gateway")

    instance.until(lambda: held() == [GATEWAY_EXISTS, own(instance)], "both finalizers")
    instance.cluster.kubectl(
        *("patch", "contourconfiguration", "contour", "-n", name, "--type=json"),
        *("-p", '[{"op": "remove", "path": "/spec/gateway"}]'),
    )
    instance.until(lambda: held() == [], "both to be let go of")

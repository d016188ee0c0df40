"""Mode PerGateway: every Gateway on Envoys of its own, told of these and of no others."""

import yaml

from dag import hosts, listeners, nodes, refusals
from dag.engine.incremental import Engine
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import gateway, gateway_class, http, listener_set, route, service
from tests.dag.world import FLEET, apply, delete, world

INGRESS = """
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: i, namespace: default}
spec: {defaultBackend: {service: {name: s1, port: {number: 80}}}}
"""
FINE = ["Accepted", "Programmed", "ResolvedRefs"]


def configured(mode: str) -> str:
    spec = {"gateway": {"controllerName": "projectcontour.io/gateway-controller", "mode": mode}}
    metadata = {"name": "contour", "namespace": "default"}
    kind = {"apiVersion": "projectcontour.io/v1alpha1", "kind": "ContourConfiguration"}
    return f"\n---\n{yaml.dump({**kind, 'metadata': metadata, 'spec': spec})}"


def two() -> str:
    both = (gateway("gw", created="01"), gateway("far/gw", created="02"))
    attached = (route("r"), route("far/r"), service("s1"), service("s1", "far"))
    return "".join((gateway_class(), *both, *attached))


def served(it: Engine, fleet: str) -> list[str]:
    found = it.answer(listeners.listeners, fleet) or ()
    return [each.name for each in found]


def origins(it: Engine, fleet: str) -> list[str]:
    found = it.answer(hosts.virtual_host, nodes.HostKey(fleet, "ingress_http", "*"))
    return [str(each) for each in found.origins] if found is not None else []


def test_every_gateway_is_a_fleet_with_its_own_routes() -> None:
    it = world(configured("PerGateway") + two() + INGRESS)
    assert status_text.gateway(it) == status_text.gateway(it, "far/gw") == FINE
    assert origins(it, "default/gw") == ["HTTPRoute default/r"]
    assert origins(it, "far/gw") == ["HTTPRoute far/r"]
    assert origins(it, FLEET) == ["Ingress default/i"]
    assert served(it, FLEET) == ["ingress_http", "ingress_https"]
    assert served(it, "far/gw") == ["ingress_http"]


def test_a_fleet_goes_with_its_gateway() -> None:
    it = world(configured("PerGateway") + two())
    delete(it, "Gateway", "far/gw")
    assert served(it, "far/gw") == []
    assert origins(it, "far/gw") == []
    assert origins(it, "default/gw") == ["HTTPRoute default/r"]


def test_the_mode_can_be_changed_while_running() -> None:
    it = world(configured("PerGateway") + two())
    apply(it, configured("Single"))
    assert status_text.gateway(it, "far/gw")[0] == "Accepted=False/OlderGatewayExists"
    assert origins(it, FLEET) == ["HTTPRoute default/r"]
    assert origins(it, "default/gw") == []
    apply(it, configured("PerGateway"))
    assert status_text.gateway(it, "far/gw") == FINE
    assert origins(it, FLEET) == []


def test_a_listener_set_goes_to_the_fleet_of_its_gateway() -> None:
    allowing = gateway("gw", rest="allowedListeners: {namespaces: {from: All}}")
    own = listener_set("s", http("x", port=8080))
    it = world(configured("PerGateway") + gateway_class() + allowing + own)
    assert served(it, "default/gw") == ["ingress_http", "http-8080"]
    assert status_text.listener_set(it, "s") == ["Accepted", "Programmed"]


def test_each_gateway_is_told_of_its_own_envoys() -> None:
    it = world(configured("PerGateway") + two())
    it.write(refusals.ENVOYS, "default/gw", 1)
    it.write(refusals.ENVOYS, "far/gw", 0)
    it.settle()
    assert status_text.gateway(it) == FINE
    assert "Programmed=False/NoResources" in status_text.gateway(it, "far/gw")
    assert "Programmed=False/Pending" in status_text.listener(it, "http", "far/gw")
    assert "Programmed" in status_text.listener(it, "http")
    it.write(refusals.PENDING, "default/gw", ("ingress_http",))
    it.settle()
    assert "Programmed=False/Pending" in status_text.gateway(it)
    assert "Programmed=False/Pending" in status_text.listener(it, "http")


def test_a_listener_set_is_not_programmed_while_its_gateway_has_no_envoy() -> None:
    allowing = gateway("gw", rest="allowedListeners: {namespaces: {from: All}}")
    own = listener_set("s", http("x", port=8080))
    it = world(configured("PerGateway") + gateway_class() + allowing + own)
    for envoys, told in {0: "Programmed=False/Pending", 1: "Programmed"}.items():
        it.write(refusals.ENVOYS, "default/gw", envoys)
        it.settle()
        assert status_text.listener_set(it, "s") == ["Accepted", told]
        assert told in status_text.set_listener(it, "x", "s")

"""`contour serve` behind the Gateway of another controller: what is told, by whom, and where."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provisioning import rights
from tests.cluster.cluster import Cluster
from tests.e2e import incluster
from tests.e2e.incluster import Instance
from tests.testbed.apiserver import MEDIA, RefusedError

pytestmark = pytest.mark.cluster

CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour}
spec:
  gateway: {controllerName: $controller}
  envoy:
    networkPublishing:
      type: ClusterIPService
      gateway: {controllerName: CONTROLLER}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: $namespace, namespace: ""}
spec: {controllerName: $controller}
"""

GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: inner}
spec:
  gatewayClassName: $namespace
  listeners: [{name: web, protocol: HTTP, port: PORT}]
"""

INGRESS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: one}
spec:
  defaultBackend: {service: {name: one, port: {number: 80}}}
"""


@pytest.fixture
def instance(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Instance]:
    with incluster.instance(cluster, namespace, tmp_path, rights.of_outer_classes()) as found:
        yield found


def test_an_outer_gateway_follows_the_inner_one_and_gives_its_address(instance: Instance) -> None:
    configuration = CONFIGURATION.replace("CONTROLLER", "balancers.example.com/tcp")
    instance.apply(f"{configuration}---{GATEWAY.replace('PORT', '8080')}---{INGRESS}")
    instance.start_replica()
    instance.until(lambda: ports(instance) == [8080], "the outer Gateway")
    instance.apply(GATEWAY.replace("PORT", "9090"))
    instance.until(lambda: ports(instance) == [9090] == routed(instance), "the other port")
    # Another controller serves it; nobody else speaks of it.
    path = instance.cluster.path(outer(instance))
    addresses = [{"type": "IPAddress", "value": "192.0.2.9"}]
    status = {"status": {"addresses": addresses, "conditions": []}}
    instance.cluster.ask("PATCH", f"{path}/status", status, MEDIA["merge"])
    instance.until(lambda: told(instance) == [{"ip": "192.0.2.9"}], "the address", got="none")
    instance.until(
        lambda: instance.get("Gateway", "inner")["status"].get("addresses") == addresses,
        "the address of the inner Gateway",
    )
    found = instance.cluster.get(outer(instance))
    assert not found["metadata"].get("finalizers")
    assert not found["status"].get("conditions")
    assert all("status" not in it for it in routes(instance))
    # Without it, what clients come in by is the Service again.
    instance.apply(configuration.replace("gateway: {controllerName: balancers", "#"))
    instance.until(lambda: ports(instance) == [], "its end")
    gateway_class = {"metadata": {"name": f"envoy.{instance.namespace}"}}
    identity = {"apiVersion": _API, "kind": "GatewayClass", **gateway_class}
    instance.until(lambda: is_gone(instance, identity), "the end of its class")
    instance.until(lambda: told(instance) not in ([], [{"ip": "192.0.2.9"}]), "the Service's")


_API = "gateway.networking.k8s.io/v1"


def outer(instance: Instance) -> dict[str, Any]:
    """The identity of the outer Gateway."""
    metadata = {"name": "envoy", "namespace": instance.namespace}
    return {"apiVersion": _API, "kind": "Gateway", "metadata": metadata}


def ports(instance: Instance) -> list[int]:
    """Of its listeners; none if it is not there."""
    with contextlib.suppress(RefusedError):
        listeners = instance.cluster.get(outer(instance))["spec"]["listeners"]
        return [it["port"] for it in listeners]
    return []


def routes(instance: Instance) -> list[dict[str, Any]]:
    """Every TCPRoute."""
    path = instance.cluster.path(outer(instance) | {"kind": "TCPRoute"}, of_collection=True)
    found: list[dict[str, Any]] = instance.cluster.ask("GET", path)["items"]
    return found


def routed(instance: Instance) -> list[int]:
    """The ports of the Service that they lead to."""
    every = [it["spec"]["rules"][0]["backendRefs"][0] for it in routes(instance)]
    return [it["port"] for it in every if it["name"] == "envoy"]


def told(instance: Instance) -> list[dict[str, Any]]:
    """Where clients reach the Ingress, as its status says."""
    status = instance.get("Ingress", "one").get("status", {})
    found: list[dict[str, Any]] = status.get("loadBalancer", {}).get("ingress", [])
    return found


def is_gone(instance: Instance, identity: dict[str, Any]) -> bool:
    """It is not there any more."""
    try:
        instance.cluster.get(identity)
    except RefusedError:
        return True
    return False

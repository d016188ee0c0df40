"""EnvoyProxies on the real API server: what they say is made, and what they may not say harms
nothing that is there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crds.kinds import ENVOY_GATEWAY
from provisioning import rights
from tests.cluster.cluster import Cluster
from tests.contour.infrastructure.test_of_gateways import keep_authority
from tests.e2e import incluster
from tests.e2e.incluster import Instance
from tests.testbed.apiserver import RefusedError

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]

CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour}
spec:
  gateway: {controllerName: $controller, mode: PerGateway}
  envoy: {networkPublishing: {type: LoadBalancerService}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: $namespace, namespace: ""}
spec:
  controllerName: $controller
  parametersRef: {group: gateway.envoyproxy.io, kind: EnvoyProxy, name: of-class}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw}
spec:
  gatewayClassName: $namespace
  infrastructure: {parametersRef: {group: gateway.envoyproxy.io, kind: EnvoyProxy, name: own}}
  listeners: [{name: http, protocol: HTTP, port: 80}]
"""

PROXY = """
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyProxy
metadata: {name: NAME}
spec: {provider: {type: Kubernetes, kubernetes: {SPEC}}}
"""

OF_CLASS = (
    "envoyDeployment: {replicas: 3, container: {env: [{name: A, value: b}]}},"
    " envoyHpa: {minReplicas: 2, maxReplicas: 4}"
)
OWN = "envoyService: {type: NodePort}"
KINDS = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "Service": "/api/v1/namespaces/{}/services",
    "HorizontalPodAutoscaler": "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers",
}


@pytest.fixture
def instance(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Instance]:
    further = [*rights.of_gateways(), *rights.of_group(ENVOY_GATEWAY)]
    with incluster.instance(cluster, namespace, tmp_path, further) as found:
        keep_authority(found)
        yield found


def test_a_fleet_is_as_they_say_and_stays_while_they_are_invalid(instance: Instance) -> None:
    instance.apply(CONFIGURATION + "---" + proxy("of-class", OF_CLASS) + "---" + proxy("own", OWN))
    instance.start_replica()
    instance.until(lambda: set(made(instance)) == set(KINDS), "the fleet")
    found = made(instance)
    assert found["Service"]["spec"]["type"] == "NodePort"
    assert found["Deployment"]["spec"]["replicas"] == 3
    assert envoy(found)["env"][1] == {"name": "A", "value": "b"}
    assert found["HorizontalPodAutoscaler"]["spec"]["maxReplicas"] == 4
    until_told(instance, "of-class", "True", "the EnvoyProxy is used")
    instance.until_condition("GatewayClass", instance.namespace, "Accepted", status="True")
    # A privileged container, even from the class: nothing of what runs changes or goes.
    privileged = "container: {securityContext: {privileged: true}}"
    instance.apply(proxy("of-class", f"envoyDeployment: {{replicas: 9, {privileged}}}"))
    path = "spec.provider.kubernetes.envoyDeployment.container.securityContext.privileged"
    until_told(instance, "of-class", "False", path)
    told = instance.until_condition("GatewayClass", instance.namespace, "Accepted", status="False")
    assert told["reason"] == "InvalidParameters"
    assert path in told["message"]
    assert identities(made(instance)) == identities(found)
    # A tenant who wants an image of their own.
    instance.apply(proxy("own", "envoyDeployment: {container: {image: 'theirs:1'}}"))
    until_told(instance, "own", "False", "only the EnvoyProxy of a GatewayClass may set this")
    told = instance.until_condition("Gateway", "gw", "Accepted", status="False")
    assert told["reason"] == "InvalidParameters"
    assert identities(made(instance)) == identities(found)
    # Valid again, they are applied.
    instance.apply(proxy("own", "envoyService: {type: ClusterIP}"))
    instance.apply(proxy("of-class", OF_CLASS.replace("value: b", "value: c")))
    instance.until(lambda: envoy(made(instance))["env"][1]["value"] == "c", "the new environment")
    instance.until(lambda: made(instance)["Service"]["spec"]["type"] == "ClusterIP", "the type")
    until_told(instance, "of-class", "True", "the EnvoyProxy is used")
    until_told(instance, "own", "True", "the EnvoyProxy is used")
    assert made(instance)["Deployment"]["metadata"]["uid"] == found["Deployment"]["metadata"]["uid"]


def proxy(name: str, spec: str) -> str:
    return PROXY.replace("NAME", name).replace("SPEC", spec)


def made(instance: Instance) -> dict[str, Raw]:
    """What there is for the Gateway, by kind."""
    label, found = "gateway.networking.k8s.io/gateway-name=gw", dict[str, Raw]()
    for kind, path in KINDS.items():
        answer = instance.cluster.ask("GET", path.format(instance.namespace), labelSelector=label)
        for it in answer["items"]:
            found[kind] = it
    return found


def envoy(found: dict[str, Raw]) -> Raw:
    """The container of Envoy."""
    containers = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    (it,) = (it for it in containers if it["name"] == "envoy")
    return dict(it)


def identities(found: dict[str, Raw]) -> dict[str, Any]:
    """Which objects there are, and what is asked of them."""
    return {kind: (it["metadata"]["uid"], it["spec"]) for kind, it in found.items()}


def until_told(instance: Instance, name: str, status: str, words: str) -> None:
    """Waits until the EnvoyProxy says so to whoever names it."""
    identity = {"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "EnvoyProxy"}
    metadata = {"name": name, "namespace": instance.namespace}

    def is_told() -> bool:
        try:
            found = instance.cluster.get({**identity, "metadata": metadata})
        except RefusedError:
            return False
        ancestors = found.get("status", {}).get("ancestors", [])
        conditions = [c for it in ancestors for c in it["conditions"]]
        return any(c["status"] == status and words in c["message"] for c in conditions)

    instance.until(is_told, f"EnvoyProxy {name} to be told {words}")

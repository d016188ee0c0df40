"""Fleets of Gateways on the real API server, and an Envoy with the certificate of one of them."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from provisioning import rights
from tests.cluster.cluster import Cluster
from tests.e2e import incluster
from tests.e2e.incluster import Fleet, Instance
from tests.e2e.test_serve import SERVICES
from tests.testbed.ports import free_ports

pytestmark = [pytest.mark.cluster, pytest.mark.envoy]

Raw = dict[str, Any]

CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour}
spec:
  gateway: {controllerName: $controller, mode: PerGateway}
  envoy:
    networkPublishing: {type: LoadBalancerService}
    workload: {type: Deployment}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: $namespace, namespace: ""}
spec: {controllerName: $controller}
"""

GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: NAME, namespace: WHERE}
spec:
  gatewayClassName: $namespace
  infrastructure: {labels: {example.com/team: edge}, annotations: {example.com/note: hello}}
  listeners: [{name: http, protocol: HTTP, port: PORT}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: NAME, namespace: WHERE}
spec:
  parentRefs: [{name: NAME}]
  hostnames: [NAME.example.com]
  rules: [{backendRefs: [{name: two, port: 80}]}]
"""

_LABEL = "gateway.networking.k8s.io/gateway-name"
_COLLECTIONS = {
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Service": "/api/v1/namespaces/{}/services",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
}


@pytest.fixture
def instance(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Instance]:
    with incluster.instance(cluster, namespace, tmp_path, rights.of_gateways()) as found:
        keep_authority(found)
        yield found


@pytest.fixture
def elsewhere(cluster: Cluster) -> Iterator[str]:
    """Another namespace with Gateways."""
    name = cluster.namespace()
    yield name
    cluster.delete_namespace(name)


def test_every_gateway_has_a_fleet_of_its_own_and_it_goes_with_it(
    instance: Instance, elsewhere: str
) -> None:
    (bound,) = free_ports(1)
    home = instance.namespace
    first, second = gateway("first", home, bound - 8000), gateway("second", elsewhere, 80)
    instance.apply(CONFIGURATION + "---" + SERVICES + "---" + first + "---" + second)
    replica = instance.start_replica("--watch-namespaces", f"{home},{elsewhere}")
    for name, where in {"first": home, "second": elsewhere}.items():
        until_made(instance, name, where)
        for it in made(instance, name, where).values():
            assert it["metadata"]["name"] == f"{name}-{home}"
            assert it["metadata"]["labels"][_LABEL] == name
        assert_infrastructure(made(instance, name, where))
    (port,) = made(instance, "first", home)["Service"]["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (bound - 8000, bound)
    # An address is what the load balancer gives; programmed is what Envoy has taken.
    instance.until_condition("Gateway", "first", "Programmed", reason="AddressNotAssigned")
    assign(instance, made(instance, "first", home)["Service"], "192.0.2.7")
    instance.until_condition("Gateway", "first", "Programmed", reason="NoResources")
    write_certificates(made(instance, "first", home)["Secret"], instance.folder / "of-first")
    fleet = Fleet({"http": bound}, name=f"{home}/first", certificates="of-first")
    envoy = instance.start_envoy(replica, fleet)
    instance.until_ready(envoy)
    instance.until_condition("Gateway", "first", "Programmed", status="True")
    assert instance.get("Gateway", "first")["status"]["addresses"] == [
        {"type": "IPAddress", "value": "192.0.2.7"}
    ]
    instance.until_answered("first.example.com", "two")
    # The other one is nothing of this one's.
    instance.delete(second)
    instance.until(
        lambda: not made(instance, "second", elsewhere), "the end of the second fleet", 20
    )
    assert set(made(instance, "first", home)) == set(_COLLECTIONS)


def gateway(name: str, where: str, port: int) -> str:
    return GATEWAY.replace("NAME", name).replace("WHERE", where).replace("PORT", str(port))


def made(instance: Instance, name: str, where: str) -> dict[str, Raw]:
    """What there is for a Gateway, by kind."""
    found = {}
    for kind, path in _COLLECTIONS.items():
        answer = instance.cluster.ask("GET", path.format(where), labelSelector=f"{_LABEL}={name}")
        if answer["items"]:
            (found[kind],) = answer["items"]
    return found


def until_made(instance: Instance, name: str, where: str) -> None:
    """Waits until all of it is there."""

    def is_whole() -> bool:
        return set(made(instance, name, where)) == set(_COLLECTIONS)

    instance.until(is_whole, f"the fleet of {name}")


def assert_infrastructure(found: dict[str, Raw]) -> None:
    pod = found["Deployment"]["spec"]["template"]
    for it in (*(it for kind, it in found.items() if kind != "Secret"), pod):
        assert it["metadata"]["labels"]["example.com/team"] == "edge"
        assert it["metadata"]["annotations"]["example.com/note"] == "hello"


def assign(instance: Instance, service: Raw, address: str) -> None:
    """As a cloud does."""
    identity = {"apiVersion": "v1", "kind": "Service"}
    name = {it: service["metadata"][it] for it in ("name", "namespace")}
    status = {"loadBalancer": {"ingress": [{"ip": address}]}}
    document = identity | {"metadata": name, "status": status}
    instance.cluster.apply(document, "cloud", subresource="status")


def keep_authority(instance: Instance) -> None:
    """As an installation does, with the authority of the replicas' own certificates."""
    folder = instance.folder / "certificates"
    content = {"ca.crt": folder / "CAcert.pem", "ca.key": folder / "CAkey.pem"}
    instance.cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "contour-authority", "namespace": instance.namespace},
            "type": "projectcontour.io/authority",
            "data": {k: base64.b64encode(it.read_bytes()).decode() for k, it in content.items()},
        }
    )


def write_certificates(secret: Raw, folder: Path) -> None:
    """As they are mounted in a pod, by the names that files of `contour certgen` have."""
    folder.mkdir()
    names = {"ca.crt": "CAcert.pem", "tls.crt": "envoycert.pem", "tls.key": "envoykey.pem"}
    for key, name in names.items():
        (folder / name).write_bytes(base64.b64decode(secret["data"][key]))

"""Rights to make fleets for Gateways are there as long as there is something to be done by them."""

import pytest

from provisioning.keeping import ownership
from tests.operator.operators import Rig

pytestmark = pytest.mark.cluster


def test_rights_for_fleets_of_gateways_stay_until_the_last_of_them_is_gone(operated: Rig) -> None:
    binding = ("ClusterRoleBinding", "", f"contour-gateways:{operated.namespace}")
    operated.configure(gateway={"mode": "PerGateway"})
    operated.until_provisioned()
    assert binding in operated.children()
    left = operated.cluster.create(_of_a_fleet(operated.namespace))
    generation = operated.configure(gateway={"mode": "Single"})["metadata"]["generation"]
    operated.until(
        lambda: operated.condition("Provisioned").get("observedGeneration") == generation
    )
    assert binding in operated.children()
    operated.cluster.delete(left)
    operated.until(lambda: binding not in operated.children())


def test_a_binding_that_an_earlier_release_called_otherwise_goes(operated: Rig) -> None:
    namespace = operated.namespace
    operated.configure(gateway={"mode": "PerGateway"})
    operated.until_provisioned()
    operated.cluster.create(_of_a_fleet(namespace))
    bindings = operated.children()
    found = bindings["ClusterRoleBinding", "", f"contour-gateways:{namespace}"]
    metadata = {
        "name": f"contour-gateways-{namespace}",
        "labels": found["metadata"]["labels"],
    }
    operated.cluster.create({it: found[it] for it in _BINDING} | {"metadata": metadata})
    operated.until(lambda: operated.children().keys() == bindings.keys())


_BINDING = ("apiVersion", "kind", "roleRef", "subjects")


def test_the_right_to_a_class_stays_until_that_is_gone(operated: Rig) -> None:
    namespace = operated.namespace
    binding = ("ClusterRoleBinding", "", f"contour-outer-classes:{namespace}")
    outer = {"controllerName": "example.com/balancer"}
    published: dict[str, object] = {"type": "ClusterIPService"}
    operated.configure(envoy={"networkPublishing": published | {"gateway": outer}})
    operated.until_provisioned()
    assert binding in operated.children()
    labels = {ownership.NAMESPACE: namespace, ownership.NAME: "contour", ownership.MAKER: "contour"}
    left = operated.cluster.create(
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "GatewayClass",
            "metadata": {"name": f"envoy.{namespace}", "labels": labels},
            "spec": outer,
        }
    )
    found = operated.configure(envoy={"networkPublishing": published})
    generation = found["metadata"]["generation"]
    operated.until(
        lambda: operated.condition("Provisioned").get("observedGeneration") == generation
    )
    assert binding in operated.children()
    operated.cluster.delete(left)
    operated.until(lambda: binding not in operated.children())


def _of_a_fleet(namespace: str) -> dict[str, object]:
    """Something that the instance has made for a Gateway, and is about to remove."""
    labels = {
        ownership.NAMESPACE: namespace,
        ownership.NAME: "contour",
        ownership.MAKER: "contour",
        ownership.GATEWAY: "gw",
    }
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "gw-ours", "namespace": namespace, "labels": labels},
    }

"""Rights to make fleets for Gateways are there as long as there is something to be done by them.

What an instance has left where it has none any more is removed.
"""

from typing import Any

import pytest

from provisioning.keeping import ownership
from tests.operator.operators import Rig
from tests.testbed.apiserver import MEDIA

pytestmark = pytest.mark.cluster


def test_rights_for_fleets_of_gateways_stay_until_the_last_of_them_is_gone(operated: Rig) -> None:
    binding = ("ClusterRoleBinding", "", f"contour-gateways:{operated.namespace}")
    operated.configure(gateway={"mode": "PerGateway"})
    operated.until_provisioned()
    assert binding in operated.children()
    left = operated.cluster.create(_of_a_fleet(operated.namespace, finalizers=["example.com/held"]))
    generation = operated.configure(gateway={"mode": "Single"})["metadata"]["generation"]
    operated.until(
        lambda: operated.condition("Provisioned").get("observedGeneration") == generation
    )
    assert binding in operated.children()
    freed = {"metadata": {"finalizers": None}}
    operated.cluster.ask("PATCH", operated.cluster.path(left), freed, MEDIA["merge"])
    operated.until(lambda: binding not in operated.children())
    assert operated.is_gone(left)


@pytest.mark.parametrize("managed", [True, False])
def test_what_an_instance_has_made_where_it_watches_no_more_is_removed(
    operated: Rig, managed: bool
) -> None:
    """With its rights there; but for fleets that were handed over."""
    cluster, gateway = operated.cluster, {"mode": "PerGateway"}
    watched, other = cluster.namespace("watched"), cluster.namespace("other")
    operated.configure(gateway=gateway)
    operated.until_provisioned()
    made = {it: cluster.create(_of_a_fleet(operated.namespace, it)) for it in (watched, other)}
    served = {it: cluster.create(_gateway(operated.namespace, it)) for it in (watched, other)}
    everywhere = {it for it in operated.children() if it[0] == "ClusterRoleBinding"}
    assert len(everywhere) == 3
    contour, envoy = {"watchNamespaces": [watched]}, {"managed": managed}
    operated.configure(contour=contour, envoy=envoy, gateway=gateway)
    operated.until(lambda: not everywhere & operated.children().keys())
    operated.until(lambda: not _finalizers(operated, served[other]))
    if managed:
        operated.until(lambda: operated.is_gone(made[other]))
    assert operated.is_gone(made[other]) is managed
    assert not operated.is_gone(made[watched])
    assert _finalizers(operated, served[watched])
    free = {"metadata": {"finalizers": None}}
    cluster.ask("PATCH", cluster.path(served[watched]), free, MEDIA["merge"])


def _finalizers(rig: Rig, obj: dict[str, Any]) -> list[str]:
    found: list[str] = rig.cluster.get(obj)["metadata"].get("finalizers", [])
    return found


def _gateway(home: str, namespace: str) -> dict[str, Any]:
    """One that the instance at home serves."""
    finalizer = f"gateway.projectcontour.io/{home}.contour"
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "gw", "namespace": namespace, "finalizers": [finalizer]},
        "spec": {"gatewayClassName": home, "listeners": [listener]},
    }


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


def _of_a_fleet(
    home: str, namespace: str = "", finalizers: list[str] | None = None
) -> dict[str, Any]:
    """Something that the instance at home has made for a Gateway, there or elsewhere."""
    labels = {
        ownership.NAMESPACE: home,
        ownership.NAME: "contour",
        ownership.MAKER: "contour",
        ownership.GATEWAY: "gw",
    }
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {
            "name": "gw-ours",
            "namespace": namespace or home,
            "labels": labels,
            "finalizers": finalizers or [],
        },
    }

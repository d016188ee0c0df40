"""Workflow 1: the operator makes an instance, which makes its Envoys; three APIs on one fleet."""

from time import sleep

from tests.workflows import expectations
from tests.workflows.instances import CONTROLLER, Instance, provisioned
from tests.workflows.site import Raw, Site

REPAIRED = 5.0  # seconds, in which what is managed is repaired

SPEC = {
    "contour": {"replicas": 2},
    "envoy": {"networkPublishing": {"type": "LoadBalancerService"}},
    "gateway": {"controllerName": CONTROLLER},
}


def test_an_operator_makes_an_instance_that_serves_all_three_apis(site: Site) -> None:
    instance = provisioned(site, SPEC, gateway=True)
    expectations.serves_routes(site, instance.address, gateway=True)
    expectations.tells_addresses(site, instance.address)
    expectations.tells_of_gateway(site, instance.address)
    instance.require_available(contours=2, envoys=2)
    _is_handed_over_and_taken_back(instance)
    _is_removed(instance)


def _is_handed_over_and_taken_back(instance: Instance) -> None:
    """Unmanaged, the fleet stays as it is and nobody repairs it; managed again, it is repaired."""
    site = instance.site
    before = instance.envoys()
    instance.configure({"envoy": {"managed": False}})
    _until_observed(instance)
    _label(instance, "mine")
    sleep(REPAIRED)
    assert _labelled(instance) == "mine"
    assert site.ask(instance.address, "shop.example.com") == expectations.CART
    assert instance.envoys() == before
    instance.configure({"envoy": {"managed": True}})
    site.until(lambda: _labelled(instance), lambda it: it == "envoy")
    assert instance.envoys() == before


def _label(instance: Instance, value: str) -> None:
    what, label = ("daemonset", "envoy"), f"app.kubernetes.io/name={value}"
    instance.site.kubectl("label", *what, "-n", instance.namespace, label, "--overwrite")


def _labelled(instance: Instance) -> str:
    return instance.label("daemonset", "envoy", "app.kubernetes.io/name")


def _until_observed(instance: Instance) -> None:
    """The instance itself has taken what its configuration says now."""

    def is_observed(found: Raw) -> bool:
        conditions = {it["type"]: it for it in found["status"]["conditions"]}
        return bool(conditions["Valid"]["observedGeneration"] == found["metadata"]["generation"])

    site, where = instance.site, (instance.namespace, "contour")
    site.until(lambda: site.get("contourconfiguration", *where), is_observed)


def _is_removed(instance: Instance) -> None:
    """With the configuration goes everything, and the user's routes stay."""
    site = instance.site
    site.kubectl(
        "delete", "contourconfiguration", "contour", "-n", instance.namespace, "--timeout=60s"
    )
    site.until(instance.objects, lambda found: found == [])
    assert site.get("httpproxy", "default", "shop")

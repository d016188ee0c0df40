"""Workflow 3: installed by hand, and the instance makes and keeps its Envoys itself."""

from tests.workflows import expectations
from tests.workflows.instances import installed
from tests.workflows.site import Site


def test_an_instance_without_an_operator_makes_its_envoys(site: Site) -> None:
    instance = installed(site, "managed.yaml", gateway=True)
    expectations.serves_routes(site, instance.address, gateway=True)
    expectations.tells_addresses(site, instance.address)
    expectations.tells_of_gateway(site, instance.address)
    site.until_condition("contourconfiguration", instance.namespace, "contour", "Valid")
    site.kubectl("delete", "service", "envoy", "-n", instance.namespace)
    site.until_told(
        site.pods.address(instance.namespace, "envoy"), "shop.example.com", told=expectations.CART
    )

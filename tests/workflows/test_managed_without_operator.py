"""Workflow 3: installed by hand, and the instance makes and keeps its Envoys itself."""

from tests.workflows import expectations
from tests.workflows.instances import installed
from tests.workflows.site import Site


def test_the_manifest_alone_makes_an_envoy_that_serves_ingress_and_httpproxy(
    bare_site: Site,
) -> None:
    instance = installed(bare_site, "managed.yaml", gateway=False)
    expectations.serves_routes(bare_site, instance.address, gateway=False)
    expectations.tells_addresses(bare_site, instance.address)
    found = bare_site.get("service", instance.namespace, "envoy")["spec"]["ports"]
    assert [it["port"] for it in found] == [80, 443]


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

"""Workflows 4 and 5: everything by hand, with the Gateway API and without."""

from tests.workflows import expectations
from tests.workflows.instances import installed
from tests.workflows.site import Site


def test_the_quickstart_serves_all_three_apis(site: Site) -> None:
    instance = installed(site, "quickstart.yaml", gateway=True)
    expectations.serves_routes(site, instance.address, gateway=True)
    expectations.tells_addresses(site, instance.address)
    expectations.tells_of_gateway(site, instance.address)


def test_the_quickstart_serves_without_the_gateway_api(bare_site: Site) -> None:
    instance = installed(bare_site, "quickstart.yaml", gateway=False)
    expectations.serves_routes(bare_site, instance.address, gateway=False)
    expectations.tells_addresses(bare_site, instance.address)
    site = bare_site
    site.until_condition("contourconfiguration", instance.namespace, "contour", "Valid")

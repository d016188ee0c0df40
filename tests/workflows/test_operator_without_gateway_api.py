"""Workflow 2: the operator where nobody has heard of the Gateway API; a Deployment of Envoys."""

from tests.workflows import expectations
from tests.workflows.instances import provisioned
from tests.workflows.site import Site

SPEC = {
    "contour": {"replicas": 1},
    "envoy": {
        "networkPublishing": {"type": "LoadBalancerService"},
        "workload": {"type": "Deployment", "replicas": 2},
    },
}


def test_an_operator_makes_an_instance_without_the_gateway_api(bare_site: Site) -> None:
    site = bare_site
    instance = provisioned(site, SPEC, gateway=False)
    expectations.serves_routes(site, instance.address, gateway=False)
    expectations.tells_addresses(site, instance.address)
    instance.require_available(contours=1, envoys=2)

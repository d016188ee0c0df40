"""What of a Service in front of Envoy contradicts itself, told with its path."""

import pytest

from tests.dag.httpproxy.manifests import configuration
from tests.dag.world import messages, world

BALANCER = "type: LoadBalancerService, loadBalancer"
PARAMETERS = f"{BALANCER}: {{providerParameters"
AT = "spec.envoy.networkPublishing"
PROVIDER = f"{AT}.loadBalancer.providerParameters"


def told(publishing: str, rest: str = "") -> list[str]:
    """Paths and words."""
    spec = f"envoy: {{networkPublishing: {{{publishing}}}{rest}}}"
    every = messages(world(configuration(spec)), "ContourConfiguration", "projectcontour/contour")
    return [it.partition(": ")[2] for it in every]


@pytest.mark.parametrize(
    ("publishing", "path"),
    [
        (f"{PARAMETERS}: {{type: GCP, aws: {{type: NLB}}}}}}", f"{PROVIDER}.aws"),
        (f"{PARAMETERS}: {{type: AWS, azure: {{subnet: a}}}}}}", f"{PROVIDER}.azure"),
        (f"{PARAMETERS}: {{type: Azure, gcp: {{subnet: a}}}}}}", f"{PROVIDER}.gcp"),
        (f"{PARAMETERS}: {{type: GCP, gcp: {{address: here}}}}}}", f"{PROVIDER}.gcp.address"),
        (
            f"{PARAMETERS}: {{type: Azure, azure: {{address: 1.2.3}}}}}}",
            f"{PROVIDER}.azure.address",
        ),
        ("type: ClusterIPService, loadBalancer: {}", f"{AT}.loadBalancer"),
        ("type: ClusterIPService, nodePorts: [{name: http}]", f"{AT}.nodePorts"),
        (
            "type: NodePortService, nodePorts: [{name: http}, {name: http}]",
            f"{AT}.nodePorts[0].name",
        ),
        (
            "type: NodePortService, nodePorts: "
            "[{name: http, portNumber: 30080}, {name: https, portNumber: 30080}]",
            f"{AT}.nodePorts[0].portNumber",
        ),
    ],
)
def test_a_contradiction_is_an_error_where_it_stands(publishing: str, path: str) -> None:
    found = told(publishing)
    assert found
    assert found[0].startswith(f"{path}: ")


def test_two_ports_of_one_number_are_an_error() -> None:
    (found,) = told("type: ClusterIPService", ", externalPorts: {http: 443}")
    assert found == "spec.envoy.externalPorts.https: 443 is the port of plain HTTP already"


@pytest.mark.parametrize(
    "publishing",
    [
        "type: ClusterIPService",
        f"{BALANCER}: {{scope: Internal}}",
        f"{PARAMETERS}: {{type: AWS, aws: {{type: NLB, allocationIds: [a, b]}}}}}}",
        f"{PARAMETERS}: {{type: Azure, azure: {{address: '::1', resourceGroup: a}}}}}}",
        "type: NodePortService, nodePorts: [{name: http, portNumber: 30080}, {name: https}]",
    ],
)
def test_what_makes_sense_is_not_spoken_of(publishing: str) -> None:
    assert told(publishing) == []


@pytest.mark.parametrize(
    ("publishing", "path"),
    [
        (f"{PARAMETERS}: {{type: AWS, aws: {{allocationIds: [a]}}}}}}", "aws.allocationIds"),
        (f"{PARAMETERS}: {{type: GCP, gcp: {{subnet: a}}}}}}", "gcp.subnet"),
        (f"{PARAMETERS}: {{type: Azure, azure: {{subnet: a}}}}}}", "azure.subnet"),
        (
            f"{BALANCER}: {{scope: Internal, "
            "providerParameters: {type: Azure, azure: {resourceGroup: a}}}",
            "azure.resourceGroup",
        ),
    ],
)
def test_what_a_cloud_does_not_look_at_is_a_warning(publishing: str, path: str) -> None:
    (found,) = told(publishing)
    assert found.startswith(f"{PROVIDER}.{path}: ")

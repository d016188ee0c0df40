"""What clouds are told of a Service: the matrix of Contour's operator."""

from typing import Any

import pytest

from crds import workloads
from provisioning import exposure, manifests
from provisioning.installation import Fleet, Port

AWS = "service.beta.kubernetes.io/aws-load-balancer"
AZURE = "service.beta.kubernetes.io/azure-load-balancer"

Parameters = workloads.ProviderParameters


def fleet(parameters: Parameters | None = None, is_internal: bool = False, **changes: Any) -> Fleet:
    balancer = workloads.LoadBalancer(
        scope="Internal" if is_internal else "External", provider_parameters=parameters
    )
    publishing = workloads.NetworkPublishing(type="LoadBalancerService", load_balancer=balancer)
    return Fleet(publishing=publishing, **changes)


def aws(**given: Any) -> Parameters:
    return Parameters(type="AWS", aws=workloads.AWSParameters(**given))


def azure(**given: Any) -> Parameters:
    return Parameters(type="Azure", azure=workloads.AzureParameters(**given))


def gcp(**given: Any) -> Parameters:
    return Parameters(type="GCP", gcp=workloads.GCPParameters(**given))


NLB = {f"{AWS}-type": "nlb"}
TCP = {f"{AWS}-backend-protocol": "tcp"}
GKE = {
    "networking.gke.io/load-balancer-type": "Internal",
    "cloud.google.com/load-balancer-type": "Internal",
}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (fleet(), {}),
        (fleet(Parameters(type="AWS")), TCP),
        (fleet(aws()), TCP),
        (fleet(aws(), speaks_proxy_protocol=True), TCP | {f"{AWS}-proxy-protocol": "*"}),
        (fleet(aws(), is_internal=True), TCP | {f"{AWS}-internal": "true"}),
        (fleet(aws(allocation_ids=("a",))), TCP),
        (fleet(aws(type="NLB")), NLB),
        (
            fleet(aws(type="NLB", allocation_ids=("a", "b"))),
            NLB | {f"{AWS}-eip-allocations": "a,b"},
        ),
        (
            fleet(aws(type="NLB", allocation_ids=("a",)), is_internal=True),
            NLB | {f"{AWS}-internal": "true"},
        ),
        (fleet(azure()), {}),
        (fleet(azure(resource_group="rg", subnet="s")), {f"{AZURE}-resource-group": "rg"}),
        (
            fleet(azure(resource_group="rg", subnet="s"), is_internal=True),
            {f"{AZURE}-internal": "true", f"{AZURE}-internal-subnet": "s"},
        ),
        (fleet(gcp(subnet="s")), {}),
        (fleet(gcp(), is_internal=True), GKE),
        (
            fleet(gcp(subnet="s"), is_internal=True),
            GKE | {"networking.gke.io/internal-load-balancer-subnet": "s"},
        ),
    ],
)
def test_a_cloud_is_told_by_annotations(given: Fleet, found: dict[str, str]) -> None:
    assert exposure.annotations(given) == found


def test_annotations_of_users_win() -> None:
    publishing = workloads.NetworkPublishing(
        type="LoadBalancerService",
        load_balancer=workloads.LoadBalancer(provider_parameters=aws()),
        service_annotations={f"{AWS}-backend-protocol": "ssl", "example.com/a": "b"},
    )
    found = exposure.annotations(Fleet(publishing=publishing))
    assert found == {f"{AWS}-backend-protocol": "ssl", "example.com/a": "b"}


@pytest.mark.parametrize(
    ("given", "address"),
    [
        (fleet(azure(address="192.0.2.1")), "192.0.2.1"),
        (fleet(gcp(address="192.0.2.1"), is_internal=True), "192.0.2.1"),
        (fleet(gcp(address="192.0.2.1"), address="192.0.2.9"), "192.0.2.9"),
        (fleet(aws()), None),
    ],
)
def test_the_address_that_is_asked_for_is_the_services(given: Fleet, address: str | None) -> None:
    assert service(given).get("loadBalancerIP") == address


@pytest.mark.parametrize("type_", ["NodePortService", "ClusterIPService"])
def test_only_a_load_balancer_is_told_anything(type_: Any) -> None:
    publishing = workloads.NetworkPublishing(type=type_)
    given = Fleet(publishing=publishing, address="192.0.2.1")
    assert exposure.annotations(given) == {}
    assert "loadBalancerIP" not in service(given)


def test_ports_of_nodes_are_those_that_were_asked_for() -> None:
    publishing = workloads.NetworkPublishing(
        type="NodePortService", node_ports=(workloads.NodePort(name="https", port_number=30443),)
    )
    found = {
        it["name"]: it.get("nodePort") for it in service(Fleet(publishing=publishing))["ports"]
    }
    assert found == {"http": None, "https": 30443}


def test_tcp_and_udp_share_a_number() -> None:
    ports = (Port("https", 443, 8443), Port("http3-443", 443, 8443, "UDP"))
    given = Fleet(ports=ports, declares_ports=False)
    assert [(it["protocol"], it["port"]) for it in service(given)["ports"]] == [
        ("TCP", 443),
        ("UDP", 443),
    ]


def service(given: Fleet) -> dict[str, Any]:
    """The specification of the Service."""
    (found,) = [it for it in manifests.fleet(given) if it["kind"] == "Service"]
    spec: dict[str, Any] = found["spec"]
    return spec

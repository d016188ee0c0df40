"""What of a Service in front of Envoy contradicts itself, told with its path."""

import pytest

from crds.meta import NamespacedName
from dag import fleets, plan
from dag.engine.incremental import Engine
from tests.dag.gateway import manifests as gateways
from tests.dag.httpproxy.manifests import configuration
from tests.dag.world import FLEET, apply, messages, world

OURS = "projectcontour/contour"
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


CLUSTER_IP = "type: ClusterIPService, gateway"
OWN = "projectcontour.io/gateway-controller"


@pytest.mark.parametrize(
    ("publishing", "path"),
    [
        ("type: LoadBalancerService, gateway: {gatewayClassName: a}", f"{AT}.gateway"),
        (f"{CLUSTER_IP}: {{}}", f"{AT}.gateway"),
        (f"{CLUSTER_IP}: {{gatewayClassName: a, controllerName: a.b/c}}", f"{AT}.gateway"),
        (
            f"{CLUSTER_IP}: {{gatewayClassName: a, parametersRef: {{group: g, kind: k, name: n}}}}",
            f"{AT}.gateway.parametersRef",
        ),
    ],
)
def test_a_gateway_in_front_is_of_a_class_or_of_a_controller(publishing: str, path: str) -> None:
    (found,) = told(publishing)
    assert found.startswith(f"{path}: ")


@pytest.mark.parametrize("named", ["", "controllerName: a.example/own, "])
def test_our_own_controller_cannot_be_in_front_of_itself(named: str) -> None:
    own = "a.example/own" if named else OWN
    gateway = f", gateway: {{{named}mode: PerGateway}}"
    for controller, is_told in ((own, True), ("b.example/other", False)):
        publishing = f"{CLUSTER_IP}: {{controllerName: {controller}}}"
        spec = f"envoy: {{networkPublishing: {{{publishing}}}}}{gateway}"
        found = messages(world(configuration(spec)), "ContourConfiguration", OURS)
        assert [f"{AT}.gateway.controllerName: " in it for it in found] == [True] * is_told
    # Who serves no Gateways is in nobody's way.
    assert told(f"{CLUSTER_IP}: {{controllerName: {OWN}}}") == []


@pytest.mark.parametrize("mode", ["Single", "PerGateway"])
def test_a_class_of_our_own_controller_is_told_and_nothing_is_made_of_it(mode: str) -> None:
    publishing = f"{CLUSTER_IP}: {{gatewayClassName: outer}}"
    spec = f"envoy: {{networkPublishing: {{{publishing}}}}}, gateway: {{mode: {mode}}}"
    it = world(configuration(spec) + gateways.gateway_class("outer"))
    (found,) = messages(it, "ContourConfiguration", OURS)
    assert f"{AT}.gateway.gatewayClassName: " in found
    assert _is_behind_another(it) is False
    apply(it, gateways.gateway_class("outer", controller="b.example/other"))
    assert messages(it, "ContourConfiguration", OURS) == []
    assert _is_behind_another(it) is True


@pytest.mark.parametrize("mode", ["Single", "PerGateway"])
def test_the_gateway_in_front_and_its_routes_get_nothing_from_us(mode: str) -> None:
    publishing = f"{CLUSTER_IP}: {{controllerName: b.example/other}}"
    spec = f"envoy: {{networkPublishing: {{{publishing}}}}}, gateway: {{mode: {mode}}}"
    tcp = gateways.listener("http", 80, "TCP")
    outer = gateways.gateway("outer", tcp).replace("ClassName: contour", "ClassName: outer")
    it = world(
        configuration(spec)
        + gateways.gateway_class()
        + gateways.gateway_class("outer", controller="b.example/other")
        + gateways.gateway("inner")
        + outer
        + gateways.service("envoy")
        + gateways.stream_route("TCPRoute", "envoy-http", "{name: envoy, port: 80}").replace(
            "{name: gw}", "{name: outer, sectionName: http}"
        )
        + gateways.stream_route("TCPRoute", "own", "{name: envoy, port: 80}").replace(
            "{name: gw}", "{name: inner}"
        )
    )
    key = NamespacedName("default", "outer")
    assert it.answer(plan.STATUSES["Gateway"], key) is None
    assert it.answer(plan.STATUSES["GatewayClass"], NamespacedName("", "outer")) is None
    assert it.answer(plan.STATUSES["TCPRoute"], key._replace(name="envoy-http")) is None
    # Of others we speak.
    assert it.answer(plan.STATUSES["Gateway"], key._replace(name="inner")) is not None
    assert it.answer(plan.STATUSES["TCPRoute"], key._replace(name="own")) is not None


def test_http3_does_not_come_through_another_gateway() -> None:
    (found,) = told(f"{CLUSTER_IP}: {{gatewayClassName: a}}", ", listener: {http3: true}")
    assert found.startswith(f"{AT}.gateway: ")


def _is_behind_another(engine: Engine) -> bool:
    found = engine.answer(fleets.fleet, FLEET)
    assert found is not None
    assert found.publishing is not None
    return found.publishing.gateway is not None


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

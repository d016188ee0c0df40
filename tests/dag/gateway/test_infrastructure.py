"""What is asked of the fleet of a Gateway, and parameters that nobody can follow."""

import pytest

from crds.workloads import Placement, Workload
from dag import tables
from dag.engine.incremental import Engine
from dag.gateway import infrastructure
from dag.statuses import Address
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import (
    configuration,
    gateway,
    gateway_class,
    http,
    route,
    service,
    with_field,
)
from tests.dag.world import apply, delete, key, routes, world

LOAD_BALANCER = "networkPublishing: {type: LoadBalancerService}"
SINGLE = configuration(f"envoy: {{{LOAD_BALANCER}}}")
EACH = configuration(f"gateway: {{mode: PerGateway}}, envoy: {{{LOAD_BALANCER}}}")
OURS = "group: projectcontour.io, kind: ContourConfiguration"
REFUSED = ["Accepted=False/InvalidParameters", "Programmed=False/Invalid"]


def asking(text: str) -> str:
    return gateway("gw", http(), rest=f"infrastructure: {{{text}}}")


def class_with(parameters: str) -> str:
    return with_field(gateway_class(), f"parametersRef: {{{parameters}}}")


def asked(engine: Engine, name: str = "gw") -> infrastructure.Infrastructure:
    """As whoever makes fleets reads it."""
    found = engine.answer(infrastructure.infrastructure, key(name))
    assert found is not None
    return found


def follow(engine: Engine, name: str = "projectcontour/contour") -> None:
    """Names the configuration of the instance: with several, none would count."""
    engine.write(tables.CONFIGURATION_NAME, (), key(name))
    engine.settle()


def published(engine: Engine) -> str | None:
    found = asked(engine).publishing
    return found.type if found is not None else None


def test_labels_annotations_and_addresses_are_for_whoever_makes_the_fleet() -> None:
    text = "labels: {team: a}, annotations: {a.example/b: 'c d'}"
    it = world(EACH + gateway_class() + asking(text))
    found = asked(it)
    assert (found.labels, found.annotations) == ({"team": "a"}, {"a.example/b": "c d"})
    assert found.addresses == ()
    assert status_text.gateway(it) == ["Accepted", "Programmed", "ResolvedRefs"]
    assert status_text.gateway_messages(it)[0] == "the Gateway is served"
    apply(it, gateway("gw", http(), rest="addresses: [{value: 192.0.2.1}, {type: Hostname}]"))
    assert asked(it).addresses == (Address("IPAddress", "192.0.2.1"),)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("projectcontour.io/last-good-template", "eJw=", "only the instance sets annotations"),
        (
            "container.apparmor.security.beta.kubernetes.io/envoy",
            "unconfined",
            "pods stay within the restricted Pod Security level",
        ),
    ],
)
def test_an_annotation_that_would_give_pods_power_is_left_out_and_told(
    name: str, value: str, why: str
) -> None:
    """By the first, a Gateway would say to which pod template a failed rollout goes back."""
    it = world(EACH + gateway_class() + asking(f"annotations: {{a.example/b: c, {name}: {value}}}"))
    assert asked(it).annotations == {"a.example/b": "c"}
    assert status_text.gateway(it)[0] == "Accepted"
    told = f"spec.infrastructure.annotations[{name}]: has no effect: {why}"
    assert told in status_text.gateway_messages(it)[0]


@pytest.mark.parametrize("managed", [True, False])
def test_what_is_asked_of_envoys_that_others_make_has_no_effect_and_is_told(managed: bool) -> None:
    left = configuration(f"envoy: {{{LOAD_BALANCER}, managed: false}}")
    it = world((SINGLE if managed else left) + gateway_class() + asking("labels: {a: b}"))
    assert asked(it).is_managed is managed
    (message, *_) = status_text.gateway_messages(it)
    assert ("spec.infrastructure: has no effect" in message) is not managed


def test_the_nearest_parameters_say_how_a_fleet_is_published_and_runs() -> None:
    of_class = configuration(
        "gateway: {}, envoy: {networkPublishing: {type: NodePortService}, workload: {replicas: 5}}",
        "ops/class",
    )
    own = configuration("envoy: {networkPublishing: {type: ClusterIPService}}", "own")
    named = class_with(f"{OURS}, name: class, namespace: ops")
    it = world(EACH + gateway("gw", http()))
    follow(it)
    apply(it, gateway_class())
    assert (published(it), asked(it).workload) == ("LoadBalancerService", None)
    apply(it, of_class + named)
    assert (published(it), asked(it).workload) == ("NodePortService", Workload(replicas=5))
    assert "apply, to the Envoys of each Gateway" in status_text.class_messages(it, "contour")[0]
    apply(it, own + asking(f"parametersRef: {{{OURS}, name: own}}"))
    assert (published(it), asked(it).workload) == ("ClusterIPService", Workload(replicas=5))
    assert status_text.gateway(it)[0] == "Accepted"


POWERS = [
    ("bootstrap: {value: '{}'}", "bootstrap"),
    ("workload: {placement: {nodeSelector: {a: b}}}", "workload.placement.nodeSelector"),
    (
        "workload: {placement: {tolerations: [{operator: Exists}]}}",
        "workload.placement.tolerations",
    ),
]


@pytest.mark.parametrize(("powerful", "path"), POWERS)
def test_power_is_for_classes_in_a_namespace_that_the_configuration_names(
    powerful: str, path: str
) -> None:
    """As of an EnvoyProxy."""
    of_class = class_with(f"{OURS}, name: class, namespace: ops")
    it = world(EACH + configuration(f"envoy: {{{powerful}}}", "ops/class") + gateway("gw", http()))
    follow(it)
    apply(it, of_class)
    assert status_text.gateway_class(it, "contour")[0] == "Accepted=False/InvalidParameters"
    refused = f"spec.envoy.{path}: parameters in namespace ops may not set this"
    assert refused in status_text.class_messages(it, "contour")[0]
    named = "gateway: {mode: PerGateway, parametersNamespaces: [ops]}"
    apply(it, configuration(f"{named}, envoy: {{{LOAD_BALANCER}}}"))
    assert status_text.gateway_class(it, "contour")[0] == "Accepted"
    apply(it, configuration(f"envoy: {{{powerful}}}", "own"))
    apply(it, gateway_class() + asking(f"parametersRef: {{{OURS}, name: own}}"))
    assert status_text.gateway(it)[:2] == REFUSED
    refused = f"spec.envoy.{path}: only the ContourConfiguration of a GatewayClass may set this"
    assert refused in status_text.gateway_messages(it)[0]


def test_pods_of_a_gateway_stay_restricted() -> None:
    annotated = "container.apparmor.security.beta.kubernetes.io/envoy: unconfined"
    own = configuration(f"envoy: {{workload: {{podAnnotations: {{{annotated}}}}}}}", "own")
    it = world(EACH + gateway_class() + own + asking(f"parametersRef: {{{OURS}, name: own}}"))
    follow(it)
    assert status_text.gateway(it)[:2] == REFUSED
    assert "restricted Pod Security level" in status_text.gateway_messages(it)[0]


def test_what_a_gateway_may_not_set_stays_as_its_class_says() -> None:
    placed = "workload: {replicas: 3, placement: {nodeSelector: {a: b}}}"
    it = world(
        EACH
        + configuration(f"envoy: {{{placed}}}", "projectcontour/class")
        + configuration("envoy: {workload: {replicas: 5}}", "own")
        + asking(f"parametersRef: {{{OURS}, name: own}}")
    )
    follow(it)
    apply(it, class_with(f"{OURS}, name: class, namespace: projectcontour"))
    assert asked(it).workload == Workload(replicas=5, placement=Placement(node_selector={"a": "b"}))


def test_gateways_that_share_envoys_share_the_settings_of_the_instance() -> None:
    other = configuration("envoy: {networkPublishing: {type: NodePortService}}", "ops/class")
    it = world(SINGLE + other + gateway("gw", http()))
    follow(it)
    apply(it, class_with(f"{OURS}, name: class, namespace: ops"))
    assert published(it) == "LoadBalancerService"
    assert "has no effect in mode Single" in status_text.class_messages(it, "contour")[0]


@pytest.mark.parametrize(
    "parameters",
    [
        "group: example.com, kind: Odd, name: x, namespace: ops",
        "group: example.com, kind: ContourConfiguration, name: x, namespace: ops",
        f"{OURS}, name: x, namespace: ops",
        f"{OURS}, name: x",
        f"{OURS}, name: bad, namespace: ops",
    ],
)
def test_parameters_that_nobody_can_follow_stop_every_gateway_of_the_class(
    parameters: str,
) -> None:
    bad = configuration("envoy: {timeouts: {requestTimeout: soon}}", "ops/bad")
    it = world(EACH + bad + gateway("gw", http()))
    follow(it)
    apply(it, class_with(parameters))
    assert status_text.gateway_class(it, "contour")[0] == "Accepted=False/InvalidParameters"
    assert "spec.parametersRef: " in status_text.class_messages(it, "contour")[0]
    assert status_text.gateway(it)[:2] == REFUSED
    assert "GatewayClass contour" in status_text.gateway_messages(it)[0]


@pytest.mark.parametrize(
    "parameters",
    [
        "group: example.com, kind: Odd, name: x",
        "group: '', kind: ContourConfiguration, name: own",
        f"{OURS}, name: x",
        f"{OURS}, name: bad",
    ],
)
def test_parameters_that_nobody_can_follow_stop_the_gateway_that_names_them(
    parameters: str,
) -> None:
    rest = f"infrastructure: {{parametersRef: {{{parameters}}}}}"
    own = configuration("envoy: {}", "own")
    bad = configuration("envoy: {timeouts: {requestTimeout: soon}}", "bad")
    it = world(gateway_class() + own + bad + route("r") + service("s1"))
    follow(it, "default/own")
    apply(it, gateway("gw", rest=rest))
    assert status_text.gateway(it)[:2] == REFUSED
    assert "spec.infrastructure.parametersRef: " in status_text.gateway_messages(it)[0]
    assert routes(it, "*") == []


def test_parameters_that_come_later_are_followed_and_those_that_go_are_missed() -> None:
    it = world(EACH + gateway_class() + asking(f"parametersRef: {{{OURS}, name: own}}"))
    follow(it)
    assert status_text.gateway(it)[:2] == REFUSED
    apply(it, configuration("envoy: {networkPublishing: {type: ClusterIPService}}", "own"))
    assert status_text.gateway(it)[0] == "Accepted"
    assert published(it) == "ClusterIPService"
    delete(it, "ContourConfiguration", "own")
    assert status_text.gateway(it)[:2] == REFUSED
    assert it.answer(infrastructure.infrastructure, key("gw")) is None

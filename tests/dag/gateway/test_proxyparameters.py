"""EnvoyProxies as the parameters of GatewayClasses and Gateways: what holds, and what is told."""

import pytest

from crds.fleetdetails import Pods
from crds.meta import ObjectRef
from dag import fleets, statuses, tables
from dag.engine.incremental import Engine
from dag.plan import STATUSES
from tests.dag.envoyproxy.proxies import GROUP, deployment, kubernetes, proxy
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import configuration, gateway, gateway_class, with_field
from tests.dag.gateway.test_infrastructure import EACH, REFUSED, SINGLE, asked, follow
from tests.dag.world import apply, delete, key, world

OLDER = "config.gateway.envoyproxy.io"
HOME = "projectcontour/proxy"


def class_naming(name: str = "proxy", namespace: str = "", group: str = GROUP) -> str:
    where = f", namespace: {namespace}" if namespace else ""
    reference = f"{{group: {group}, kind: EnvoyProxy, name: {name}{where}}}"
    return with_field(gateway_class(), f"parametersRef: {reference}")


def gateway_naming(name: str = "own", group: str = GROUP) -> str:
    reference = f"{{group: {group}, kind: EnvoyProxy, name: {name}}}"
    return gateway("gw", rest=f"infrastructure: {{parametersRef: {reference}}}")


def each(*objects: str) -> Engine:
    it = world(EACH + "".join(objects))
    follow(it)
    return it


def own_status(engine: Engine, name: str) -> dict[str, str]:
    """What an EnvoyProxy is told, by who names it."""
    found = engine.answer(STATUSES["EnvoyProxy"], key(name))
    assert found is None or isinstance(found, statuses.PolicyStatus)
    return {
        f"{it.ancestor.kind} {it.ancestor.name}": f"{c.status}/{c.reason}: {c.message}"
        for it in (found.ancestors if found else ())
        for c in it.conditions
    }


def test_a_class_names_one_of_the_instances_namespace_unless_it_says_another() -> None:
    it = each(class_naming(), gateway("gw"), proxy(deployment("replicas: 7"), HOME))
    assert asked(it).workload is not None
    assert (asked(it).workload.type, asked(it).workload.replicas) == ("Deployment", 7)  # type: ignore[union-attr]
    assert status_text.gateway_class(it, "contour")[0] == "Accepted"
    assert status_text.gateway(it)[0] == "Accepted"
    assert own_status(it, HOME) == {"GatewayClass contour": "True/Accepted: the EnvoyProxy is used"}
    apply(it, class_naming(namespace="ops"))
    assert status_text.gateway_class(it, "contour")[0] == "Accepted=False/InvalidParameters"
    assert own_status(it, HOME) == {}
    apply(it, proxy(deployment("replicas: 2"), "ops/proxy"))
    assert asked(it).workload.replicas == 2  # type: ignore[union-attr]


def test_the_nearest_wins_field_by_field() -> None:
    of_class = kubernetes(
        "envoyDeployment: {replicas: 3, container: {image: 'a/b:c', env: [{name: A}]}},"
        " envoyService: {type: ClusterIP, labels: {a: b}}, envoyPDB: {minAvailable: 1}"
    )
    own = (
        f"{deployment('replicas: 9, pod: {labels: {team: x}}')}, logging: {{level: {{http: off1}}}}"
    )
    own = own.replace("off1", "debug")
    it = each(class_naming(), gateway_naming(), proxy(of_class, HOME), proxy(own, "own"))
    found = asked(it)
    assert found.workload is not None
    assert found.publishing is not None
    assert (found.workload.replicas, found.workload.type) == (9, "Deployment")
    assert found.publishing.type == "ClusterIPService"
    pods = found.details.pods
    assert (pods.image, pods.labels, pods.log_levels) == ("a/b:c", {"team": "x"}, {"http": "debug"})
    assert found.details.service.labels == {"a": "b"}
    assert found.details.budget is not None
    fleet = it.answer(fleets.fleet, "default/gw")
    assert fleet is not None
    assert fleet.details == found.details
    # A ContourConfiguration in the place of the Gateway's own says how Envoys run as a whole, but
    # for what only a class may say.
    apply(it, configuration("envoy: {workload: {replicas: 5}}", "own"))
    ours = "{group: projectcontour.io, kind: ContourConfiguration, name: own}"
    apply(it, gateway("gw", rest=f"infrastructure: {{parametersRef: {ours}}}"))
    assert asked(it).workload.replicas == 5  # type: ignore[union-attr]
    assert asked(it).details.pods == Pods(image="a/b:c", env=({"name": "A"},))
    assert asked(it).details.service.labels == {"a": "b"}


def test_one_that_says_nothing_of_a_service_has_a_load_balancer() -> None:
    nothing = configuration("gateway: {mode: PerGateway}")
    it = world(nothing + class_naming() + gateway("gw") + proxy("", HOME))
    follow(it)
    assert asked(it).publishing.type == "LoadBalancerService"  # type: ignore[union-attr]
    assert asked(it).is_managed
    apply(it, configuration("gateway: {mode: PerGateway}, envoy: {managed: false}"))
    assert not asked(it).is_managed


@pytest.mark.parametrize(
    "field",
    [
        "container: {image: 'a/b:c'}",
        "container: {imageRepository: a/b}",
        "container: {env: [{name: A}]}",
        "container: {securityContext: {readOnlyRootFilesystem: false}}",
        "pod: {volumes: [{name: v, emptyDir: {}}]}",
        "pod: {nodeSelector: {a: b}}",
        "pod: {tolerations: [{operator: Exists}]}",
        "pod: {affinity: {nodeAffinity: {}}}",
        "pod: {priorityClassName: system-node-critical}",
        "pod: {imagePullSecrets: [{name: s}]}",
        "pod: {securityContext: {runAsUser: 1}}",
        "pod: {topologySpreadConstraints: [{maxSkew: 1}]}",
    ],
)
def test_power_is_for_classes_in_a_namespace_that_the_configuration_names(field: str) -> None:
    """Neither for a Gateway's own, nor for a class's elsewhere, until that is named."""
    powerful = deployment(field)
    path = f"spec.provider.kubernetes.envoyDeployment.{field.split(':', maxsplit=1)[0]}"
    path += "." + field.split("{")[1].split(":", maxsplit=1)[0]
    it = each(class_naming(), gateway("gw"), proxy(powerful, HOME))
    assert status_text.gateway_class(it, "contour")[0] == "Accepted"
    apply(it, class_naming(namespace="ops") + proxy(powerful, "ops/proxy"))
    assert status_text.gateway_class(it, "contour")[0] == "Accepted=False/InvalidParameters"
    assert f"{path}: parameters in namespace ops" in status_text.class_messages(it, "contour")[0]
    assert status_text.gateway(it)[:2] == REFUSED
    named = "gateway: {mode: PerGateway, parametersNamespaces: [ops]}"
    apply(it, configuration(f"{named}, envoy: {{networkPublishing: {{type: NodePortService}}}}"))
    assert status_text.gateway_class(it, "contour")[0] == "Accepted"
    apply(it, gateway_class() + gateway_naming() + proxy(powerful, "own"))
    assert status_text.gateway(it)[:2] == REFUSED
    message = f"{path}: only the EnvoyProxy of a GatewayClass may set this"
    assert message in status_text.gateway_messages(it)[0]
    assert message in own_status(it, "own")["Gateway gw"]
    assert own_status(it, "own")["Gateway gw"].startswith("False/InvalidParameters: ")


def test_what_harms_nobody_holds_from_a_gateway() -> None:
    harmless = (
        "envoyDeployment: {replicas: 2, strategy: {type: Recreate},"
        " pod: {labels: {a: b}, annotations: {a: b}}, container: {resources: {limits: {cpu: 1m}}}},"
        " envoyService: {type: NodePort, annotations: {a: b}}, envoyHpa: {maxReplicas: 4},"
        " envoyPDB: {minAvailable: 1}"
    )
    own = f"{kubernetes(harmless)}, logging: {{level: {{default: debug}}}}"
    it = each(gateway_class(), gateway_naming(), proxy(own, "own"))
    assert status_text.gateway(it)[0] == "Accepted"
    found = asked(it)
    assert found.workload is not None
    assert (found.workload.log_level, found.publishing.type) == ("debug", "NodePortService")  # type: ignore[union-attr]


def test_an_invalid_one_leaves_the_fleet_and_its_listeners_until_it_is_valid_again() -> None:
    it = each(class_naming(), gateway("gw"), proxy(deployment("replicas: 7"), HOME))
    before = it.answer(fleets.fleet, "default/gw")
    assert before is not None
    assert before.is_managed
    for spec, words in (
        (
            deployment("container: {securityContext: {privileged: true}}"),
            "privileged: must be false",
        ),
        (kubernetes("envoyDeployment: {}, envoyDaemonSet: {}"), "envoyDaemonSet: cannot be set"),
    ):
        apply(it, proxy(spec, HOME))
        assert status_text.gateway_class(it, "contour")[0] == "Accepted=False/InvalidParameters"
        assert words in status_text.class_messages(it, "contour")[0]
        assert words in own_status(it, HOME)["GatewayClass contour"]
        left = it.answer(fleets.fleet, "default/gw")
        assert left is not None
        assert not left.is_managed
        assert left.ports == before.ports
    delete(it, "EnvoyProxy", HOME)
    gone = it.answer(fleets.fleet, "default/gw")
    assert gone is not None
    assert (gone.is_managed, gone.ports) == (False, before.ports)
    assert status_text.gateway(it)[:2] == REFUSED
    apply(it, proxy(deployment("replicas: 7"), HOME))
    assert it.answer(fleets.fleet, "default/gw") == before
    assert status_text.gateway(it)[:2] == ["Accepted", "Programmed"]


def test_while_the_last_valid_version_holds_the_class_says_that_the_newest_does_not() -> None:
    it = each(class_naming(), gateway("gw"), proxy(deployment("replicas: 7"), HOME))
    it.write(tables.NOT_TAKEN, ObjectRef("EnvoyProxy", *key(HOME)), "spec.x: is wrong")
    it.settle()
    assert status_text.gateway_class(it, "contour")[0] == "Accepted=False/InvalidParameters"
    assert "spec.x: is wrong" in status_text.class_messages(it, "contour")[0]
    assert own_status(it, HOME)["GatewayClass contour"].startswith("False/InvalidParameters")
    assert asked(it).is_managed
    assert status_text.gateway(it)[:2] == ["Accepted", "Programmed"]


def test_one_that_never_was_valid_is_told_with_its_cause() -> None:
    it = each(class_naming(), gateway("gw"))
    assert f"EnvoyProxy {HOME} not found" in status_text.class_messages(it, "contour")[0]
    it.write(tables.NOT_TAKEN, ObjectRef("EnvoyProxy", *key(HOME)), "spec.x: is wrong")
    it.settle()
    assert "cannot be used: spec.x: is wrong" in status_text.class_messages(it, "contour")[0]


def test_the_older_group_is_read_with_a_warning() -> None:
    it = each(class_naming(group=OLDER), gateway("gw"), proxy("", HOME, group=OLDER))
    assert status_text.gateway_class(it, "contour")[0] == "Accepted"
    told = f"spec.parametersRef.group: {GROUP} is the new name of this group"
    assert told in status_text.class_messages(it, "contour")[0]


def test_gateways_that_share_envoys_have_none_of_it_and_are_told() -> None:
    it = world(SINGLE + class_naming() + gateway("gw") + proxy(deployment("replicas: 7"), HOME))
    follow(it)
    assert asked(it).workload is None
    assert "has no effect in mode Single" in status_text.class_messages(it, "contour")[0]


def test_fields_without_effect_are_told_where_authors_look() -> None:
    it = each(class_naming(), gateway("gw"), proxy("mergeGateways: true", HOME))
    assert "spec.mergeGateways: every Gateway has" in own_status(it, HOME)["GatewayClass contour"]
    assert own_status(it, HOME)["GatewayClass contour"].startswith("True/Accepted")


def test_a_bootstrap_holds_from_a_class_alone_and_the_nearest_wins() -> None:
    custom = "bootstrap: {type: Merge, value: 'node: {}'}"
    it = each(class_naming(), gateway("gw"), proxy(custom, HOME))
    found = it.answer(fleets.fleet, "default/gw")
    assert found is not None
    assert found.bootstrap is not None
    assert found.bootstrap.written == f"EnvoyProxy {HOME}: spec.bootstrap"
    assert found.bootstrap.custom.type == "Merge"
    apply(it, gateway_naming() + proxy(custom, "own"))
    reasons = status_text.gateway(it)
    assert reasons[0] == "Accepted=False/InvalidParameters"

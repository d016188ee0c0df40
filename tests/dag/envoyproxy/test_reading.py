"""Every field of an EnvoyProxy that is accepted changes the fleet; every other one is told."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
import yaml

from contour.infrastructure import desired
from contour.infrastructure.desired import Release
from crds import shape as shapes
from crds.envoygateway import envoyproxy
from crds.meta import NamespacedName
from crds.unserved import Unserved
from dag.fleets import Fleet, Port
from provisioning.keeping.ownership import Owner
from provisioning.templating import Document
from tests.dag.envoyproxy.proxies import deployment, kubernetes, refusals, shape, told
from tests.testbed import modelfields

FLEET = Fleet(
    gateway=NamespacedName("shop", "gw"),
    gateway_class="ours",
    ports=(Port("http", "TCP", 80, 8080),),
)
POD = "spec/template/spec"
ENVOY = f"{POD}/containers/1"


def objects(*specs: str) -> dict[str, Document]:
    """What there is to be in a cluster, by kind, where these apply, the nearest last."""
    publishing, workload, details, bootstrap = shape(*specs)
    assert workload is not None
    fleet = replace(
        FLEET, publishing=publishing, workload=workload, details=details, bootstrap=bootstrap
    )
    release = Release(Owner("home", "contour"), envoy_image="usual/envoy:v1")
    return {it["kind"]: it for it in desired.documents(release, fleet, "shop/gw")}


def at(document: Any, path: str) -> Any:
    for step in path.split("/"):
        document = document[int(step) if isinstance(document, list) else step]
    return document


def of_daemon_set(text: str) -> str:
    return kubernetes(f"envoyDaemonSet: {{{text}}}")


def service(text: str) -> str:
    return kubernetes(f"envoyService: {{{text}}}")


_VOLUME = "pod: {volumes: [{name: v, emptyDir: {}}]}"

_VARIABLE = f"{POD}/initContainers/0/env/1/value"

ROWS: list[tuple[str, str, str, Any]] = [
    (
        f"{deployment('')}, bootstrap: 'admin: {{}}'",
        "Deployment",
        _VARIABLE,
        '{"type": "Replace", "value": "admin: {}"}',
    ),
    (
        f"{deployment('')}, bootstrap: {{type: Merge, value: 'node: {{}}'}}",
        "Deployment",
        _VARIABLE,
        '{"type": "Merge", "value": "node: {}"}',
    ),
    (deployment(""), "Deployment", "kind", "Deployment"),
    (of_daemon_set(""), "DaemonSet", "kind", "DaemonSet"),
    (deployment("replicas: 4"), "Deployment", "spec/replicas", 4),
    (
        deployment("strategy: {rollingUpdate: {maxSurge: 3}}"),
        "Deployment",
        "spec/strategy",
        {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": "25%"}},
    ),
    (
        deployment("strategy: {rollingUpdate: {maxUnavailable: 2}}"),
        "Deployment",
        "spec/strategy/rollingUpdate/maxUnavailable",
        2,
    ),
    (
        of_daemon_set("strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"),
        "DaemonSet",
        "spec/updateStrategy/rollingUpdate",
        {"maxSurge": 1, "maxUnavailable": 0},
    ),
    (
        of_daemon_set("strategy: {type: OnDelete}"),
        "DaemonSet",
        "spec/updateStrategy/type",
        "OnDelete",
    ),
    (
        deployment("strategy: {type: Recreate}"),
        "Deployment",
        "spec/strategy",
        {"type": "Recreate"},
    ),
    (
        of_daemon_set("strategy: {rollingUpdate: {maxUnavailable: 20%}}"),
        "DaemonSet",
        "spec/updateStrategy/rollingUpdate",
        {"maxSurge": 0, "maxUnavailable": "20%"},
    ),
    (
        deployment("pod: {annotations: {a: b}}"),
        "Deployment",
        "spec/template/metadata/annotations/a",
        "b",
    ),
    (deployment("pod: {labels: {a: b}}"), "Deployment", "spec/template/metadata/labels/a", "b"),
    (
        deployment("pod: {affinity: {nodeAffinity: {}}}"),
        "Deployment",
        f"{POD}/affinity",
        {"nodeAffinity": {}},
    ),
    (deployment("pod: {nodeSelector: {a: b}}"), "Deployment", f"{POD}/nodeSelector", {"a": "b"}),
    (
        deployment("pod: {tolerations: [{key: a, operator: Exists}]}"),
        "Deployment",
        f"{POD}/tolerations/0/key",
        "a",
    ),
    (
        of_daemon_set("pod: {topologySpreadConstraints: [{maxSkew: 2}]}"),
        "DaemonSet",
        f"{POD}/topologySpreadConstraints",
        [{"maxSkew": 2}],
    ),
    (deployment("pod: {priorityClassName: p}"), "Deployment", f"{POD}/priorityClassName", "p"),
    (
        deployment("pod: {imagePullSecrets: [{name: s}]}"),
        "Deployment",
        f"{POD}/imagePullSecrets",
        [{"name": "s"}],
    ),
    (
        deployment("pod: {securityContext: {supplementalGroups: [7]}}"),
        "Deployment",
        f"{POD}/securityContext/supplementalGroups",
        [7],
    ),
    (deployment(_VOLUME), "Deployment", f"{POD}/volumes/3", {"name": "v", "emptyDir": {}}),
    (
        deployment("container: {env: [{name: A, value: b}]}"),
        "Deployment",
        f"{ENVOY}/env/1",
        {"name": "A", "value": "b"},
    ),
    (deployment("container: {image: a/b:c}"), "Deployment", f"{ENVOY}/image", "a/b:c"),
    (deployment("container: {imageRepository: a/b}"), "Deployment", f"{ENVOY}/image", "a/b:v1"),
    (
        deployment("container: {imageRepository: 'r:5000/b'}"),
        "Deployment",
        f"{ENVOY}/image",
        "r:5000/b:v1",
    ),
    (
        deployment("container: {resources: {requests: {cpu: 1m}}}"),
        "Deployment",
        f"{ENVOY}/resources",
        {"requests": {"cpu": "1m"}},
    ),
    (
        deployment("container: {securityContext: {capabilities: {add: [NET_BIND_SERVICE]}}}"),
        "Deployment",
        f"{ENVOY}/securityContext/capabilities",
        {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
    ),
    (
        deployment(f"{_VOLUME}, container: {{volumeMounts: [{{name: v, mountPath: /v}}]}}"),
        "Deployment",
        f"{ENVOY}/volumeMounts/3/mountPath",
        "/v",
    ),
    (service(""), "Service", "spec/type", "LoadBalancer"),
    (service("type: NodePort"), "Service", "spec/type", "NodePort"),
    (service("type: ClusterIP"), "Service", "spec/type", "ClusterIP"),
    (service("annotations: {a: b}"), "Service", "metadata/annotations/a", "b"),
    (service("labels: {a: b}"), "Service", "metadata/labels/a", "b"),
    (
        service("externalTrafficPolicy: Cluster"),
        "Service",
        "spec/externalTrafficPolicy",
        "Cluster",
    ),
    (service("loadBalancerClass: a/b"), "Service", "spec/loadBalancerClass", "a/b"),
    (service("loadBalancerIP: 192.0.2.1"), "Service", "spec/loadBalancerIP", "192.0.2.1"),
    (
        service("loadBalancerSourceRanges: [192.0.2.0/24]"),
        "Service",
        "spec/loadBalancerSourceRanges",
        ["192.0.2.0/24"],
    ),
    (
        service("allocateLoadBalancerNodePorts: false"),
        "Service",
        "spec/allocateLoadBalancerNodePorts",
        False,
    ),
    (
        kubernetes("envoyHpa: {minReplicas: 2, maxReplicas: 5}"),
        "HorizontalPodAutoscaler",
        "spec/minReplicas",
        2,
    ),
    (kubernetes("envoyHpa: {maxReplicas: 5}"), "HorizontalPodAutoscaler", "spec/maxReplicas", 5),
    (
        kubernetes("envoyHpa: {maxReplicas: 5, metrics: [{type: Pods}]}"),
        "HorizontalPodAutoscaler",
        "spec/metrics",
        [{"type": "Pods"}],
    ),
    (
        kubernetes("envoyHpa: {maxReplicas: 5, behavior: {scaleUp: {}}}"),
        "HorizontalPodAutoscaler",
        "spec/behavior",
        {"scaleUp": {}},
    ),
    (kubernetes("envoyPDB: {minAvailable: 1}"), "PodDisruptionBudget", "spec/minAvailable", 1),
    (
        kubernetes("envoyPDB: {maxUnavailable: 10%}"),
        "PodDisruptionBudget",
        "spec/maxUnavailable",
        "10%",
    ),
    ("networkPublishing: {type: ClusterIPService}", "Service", "spec/type", "ClusterIP"),
    ("logging: {level: {default: debug}}", "DaemonSet", f"{ENVOY}/args/8", "debug"),
    ("logging: {level: {system: error}}", "DaemonSet", f"{ENVOY}/args/8", "error"),
    ("logging: {level: {upstream: trace}}", "DaemonSet", f"{ENVOY}/args/10", "upstream:trace"),
]


@pytest.mark.parametrize(("spec", "kind", "path", "expected"), ROWS)
def test_what_is_set_arrives(spec: str, kind: str, path: str, expected: Any) -> None:
    assert at(objects(spec)[kind], path) == expected
    assert told(spec) == []


_LABELS = "pod: {labels: {z: z}}"
_ANOTHER_FIELD = {
    "Deployment": deployment(_LABELS),
    "DaemonSet": of_daemon_set(_LABELS),
    "Service": service("labels: {z: z}"),
    "HorizontalPodAutoscaler": kubernetes("envoyHpa: {maxReplicas: 5}"),
    "PodDisruptionBudget": deployment(_LABELS),
}


@pytest.mark.parametrize(("spec", "kind", "path", "expected"), ROWS)
def test_what_is_set_stays_where_a_nearer_one_sets_another_field(
    spec: str, kind: str, path: str, expected: Any
) -> None:
    assert at(objects(spec, _ANOTHER_FIELD[kind])[kind], path) == expected


def of_configuration(text: str) -> str:
    return f"networkPublishing: {{{text}}}"


_INTERNAL = "loadBalancer: {scope: Internal, providerParameters: {type: AWS}}"
_AWS = "service.beta.kubernetes.io/aws-load-balancer"
_SURGE = "rollingUpdate: {maxSurge: 3}"


@pytest.mark.parametrize(
    ("spec", "nearer", "kind", "path", "expected"),
    [
        (
            service("type: NodePort"),
            service("type: ClusterIP"),
            "Service",
            "spec/type",
            "ClusterIP",
        ),
        (
            service("externalTrafficPolicy: Cluster"),
            service("externalTrafficPolicy: Local"),
            "Service",
            "spec/externalTrafficPolicy",
            "Local",
        ),
        (
            service("loadBalancerSourceRanges: [192.0.2.0/24]"),
            of_configuration("type: LoadBalancerService"),
            "Service",
            "spec/loadBalancerSourceRanges",
            ["192.0.2.0/24"],
        ),
        (
            service("loadBalancerSourceRanges: [192.0.2.0/24]"),
            service("loadBalancerSourceRanges: [198.51.100.0/24]"),
            "Service",
            "spec/loadBalancerSourceRanges",
            ["198.51.100.0/24"],
        ),
        (
            service("annotations: {a: a, b: a}"),
            service("annotations: {b: b}"),
            "Service",
            "metadata/annotations",
            {"a": "a", "b": "b"},
        ),
        (
            of_configuration(f"type: LoadBalancerService, {_INTERNAL}"),
            service("labels: {a: b}"),
            "Service",
            "metadata/annotations",
            {f"{_AWS}-backend-protocol": "tcp", f"{_AWS}-internal": "true"},
        ),
        (
            of_configuration("type: ClusterIPService, ipFamilyPolicy: RequireDualStack"),
            service("type: NodePort"),
            "Service",
            "spec/ipFamilyPolicy",
            "RequireDualStack",
        ),
        (
            kubernetes("envoyHpa: {minReplicas: 4, maxReplicas: 9}"),
            kubernetes("envoyHpa: {maxReplicas: 3}"),
            "HorizontalPodAutoscaler",
            "spec/minReplicas",
            3,
        ),
        (
            kubernetes("envoyPDB: {minAvailable: 1}"),
            kubernetes("envoyPDB: {maxUnavailable: 1}"),
            "PodDisruptionBudget",
            "spec/maxUnavailable",
            1,
        ),
        (
            deployment("container: {resources: {limits: {cpu: 1, memory: 1Gi}}}"),
            deployment("container: {resources: {requests: {cpu: 1m}, limits: {cpu: 2}}}"),
            "Deployment",
            f"{ENVOY}/resources",
            {"requests": {"cpu": "1m"}, "limits": {"cpu": "2", "memory": "1Gi"}},
        ),
        (
            deployment(f"strategy: {{{_SURGE}}}"),
            deployment("strategy: {rollingUpdate: {maxUnavailable: 0}}"),
            "Deployment",
            "spec/strategy/rollingUpdate",
            {"maxSurge": 3, "maxUnavailable": 0},
        ),
        (
            deployment(f"strategy: {{{_SURGE}}}"),
            deployment("strategy: {type: Recreate}"),
            "Deployment",
            "spec/strategy",
            {"type": "Recreate"},
        ),
        (
            deployment("strategy: {type: Recreate}"),
            of_daemon_set(""),
            "DaemonSet",
            "spec/updateStrategy",
            {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
        ),
        (
            deployment(f"strategy: {{{_SURGE}}}"),
            of_daemon_set("strategy: {rollingUpdate: {maxUnavailable: 2}}"),
            "DaemonSet",
            "spec/updateStrategy/rollingUpdate",
            {"maxSurge": 0, "maxUnavailable": 2},
        ),
        (
            of_daemon_set("strategy: {type: OnDelete}"),
            kubernetes("envoyPDB: {minAvailable: 1}"),
            "Deployment",
            "spec/strategy/type",
            "RollingUpdate",
        ),
    ],
)
def test_the_nearest_one_changes_what_it_sets(
    spec: str, nearer: str, kind: str, path: str, expected: Any
) -> None:
    assert at(objects(spec, nearer)[kind], path) == expected


@pytest.mark.parametrize("spec", sorted({it[0] for it in ROWS}))
def test_nothing_can_be_taken_out_of_a_row_unnoticed(spec: str) -> None:
    """Each value that a row sets means something: without it another fleet is made, or none."""
    written = yaml.load(f"{{{spec}}}", yaml.CSafeLoader)
    idle = {path for path, rest in modelfields.without(written) if _is_same(spec, rest)}
    assert idle <= USUAL


USUAL = {f"provider.kubernetes.{it}" for it in ("envoyDaemonSet", "envoyService")}
"""What they say when they are empty holds anyway."""


def _is_same(spec: str, rest: Any) -> bool:
    text = json.dumps(rest)[1:-1]
    return not refusals(text) and objects(text) == objects(spec)


def test_every_field_that_is_accepted_has_a_row() -> None:
    """`pod` and `container` are the same models in a DaemonSet; `networkPublishing` and what it
    holds are those of a ContourConfiguration, as are resources and tolerations:
    tests/contour/infrastructure/test_spellings.py."""
    fields = modelfields.leaves(envoyproxy.EnvoyProxySpec, _is_unserved)
    found = (
        it
        for spec, *_ in ROWS
        for it in modelfields.paths(yaml.load(f"{{{spec}}}", yaml.CSafeLoader))
    )
    missing = set(map(_of_either, fields)) - set(map(_of_either, found))
    assert {it for it in missing if not _OF_CONFIGURATIONS.search(it)} == {"provider.host"}


def _of_either(path: str) -> str:
    return re.sub(r"envoyDaemonSet[.](?=pod|container)", "envoyDeployment.", path)


_OF_CONFIGURATIONS = re.compile(r"^networkPublishing[.]|[.](resources|tolerations)[.]")


def _is_unserved(field: shapes.FieldShape) -> bool:
    return shapes.mark(field, Unserved) is not None


def _value(field: shapes.FieldShape) -> str:
    if field.default == ():
        return "[x]"
    if field.wire_name in ("concurrency", "useListenerPortAsContainerPort", "mergeGateways"):
        return "3" if field.wire_name == "concurrency" else "true"
    is_text = field.wire_name in ("name", "ipFamily", "luaValidation", "mergeType", "routingType")
    return "x" if is_text else "true" if field.wire_name == "preserveRouteOrder" else "{a: b}"


_IGNORED = [
    name for name, it in shapes.fields(envoyproxy.EnvoyProxySpec).items() if _is_unserved(it)
]


@pytest.mark.parametrize("name", sorted(_IGNORED))
def test_every_other_field_is_told(name: str) -> None:
    value = _value(shapes.fields(envoyproxy.EnvoyProxySpec)[name])
    (message,) = told(f"{name}: {value}")
    assert message.startswith(f"spec.{name}: ")
    assert message.endswith("it has no effect")


@pytest.mark.parametrize(
    ("holder", "end"),
    [
        ("envoyDeployment", ""),
        ("envoyDaemonSet", ""),
        ("envoyService", ""),
        ("envoyHpa", "maxReplicas: 2, "),
        ("envoyPDB", "minAvailable: 2, "),
    ],
)
def test_names_and_patches_are_told(holder: str, end: str) -> None:
    spec = kubernetes(f"{holder}: {{{end}name: x, patch: {{value: {{}}}}}}")
    path = f"spec.provider.kubernetes.{holder}"
    assert sorted(it.split(": ")[0] for it in told(spec)) == [f"{path}.name", f"{path}.patch"]

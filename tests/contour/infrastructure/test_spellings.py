"""Every field by which a ContourConfiguration says how a fleet is made arrives in its objects."""

from typing import Any

import pytest
import yaml

from contour.infrastructure import desired
from contour.infrastructure.desired import Release
from crds import shape
from crds.custombootstrap import CustomBootstrap
from crds.decode import Decoded, decode
from crds.workloads import NetworkPublishing, Workload
from dag import fleets
from provisioning.keeping.ownership import Owner
from provisioning.templating import Document
from tests.dag import world
from tests.dag.gateway.manifests import configuration
from tests.testbed import modelfields

POD = "spec/template/spec"
ENVOY = f"{POD}/containers/1"
NOTES = "metadata/annotations"
AWS = "service.beta.kubernetes.io~1aws-load-balancer"
AZURE = "service.beta.kubernetes.io~1azure-load-balancer"
TOLERATIONS = (
    "[{key: a, value: b, effect: NoExecute, tolerationSeconds: 9}, {key: c, operator: Exists}]"
)
PATCH = "{op: copy, path: /a, from: /b}, {op: add, path: /c, value: {d: 1}}"


def workload(text: str) -> str:
    return f"workload: {{{text}}}"


def balancer(text: str, scope: str = "scope: Internal, ") -> str:
    given = f"loadBalancer: {{{scope}providerParameters: {{{text}}}}}"
    return f"networkPublishing: {{type: LoadBalancerService, {given}}}"


ROWS: list[tuple[str, str, str, Any]] = [
    (workload("type: Deployment"), "Deployment", "kind", "Deployment"),
    (workload("type: Deployment, replicas: 4"), "Deployment", "spec/replicas", 4),
    (
        workload("resources: {requests: {cpu: 1m}, limits: {cpu: 2m}}"),
        "DaemonSet",
        f"{ENVOY}/resources",
        {"requests": {"cpu": "1m"}, "limits": {"cpu": "2m"}},
    ),
    (workload("placement: {nodeSelector: {a: b}}"), "DaemonSet", f"{POD}/nodeSelector/a", "b"),
    (
        workload(f"placement: {{tolerations: {TOLERATIONS}}}"),
        "DaemonSet",
        f"{POD}/tolerations",
        yaml.load(TOLERATIONS, yaml.CSafeLoader),
    ),
    (
        workload("podAnnotations: {a: b}"),
        "DaemonSet",
        f"spec/template/{NOTES}/a",
        "b",
    ),
    (workload("logLevel: debug"), "DaemonSet", f"{ENVOY}/args/8", "debug"),
    (workload("baseID: 7"), "DaemonSet", f"{ENVOY}/args/10", "7"),
    (
        workload("overloadMaxHeapSize: 12345"),
        "DaemonSet",
        f"{POD}/initContainers/0/args/12",
        "--overload-max-heap=12345",
    ),
    (
        workload("overloadMaxDownstreamConnections: 77"),
        "DaemonSet",
        f"{POD}/initContainers/0/args/13",
        "--overload-downstream-max-conn=77",
    ),
    (workload("drainTimeSeconds: 71"), "DaemonSet", f"{ENVOY}/args/6", "107"),
    ("networkPublishing: {type: NodePortService}", "Service", "spec/type", "NodePort"),
    ("networkPublishing: {type: ClusterIPService}", "Service", "spec/type", "ClusterIP"),
    (
        "networkPublishing: {type: NodePortService, externalTrafficPolicy: Cluster}",
        "Service",
        "spec/externalTrafficPolicy",
        "Cluster",
    ),
    (
        "networkPublishing: {type: ClusterIPService, ipFamilyPolicy: PreferDualStack}",
        "Service",
        "spec/ipFamilyPolicy",
        "PreferDualStack",
    ),
    (
        "networkPublishing: {type: ClusterIPService, serviceAnnotations: {a: b}}",
        "Service",
        f"{NOTES}/a",
        "b",
    ),
    (
        "networkPublishing: {type: NodePortService, nodePorts: [{name: http, portNumber: 30080}]}",
        "Service",
        "spec/ports/0/nodePort",
        30080,
    ),
    (balancer("type: AWS"), "Service", f"{NOTES}/{AWS}-internal", "true"),
    (
        balancer("type: AWS, aws: {type: NLB, allocationIds: [a, b]}", ""),
        "Service",
        f"{NOTES}/{AWS}-eip-allocations",
        "a,b",
    ),
    (
        balancer("type: Azure, azure: {address: 192.0.2.1, resourceGroup: rg}", ""),
        "Service",
        f"{NOTES}/{AZURE}-resource-group",
        "rg",
    ),
    (
        balancer("type: Azure, azure: {address: 192.0.2.1, subnet: s}"),
        "Service",
        f"{NOTES}/{AZURE}-internal-subnet",
        "s",
    ),
    (
        balancer("type: GCP, gcp: {address: 192.0.2.1, subnet: s}"),
        "Service",
        "spec/loadBalancerIP",
        "192.0.2.1",
    ),
    (
        "networkPublishing: {type: ClusterIPService, gateway: {gatewayClassName: other}}",
        "Gateway",
        "spec/gatewayClassName",
        "other",
    ),
    (
        "networkPublishing: {type: ClusterIPService, gateway: {controllerName: a.b/c,"
        " parametersRef: {group: g.h, kind: K, name: n, namespace: m}}}",
        "GatewayClass",
        "spec/parametersRef",
        {"group": "g.h", "kind": "K", "name": "n", "namespace": "m"},
    ),
    ("bootstrap: {value: '{}'}", "DaemonSet", f"{POD}/initContainers/0/env/1/name",
     "CONTOUR_BOOTSTRAP"),
    ("bootstrap: {type: Merge, value: '{}'}", "DaemonSet", f"{POD}/initContainers/0/env/1/value",
     '{"type": "Merge", "value": "{}"}'),
    (f"bootstrap: {{type: JSONPatch, jsonPatches: [{PATCH}]}}", "DaemonSet",
     f"{POD}/initContainers/0/env/1/name", "CONTOUR_BOOTSTRAP"),
]  # fmt: skip

USUAL = "networkPublishing: {type: LoadBalancerService}"


def objects(spec: str) -> dict[str, Document]:
    """What there is to be, by kind; nothing if the configuration is wrong."""
    published = spec if "networkPublishing" in spec else f"{USUAL}, {spec}"
    text = configuration(f"envoy: {{{published}}}")
    read = decode(yaml.load(text, yaml.CSafeLoader))
    if not isinstance(read, Decoded) or read.object is None:
        return {}
    it = world.world(text)
    told = world.problems(it, "ContourConfiguration", "projectcontour/contour")
    if any(not one.startswith("?") for one in told):
        return {}
    fleet = it.answer(fleets.fleet, "contour")
    assert fleet is not None
    every = desired.documents(Release(Owner("projectcontour", "contour")), fleet, "contour")
    return {one["kind"]: one for one in every}


def at(document: Any, path: str) -> Any:
    for step in path.split("/"):
        key = step.replace("~1", "/")
        document = document[int(key) if isinstance(document, list) else key]
    return document


@pytest.mark.parametrize(("spec", "kind", "path", "expected"), ROWS)
def test_what_is_set_arrives(spec: str, kind: str, path: str, expected: Any) -> None:
    assert at(objects(spec)[kind], path) == expected


@pytest.mark.parametrize("spec", [it[0] for it in ROWS])
def test_nothing_can_be_taken_out_of_a_row_unnoticed(spec: str) -> None:
    """Without one of its values another fleet is made, or none."""
    found = objects(spec)
    for path, rest in modelfields.without(yaml.load(f"{{{spec}}}", yaml.CSafeLoader)):
        text = yaml.safe_dump(rest, default_flow_style=True, width=10_000).strip()[1:-1]
        assert objects(text) != found, path


def test_every_field_has_a_row() -> None:
    models = (
        ("workload", Workload),
        ("networkPublishing", NetworkPublishing),
        ("bootstrap", CustomBootstrap),
    )
    fields = {
        f"{name}.{it}" for name, model in models for it in modelfields.leaves(model, _is_kept)
    }
    rows = {
        it
        for spec, *_ in ROWS
        for it in modelfields.paths(yaml.load(f"{{{spec}}}", yaml.CSafeLoader))
    }
    assert fields - rows == set()


def _is_kept(_: shape.FieldShape) -> bool:
    """All are served."""
    return False

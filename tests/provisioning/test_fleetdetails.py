"""Whatever is said of a fleet beyond a ContourConfiguration arrives in its objects."""

from dataclasses import fields
from typing import Any

import pytest

from crds import workloads
from crds.fleetdetails import Autoscaler, Budget, Details, Pods, Service
from crds.raw import Raw
from provisioning import manifests
from provisioning.installation import Fleet
from provisioning.templating import Document

DEPLOYMENT = workloads.Workload(type="Deployment", replicas=3)


def made(details: Details, workload: workloads.Workload = DEPLOYMENT) -> dict[str, Document]:
    """By kind."""
    return {it["kind"]: it for it in manifests.fleet(Fleet(workload=workload, details=details))}


def found(document: Any, path: str) -> Any:
    """What stands at a path; `-1` is the last element of a list."""
    for step in path.split("/"):
        document = document[int(step) if isinstance(document, list) else step]
    return document


_POD = "spec/template/spec"
_ENVOY = f"{_POD}/containers/1"
_A: Raw = {"name": "A", "value": "b"}
_NAMESPACE: Raw = {
    "name": "CONTOUR_NAMESPACE",
    "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
}
_OTHER_NAMESPACE: Raw = {"name": "CONTOUR_NAMESPACE", "value": "other"}

_PODS: list[tuple[str, Any, str, Any]] = [
    ("labels", {"team": "a"}, "spec/template/metadata/labels/team", "a"),
    ("image_pull_secrets", ({"name": "s"},), f"{_POD}/imagePullSecrets", [{"name": "s"}]),
    ("env", (), f"{_ENVOY}/env", [_NAMESPACE]),
    ("env", (_A,), f"{_ENVOY}/env", [_NAMESPACE, _A]),
    ("env", (_OTHER_NAMESPACE, _A), f"{_ENVOY}/env", [_OTHER_NAMESPACE, _A]),
    ("volumes", ({"name": "v", "emptyDir": {}},), f"{_POD}/volumes/3/name", "v"),
    ("volume_mounts", ({"name": "v", "mountPath": "/v"},), f"{_ENVOY}/volumeMounts/3/name", "v"),
    ("affinity", {"nodeAffinity": {}}, f"{_POD}/affinity", {"nodeAffinity": {}}),
    ("topology_spread_constraints", ({"a": 1},), f"{_POD}/topologySpreadConstraints", [{"a": 1}]),
    ("priority_class_name", "high", f"{_POD}/priorityClassName", "high"),
    ("pod_security_context", {"runAsUser": 9}, f"{_POD}/securityContext/runAsUser", 9),
    ("security_context", {"runAsUser": 9}, f"{_ENVOY}/securityContext/runAsUser", 9),
    ("strategy", {"type": "Recreate"}, "spec/strategy", {"type": "Recreate"}),
    (
        "log_levels",
        {"upstream": "debug", "http": "off"},
        f"{_ENVOY}/args/10",
        "http:off,upstream:debug",
    ),
]


@pytest.mark.parametrize(("field", "value", "path", "expected"), _PODS)
def test_of_pods(field: str, value: Any, path: str, expected: Any) -> None:
    details = Details(pods=Pods(**{field: value}))
    assert found(made(details)["Deployment"], path) == expected


def test_every_field_of_pods_is_looked_at() -> None:
    of_desired = {"image", "image_repository"}  # tests/contour/infrastructure
    assert {it.name for it in fields(Pods)} == {it[0] for it in _PODS} | of_desired


@pytest.mark.parametrize(
    ("field", "value", "path", "expected"),
    [
        ("labels", {"team": "a"}, "metadata/labels/team", "a"),
        ("load_balancer_class", "x/y", "spec/loadBalancerClass", "x/y"),
        ("load_balancer_ip", "192.0.2.1", "spec/loadBalancerIP", "192.0.2.1"),
        ("load_balancer_source_ranges", ("a",), "spec/loadBalancerSourceRanges", ["a"]),
        ("allocate_load_balancer_node_ports", False, "spec/allocateLoadBalancerNodePorts", False),
    ],
)
def test_of_services(field: str, value: Any, path: str, expected: Any) -> None:
    details = Details(service=Service(**{field: value}))
    assert found(made(details)["Service"], path) == expected


def test_what_only_a_load_balancer_has_is_left_out_of_other_services() -> None:
    publishing = workloads.NetworkPublishing(type="ClusterIPService")
    service = Service(load_balancer_class="x/y", load_balancer_source_ranges=("a",))
    given = Fleet(publishing=publishing, details=Details(service=service))
    (spec,) = [it["spec"] for it in manifests.fleet(given) if it["kind"] == "Service"]
    assert not [it for it in spec if it.startswith("loadBalancer")]


def test_labels_of_users_do_not_win_over_those_that_select_pods() -> None:
    details = Details(pods=Pods(labels={"app": "other"}), service=Service(labels={"app": "other"}))
    objects = made(details)
    assert found(objects["Deployment"], "spec/template/metadata/labels/app") == "envoy"
    assert found(objects["Service"], "metadata/labels/app") == "envoy"


@pytest.mark.parametrize(
    ("asked", "scaler", "replicas"),
    [
        (3, None, 3),
        (1, Autoscaler(min_replicas=2, max_replicas=4), 2),
        (3, Autoscaler(min_replicas=2, max_replicas=4), 3),
        (9, Autoscaler(min_replicas=2, max_replicas=4), 4),
    ],
)
def test_a_deployment_begins_within_the_bounds_of_its_autoscaler(
    asked: int, scaler: Autoscaler | None, replicas: int
) -> None:
    workload = workloads.Workload(type="Deployment", replicas=asked)
    assert found(made(Details(autoscaler=scaler), workload)["Deployment"], "spec/replicas") == (
        replicas
    )


def test_an_autoscaler_is_there_for_deployments() -> None:
    metrics: tuple[Raw, ...] = ({"type": "Pods"},)
    behavior: Raw = {"scaleUp": {"selectPolicy": "Disabled"}}
    scaler = Autoscaler(min_replicas=2, max_replicas=5, metrics=metrics, behavior=behavior)
    spec = made(Details(autoscaler=scaler))["HorizontalPodAutoscaler"]["spec"]
    assert spec == {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "envoy"},
        "minReplicas": 2,
        "maxReplicas": 5,
        "metrics": [*metrics],
        "behavior": behavior,
    }
    assert "HorizontalPodAutoscaler" not in made(Details())
    assert "HorizontalPodAutoscaler" not in made(
        Details(autoscaler=scaler), workloads.Workload(type="DaemonSet")
    )


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (None, {"maxUnavailable": 1}),
        (Budget(min_available="50%"), {"minAvailable": "50%"}),
        (Budget(max_unavailable=0), {"maxUnavailable": 0}),
    ],
)
def test_of_budgets(budget: Budget | None, expected: Document) -> None:
    spec = made(Details(budget=budget))["PodDisruptionBudget"]["spec"]
    assert spec == {**expected, "selector": {"matchLabels": {"app": "envoy"}}}

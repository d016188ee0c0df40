"""What is said of a fleet beyond a ContourConfiguration, at the real API server."""

import asyncio
from dataclasses import replace

import pytest

from contour.infrastructure import desired
from contour.infrastructure.desired import Release
from crds.fleetdetails import Autoscaler, Budget, Details, Pods, Service
from provisioning.keeping.ownership import Owner
from tests.cluster.cluster import Cluster
from tests.contour.infrastructure import rig as rigs
from tests.contour.infrastructure.rig import (
    AS_A_DEPLOYMENT,
    SHARED,
    Rig,
    leading,
    of,
)
from tests.testbed.processes import settled

EVERYTHING = Details(
    pods=Pods(
        labels={"team": "a"},
        image_pull_secrets=({"name": "registry"},),
        env=(
            {"name": "A", "value": "b"},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
            {"name": "MIB", "valueFrom": {
                "resourceFieldRef": {"resource": "limits.memory", "divisor": "1024Ki"}}},
        ),
        volumes=(
            {"name": "own", "configMap": {"name": "own"}},
            {"name": "token", "projected": {"sources": [
                {"serviceAccountToken": {"path": "t", "audience": "a"}},
                {"downwardAPI": {"items": [
                    {"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}},
                    {"path": "m", "resourceFieldRef": {
                        "containerName": "envoy", "resource": "limits.memory"}}]}},
            ]}},
            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}},
        ),
        volume_mounts=({"name": "own", "mountPath": "/own"},),
        affinity={"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {}}}]}},
        topology_spread_constraints=(
            {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
        ),
        pod_security_context={"supplementalGroups": [9]},
        security_context={"runAsUser": 1001},
        strategy={"type": "Recreate"},
        log_levels={"upstream": "debug"},
    ),
    service=Service(
        labels={"team": "a"},
        load_balancer_class="example.com/lb",
        load_balancer_ip="192.0.2.1",
        load_balancer_source_ranges=("192.0.2.0/24",),
        allocate_load_balancer_node_ports=False,
    ),
    autoscaler=Autoscaler(
        min_replicas=2, max_replicas=3, behavior={"scaleDown": {"stabilizationWindowSeconds": 9}},
        metrics=(
            {"type": "Resource", "resource": {
                "name": "memory", "target": {"type": "AverageValue", "averageValue": "1024Mi"}}},
            {"type": "Pods", "pods": {
                "metric": {"name": "rps"},
                "target": {"type": "AverageValue", "averageValue": 100}}},
            {"type": "Object", "object": {
                "metric": {"name": "all"}, "target": {"type": "Value", "value": "1000m"},
                "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "envoy"}}},
        ),
    ),
    budget=Budget(min_available="50%"),
)  # fmt: skip


@pytest.fixture
def rig(cluster: Cluster, namespace: str) -> Rig:
    return rigs.rig(cluster, namespace)


@pytest.mark.cluster
async def test_everything_is_made_and_left_alone_and_goes_again(rig: Rig) -> None:
    with_scaler = AS_A_DEPLOYMENT | {"HorizontalPodAutoscaler"}
    rig.want(replace(of(type="Deployment"), details=EVERYTHING))
    async with leading(rig):
        await rig.until_kinds(with_scaler)
        await rig.until_told("")
        # None of the defaults of the API server is taken for a change by somebody else.
        before = versions(rig)
        for kind in ("Service", "Deployment", "HorizontalPodAutoscaler"):
            rig.edit(kind, {"metadata": {"labels": {"example.com/look": "again"}}})
        await asyncio.to_thread(settled, lambda: versions(rig), 1.5)
        assert {kind for kind, it in versions(rig).items() if it != before[kind]} == set()
        assert rig.told["contour"] == ()
        rig.want(replace(of(type="Deployment"), details=Details(service=EVERYTHING.service)))
        await rig.until_kinds(AS_A_DEPLOYMENT)
        assert rig.made()["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1


def versions(rig: Rig) -> dict[str, int]:
    """The generations of the objects, which a change of what is asked for raises."""
    return {kind: it["metadata"].get("generation", 0) for kind, it in rig.made().items()}


@pytest.mark.parametrize(
    ("usual", "pods", "expected"),
    [
        ("reg:5000/envoy:v1", Pods(), "reg:5000/envoy:v1"),
        ("reg:5000/envoy:v1", Pods(image="mine/envoy:v2"), "mine/envoy:v2"),
        ("reg:5000/envoy:v1", Pods(image_repository="mine:5000/e"), "mine:5000/e:v1"),
        ("a/envoy@sha256:12", Pods(image_repository="mine/e"), "mine/e@sha256:12"),
        ("reg:5000/envoy", Pods(image_repository="mine/e"), "mine/e"),
    ],
)
def test_the_image_of_envoy(usual: str, pods: Pods, expected: str) -> None:
    release = Release(Owner("home", "contour"), envoy_image=usual)
    fleet = replace(SHARED, details=Details(pods=pods))
    (workload,) = [
        it for it in desired.documents(release, fleet, "contour") if it["kind"] == "DaemonSet"
    ]
    assert workload["spec"]["template"]["spec"]["containers"][1]["image"] == expected

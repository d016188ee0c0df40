"""What we make does not look changed to us, whatever the API server adds. On the real one."""

import asyncio
from typing import Any

import pytest

from crds.fleetdetails import Autoscaler, Details
from crds.workloads import (
    Contour,
    NetworkPublishing,
    OuterGateway,
    Placement,
    Resources,
    Toleration,
    Workload,
)
from provisioning import manifests
from provisioning.installation import ControlPlane, Fleet, Place, Port
from provisioning.keeping import drift
from provisioning.keeping.applying import Applier
from provisioning.keeping.children import digest
from provisioning.keeping.ownership import Owner, Ownership
from provisioning.templating import Document
from tests.cluster.cluster import Cluster

pytestmark = pytest.mark.cluster

_RESOURCES = Resources(requests={"cpu": "1000m", "memory": "1024Mi"}, limits={"cpu": "1.5"})
_PLACEMENT = Placement(
    node_selector={"disk": "fast"},
    tolerations=(
        Toleration(key="a", value="b"),
        Toleration(key="c", operator="Exists", effect="NoExecute", toleration_seconds=0),
    ),
)
_PORTS = (Port("http", 80, 8080), Port("https", 443, 8443), Port("http3-443", 443, 8443, "UDP"))


def control_planes(place: Place) -> list[list[Document]]:
    contour = Contour(
        replicas=0, resources=_RESOURCES, placement=_PLACEMENT, watch_namespaces=(place.namespace,)
    )
    return [
        manifests.control_plane(ControlPlane(place=place, contour=Contour(), makes_fleet=True)),
        manifests.control_plane(ControlPlane(place=place, contour=contour, makes_no_roles=True)),
    ]


def fleets(place: Place) -> list[list[Document]]:
    workloads = (
        Workload(),
        Workload(type="Deployment", replicas=0, resources=_RESOURCES, placement=_PLACEMENT),
    )
    publishings: tuple[dict[str, Any], ...] = (
        {"type": "LoadBalancerService"},
        {"type": "LoadBalancerService", "external_traffic_policy": "Cluster"},
        {"type": "NodePortService"},
        {"type": "ClusterIPService", "ip_family_policy": "PreferDualStack"},
        {
            "type": "ClusterIPService",
            "gateway": OuterGateway(controller_name="example.com/theirs"),
        },
    )
    return [
        manifests.fleet(
            Fleet(
                place=place,
                workload=workload,
                publishing=NetworkPublishing(**publishing),
                ports=_PORTS,
                monitors=(9000,),
                details=details,
            )
        )
        for publishing in publishings
        for workload in workloads
        for details in (Details(), Details(autoscaler=Autoscaler(max_replicas=2)))
    ]


async def test_nothing_that_was_made_or_changed_looks_otherwise(
    cluster: Cluster, namespace: str
) -> None:
    owner = Owner(namespace, "contour")
    ownership = Ownership(owner, "tests")
    place = Place(namespace=namespace, labels=ownership.labels)
    async with cluster.client() as client:
        applier = Applier(client, "tests")
        kinds = set()
        for documents in (*control_planes(place), *fleets(place)):
            for it in documents:
                applied = await applier.apply(it, ownership)
                assert applied.made is not None
                assert drift.differences(it, applied.made) == (), it["metadata"]["name"]
                assert applied.problem is None
                seen = digest(applied.made)
                assert (await applier.apply(it, ownership, seen)).made is None
                kinds.add(it["kind"])
        assert kinds >= drift.OURS.keys() - {"Secret"}
    await asyncio.to_thread(_remove_what_is_in_no_namespace, cluster, namespace)


def _remove_what_is_in_no_namespace(cluster: Cluster, namespace: str) -> None:
    group = "rbac.authorization.k8s.io/v1"
    for api_version, kind, name in (
        (group, "ClusterRoleBinding", f"contour-{namespace}"),
        ("gateway.networking.k8s.io/v1", "GatewayClass", f"envoy.{namespace}"),
    ):
        cluster.delete({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})

"""The provider on the real API server, with the rights of a ServiceAccount."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from contour.complaints import ManifestSource
from contour.events import Batch
from contour.kubernetes.cluster import Cluster as Provider
from contour.kubernetes.scope import Scope
from crds.kinds import KINDS
from crds.meta import ObjectRef
from tests.cluster.cluster import Cluster
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import Start
from tests.contour.kubernetes.written import config_map, proxy, secret
from tests.kube.followed import FAST
from tests.testbed import certificates, pairs
from tests.testbed.patience import PATIENCE

pytestmark = pytest.mark.cluster

READ = [
    {"apiGroups": [group], "resources": [it.plural for it in KINDS.values() if it.group == group],
     "verbs": ["list", "watch"]}
    for group in sorted({it.group for it in KINDS.values()})
]  # fmt: skip


async def test_a_namespace_is_provided_with_roles_alone(cluster: Cluster, namespace: str) -> None:
    token = cluster.service_account(namespace, "contour", READ)
    cluster.create(proxy("a", namespace=namespace))
    cluster.create(
        secret("release", "helm.sh/release.v1") | {"metadata": place("release", namespace)}
    )
    cluster.create(secret("plain") | {"metadata": place("plain", namespace)})
    client = cluster.client(cluster.kubeconfig(token))
    async with client, asyncio.TaskGroup() as tasks:
        provider = Provider(client, Scope((namespace,)), timings=FAST)
        running = tasks.create_task(provider.run())
        async with asyncio.timeout(PATIENCE):
            first = await provider.initial()
            assert names(first, "HTTPProxy") == {"a"}
            assert names(first, "Secret") == {"plain"}
            assert {it.kind for it in provider.state() if it.state.phase == "denied"} == {
                "Namespace", "IngressClass", "GatewayClass", "CustomResourceDefinition",
            }  # fmt: skip
            assert "cannot list resource" in str(
                first.complaints[ManifestSource("kind Namespace of v1")]
            )
            changes = provider.changes()
            cluster.create(proxy("b", namespace=namespace))
            assert names(await following(changes), "HTTPProxy") == {"b"}
            written = cluster.get(proxy("b", namespace=namespace)) | {
                "status": {"currentStatus": "valid", "description": "of the test"}
            }
            written = cluster.ask("PUT", f"{cluster.path(written)}/status", written)
            cluster.create(config_map() | {"metadata": place("c", namespace)})
            assert names(await following(changes), "ConfigMap") == {"c"}
            # The API server gives a new HTTPProxy a status by default; that is not the one.
            known = provider.known(ObjectRef("HTTPProxy", namespace, "b"))
            while known is None or known.status.get("currentStatus") != "valid":
                await asyncio.sleep(0.005)
                known = provider.known(ObjectRef("HTTPProxy", namespace, "b"))
            assert known.resource_version == written["metadata"]["resourceVersion"]
        running.cancel()


_BUNDLES = {
    "feature-gates": "ClusterTrustBundle=true",
    "runtime-config": "certificates.k8s.io/v1beta1/clustertrustbundles=true",
}
"""Options of a real API server that serves ClusterTrustBundles before they are v1."""


async def test_a_kind_that_the_api_server_begins_or_ceases_to_serve_is_told(
    start_control_plane: Start,
) -> None:
    control_plane = start_control_plane()
    admin = Cluster(control_plane.folder)
    kind = KINDS["certificates.k8s.io", "ClusterTrustBundle"]
    client = admin.client()
    async with client, asyncio.TaskGroup() as tasks:
        provider = Provider(client, kinds=(kind,), timings=FAST)
        running = tasks.create_task(provider.run())
        async with asyncio.timeout(PATIENCE):
            assert (await provider.initial()).absent == {kind.kind: True}
            changes = provider.changes()
            await _restarted(control_plane, _BUNDLES)
            assert await _presence(changes) == {kind.kind: False}
            pem = certificates.authority("cluster").pem.decode()
            older = pairs.trust_bundle("all", pem.encode()).replace("/v1", "/v1beta1")
            await asyncio.to_thread(admin.create, yaml.safe_load(older))
            (event,) = (await following(changes)).events
            assert event.object is not None
            assert event.object.spec.trust_bundle == pem
            await _restarted(control_plane, {})
            assert await _presence(changes) == {kind.kind: True}
        running.cancel()


async def _restarted(control_plane: ControlPlane, options: Mapping[str, str]) -> None:
    control_plane.options = options
    control_plane.stop_apiserver()
    await asyncio.to_thread(control_plane.start_apiserver)


async def _presence(changes: Any) -> Mapping[str, bool]:
    """The next that is told of kinds: complaints may come between."""
    while True:
        batch: Batch = await anext(changes)
        if batch.absent:
            return batch.absent


def place(name: str, namespace: str) -> dict[str, str]:
    return {"name": name, "namespace": namespace}


def names(batch: Batch, kind: str) -> set[str]:
    return {it.key.name for it in batch.events if it.kind.kind == kind and it.object is not None}


async def following(changes: Any) -> Batch:
    """The next batch with an object: complaints may come between."""
    while True:
        batch: Batch = await anext(changes)
        if batch.events:
            return batch

"""The provider on the real API server, with the rights of a ServiceAccount."""

import asyncio
from typing import Any

import pytest

from contour.complaints import ManifestSource
from contour.events import Batch
from contour.kubernetes.cluster import Cluster as Provider
from contour.kubernetes.scope import Scope
from crds.kinds import KINDS
from crds.meta import ObjectRef
from tests.cluster.cluster import Cluster
from tests.contour.kubernetes.written import config_map, proxy, secret
from tests.kube.followed import FAST
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
            known = provider.known(ObjectRef("HTTPProxy", namespace, "b"))
            while known is None or not known.status:
                await asyncio.sleep(0.005)
                known = provider.known(ObjectRef("HTTPProxy", namespace, "b"))
            assert known.resource_version == written["metadata"]["resourceVersion"]
            assert known.status["currentStatus"] == "valid"
        running.cancel()


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

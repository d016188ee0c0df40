"""Which instance and which replica are asked, as a real API server tells of pods and Leases."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from contour.remote import instances
from contour.remote.instances import Instance, NoInstance
from kube.client import Client
from tests.cluster.cluster import Cluster

pytestmark = pytest.mark.cluster

T = TypeVar("T")
LABELS = dict(it.split("=") for it in instances.LABELS.split(","))


def pod(namespace: str, name: str, *flags: str, command: str = "serve") -> dict[str, Any]:
    container = {"name": "contour", "image": "contour-ingress:1", "args": [command, *flags]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"namespace": namespace, "name": name, "labels": LABELS},
        "spec": {"containers": [container], "automountServiceAccountToken": False},
    }


def create(cluster: Cluster, obj: dict[str, Any], *, is_ready: bool = True) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    place = {"namespace": obj["metadata"]["namespace"], "name": "default"}
    cluster.apply({**account, "metadata": place})
    cluster.create(obj)
    condition = {"type": "Ready", "status": "True" if is_ready else "False"}
    status = {"status": {"phase": "Running", "conditions": [condition]}}
    path = f"{cluster.path(obj)}/status"
    cluster.ask("PATCH", path, status, "application/strategic-merge-patch+json")


def lease(namespace: str, name: str, holder: str) -> dict[str, Any]:
    metadata = {"namespace": namespace, "name": name}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {"holderIdentity": holder},
    }


def asked(cluster: Cluster, ask: Callable[[Client], Awaitable[T]]) -> T:
    async def run() -> T:
        async with cluster.client() as client:
            return await ask(client)

    return asyncio.run(run())


def one(cluster: Cluster, namespace: str, name: str = "") -> Instance:
    return asked(cluster, lambda it: instances.one(it, namespace, name))


def test_of_several_instances_one_has_to_be_chosen(cluster: Cluster, namespace: str) -> None:
    create(cluster, pod(namespace, "contour-a", "--contour-config-name=blue"))
    create(cluster, pod(namespace, "contour-b", "--contour-config-name", "green"))
    create(cluster, pod(namespace, "certgen", command="certgen"))
    with pytest.raises(NoInstance, match=f"{namespace}/blue, {namespace}/green; choose one"):
        one(cluster, namespace)
    with pytest.raises(NoInstance, match=f"no instance red .*{namespace}/blue"):
        one(cluster, namespace, "red")
    found = one(cluster, namespace, "green")
    assert (str(found), [it.pod for it in found.replicas]) == (f"{namespace}/green", ["contour-b"])


def test_the_replica_that_holds_the_lease_is_asked(cluster: Cluster, namespace: str) -> None:
    flag = "--leader-election-resource-name=mine"
    for it in ("contour-a", "contour-b"):
        create(cluster, pod(namespace, it, flag, "--watch-namespaces=x,y"))
    create(cluster, pod(namespace, "contour-c", flag), is_ready=False)
    found = one(cluster, namespace)
    assert found.watched == ("x", "y")

    def leader() -> tuple[str, bool]:
        it = asked(cluster, lambda client: instances.leader(client, found))
        return it.replica.pod, it.is_certain

    assert leader() == ("contour-a", False)
    cluster.create(lease(namespace, "mine", "contour-b_5f0c"))
    assert leader() == ("contour-b", True)
    cluster.apply(lease(namespace, "mine", "contour-c_5f0c"))
    assert leader() == ("contour-a", False)


def test_an_instance_without_a_ready_replica_is_told(cluster: Cluster, namespace: str) -> None:
    create(cluster, pod(namespace, "contour-a"), is_ready=False)
    found = one(cluster, namespace)
    with pytest.raises(NoInstance, match=r"no replica .* is ready: contour-a"):
        asked(cluster, lambda it: instances.leader(it, found))


def test_the_debug_port_is_that_of_the_configuration_or_of_the_arguments(
    cluster: Cluster, namespace: str
) -> None:
    create(cluster, pod(namespace, "contour-a", "--debug-http-port=7070"))
    found = one(cluster, namespace)

    def port() -> int:
        return asked(cluster, lambda it: instances.debug_port(it, found, found.replicas[0]))

    assert port() == 7070
    configuration = {
        "apiVersion": "projectcontour.io/v1alpha1",
        "kind": "ContourConfiguration",
        "metadata": {"namespace": namespace, "name": "contour"},
    }
    cluster.create({**configuration, "spec": {"debug": {"port": 8080}}})
    assert port() == 8080

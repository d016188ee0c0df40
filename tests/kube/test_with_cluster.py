"""A reflector on the real API server: what the double does is what that one does."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

import pytest

from kube.client import Client, Raw
from kube.discovery import Discovery, Wanted
from kube.reflector import Collection, Reflector, Timings
from tests.cluster.cluster import Cluster
from tests.cluster.fixtures import Start
from tests.kube.followed import FAST, SERVICES, Followed, service
from tests.testbed.patience import PATIENCE

pytestmark = pytest.mark.cluster


@asynccontextmanager
async def following(
    client: Client,
    namespace: str,
    wanted: Wanted = SERVICES,
    timings: Timings = FAST,
    params: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[Followed]:
    followed = Followed()
    async with client, asyncio.TaskGroup() as tasks:
        collection = Collection(wanted, namespace, params)
        reflector = Reflector(client, Discovery(client, 0.0), collection, followed, timings)
        followed.reflector = reflector
        task = tasks.create_task(reflector.run())
        async with asyncio.timeout(PATIENCE):
            await reflector.settled.wait()
        yield followed
        task.cancel()


async def test_what_is_there_is_told_and_then_what_becomes_of_it(
    cluster: Cluster, namespace: str
) -> None:
    names = {f"s{number}" for number in range(7)}
    for name in names:
        cluster.create(headless(name, namespace))
    async with following(cluster.client(), namespace, timings=FAST._replace(page=3)) as followed:
        assert followed.names == names
        cluster.delete(service("s0", namespace=namespace))
        cluster.create(headless("new", namespace))
        await followed.until(lambda: followed.names == (names - {"s0"}) | {"new"})
        changed = cluster.get(service("s1", namespace=namespace))
        changed["spec"]["ports"][0]["port"] = 81
        cluster.ask("PUT", cluster.path(changed), changed)
        await followed.until(
            lambda: followed.objects[namespace, "s1"]["spec"]["ports"][0]["port"] == 81
        )
        assert followed.state == "current"
        assert followed.reflector.state.failures == 0


async def test_a_version_of_the_past_is_no_reason_to_lose_anything(
    cluster: Cluster, namespace: str
) -> None:
    """The watch is asked to go on from a version that has long been compacted."""
    cluster.create(headless("a", namespace))
    async with following(cluster.client(), namespace) as followed:
        await followed.until(lambda: followed.state == "current" or "a" in followed.names)
        followed.reflector._cache._position = 1
        followed.reflector._timings = FAST._replace(idle=0.2)
        cluster.create(headless("b", namespace))
        cluster.delete(service("a", namespace=namespace))
        await followed.until(lambda: followed.names == {"b"})


async def test_a_line_of_a_megabyte_comes_through(cluster: Cluster, namespace: str) -> None:
    wanted = Wanted("", ("v1",), "configmaps")
    async with following(cluster.client(), namespace, wanted) as followed:
        large = {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "large", "namespace": namespace}, "data": {"x": "y" * 1_000_000},
        }  # fmt: skip
        cluster.create(large)
        await followed.until(lambda: "large" in followed.names)
        assert followed.objects[namespace, "large"]["data"] == large["data"]


async def test_a_right_to_one_name_is_enough_to_follow_it(cluster: Cluster, namespace: str) -> None:
    """Also when a watch has ended, and before the next one begins."""
    right = {"apiGroups": [""], "resources": ["services"], "verbs": ["list", "watch"]}
    token = cluster.service_account(namespace, "reader", [right | {"resourceNames": ["a"]}])
    cluster.create(headless("a", namespace))
    client = cluster.client(cluster.kubeconfig(token))
    often = FAST._replace(shortest_watch=1.0, longest_watch=1.0, calm=0.5)
    only = {"fieldSelector": "metadata.name=a"}
    async with following(client, namespace, timings=often, params=only) as followed:
        state = followed.reflector.state
        async with asyncio.timeout(PATIENCE):
            while state.watches < 3 and not state.failures:
                await asyncio.sleep(0.05)
        assert (state.failures, state.lists) == (0, 1)


async def test_who_has_no_right_is_told_and_sees_everything_once_it_has(
    cluster: Cluster, namespace: str
) -> None:
    token = cluster.service_account(namespace, "nobody")
    cluster.create(headless("a", namespace))
    client = cluster.client(cluster.kubeconfig(token))
    async with following(client, namespace) as followed:
        assert followed.state == "denied"
        assert "cannot list resource" in followed.troubles[0]
        for it in rights(namespace, "nobody", "services"):
            cluster.create(it)
        await followed.until(lambda: followed.names == {"a"})
        await followed.until(lambda: followed.troubles[-1] == "")


async def test_a_resource_comes_and_goes_with_its_crd(cluster: Cluster, namespace: str) -> None:
    wanted = Wanted("tests.projectcontour.io", ("v2", "v1"), "visitors")
    async with following(cluster.client(), namespace, wanted) as followed:
        assert followed.state == "absent"
        crd = cluster.apply(VISITORS)
        while followed.state == "absent":
            await asyncio.sleep(0.02)
        visitor = {
            "apiVersion": "tests.projectcontour.io/v1", "kind": "Visitor",
            "metadata": {"name": "v", "namespace": namespace},
        }  # fmt: skip
        cluster.create(visitor)
        await followed.until(lambda: followed.names == {"v"})
        cluster.delete(crd)
        await followed.until(lambda: followed.names == set())
        while followed.state != "absent":
            await asyncio.sleep(0.02)


async def test_a_restart_of_the_api_server_is_outlived(start_control_plane: Start) -> None:
    running = await asyncio.to_thread(start_control_plane)
    cluster = Cluster(running.folder)
    cluster.create(headless("a", "default"))
    async with following(cluster.client(), "default") as followed:
        running.stop_apiserver()
        await followed.until(lambda: bool(followed.troubles))
        assert "a" in followed.names
        await asyncio.to_thread(running.start_apiserver)
        cluster.create(headless("b", "default"))
        cluster.delete(service("a"))
        await followed.until(lambda: "b" in followed.names and "a" not in followed.names)
        await followed.until(lambda: followed.troubles[-1] == "")


def headless(name: str, namespace: str, port: int = 80) -> Raw:
    """Without an address of the cluster's, of which there are few."""
    found = service(name, port, namespace)
    return found | {"spec": found["spec"] | {"clusterIP": "None"}}


def rights(namespace: str, account: str, resource: str) -> list[Raw]:
    rbac, metadata = "rbac.authorization.k8s.io", {"name": "reader", "namespace": namespace}
    rule = {"apiGroups": [""], "resources": [resource], "verbs": ["list", "watch"]}
    subject = {"kind": "ServiceAccount", "namespace": namespace, "name": account}
    reference = {"apiGroup": rbac, "kind": "Role", "name": "reader"}
    role = {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]}
    binding = {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": metadata}
    return [role, binding | {"roleRef": reference, "subjects": [subject]}]


VISITORS: Raw = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "visitors.tests.projectcontour.io"},
    "spec": {
        "group": "tests.projectcontour.io",
        "names": {"plural": "visitors", "kind": "Visitor"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}

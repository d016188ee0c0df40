"""A replica on a real API server whose configuration registers an extension with its own kind."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from contour.serve import Replica
from crds.meta import ObjectRef
from dag.statuses import ContourStatus
from tests.cluster.cluster import Cluster
from tests.contour.extensioncalls.test_routes import GROUP, ROUTE, Routes, guard, route, shapes
from tests.contour.test_serve import PATIENCE, configuration, running
from tests.testbed import world
from tests.testbed.apiserver import RefusedError
from tests.testbed.extensionserver import Scripted, scripted

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]

Raw = dict[str, Any]


def _definition(plural: str) -> Raw:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": "guard", "kind": "Guard"},
            "versions": [version],
        },
    }


def _objects(namespace: str, server: Scripted) -> list[Raw]:
    """A Gateway with one route, and a configuration that registers the extension."""
    controller = f"example.com/{namespace}"
    settings = configuration(namespace, 0)
    host, _, port = server.address.rpartition(":")
    entry = ROUTE | {"name": "guards", "service": {"host": host, "port": int(port)}}
    settings["spec"] = {"gateway": {"controllerName": controller}, "extensions": [entry]}
    class_, gateway = world.gateway()
    class_["metadata"]["name"] = gateway["spec"]["gatewayClassName"] = namespace
    class_["spec"]["controllerName"] = controller
    rule = route(1, "/a", "one")
    rule["spec"]["parentRefs"][0]["namespace"] = namespace
    service = world.World.of(10).service(0)
    return [settings, class_, *(_of(namespace, it) for it in (gateway, rule, service))]


def _of(namespace: str, document: Raw) -> Raw:
    document["metadata"]["namespace"] = namespace
    document["metadata"].pop("resourceVersion", None)
    return document


def _served(replica: Replica) -> dict[str, str]:
    return Routes(replica.instance, ()).served


async def _until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not what():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def _replica(cluster: Cluster, namespace: str, folder: Path) -> AsyncIterator[Replica]:
    async with running(cluster, namespace, folder) as it:
        await _until(lambda: bool(it.replica.server.ports))
        yield it.replica


async def test_its_objects_are_there_before_anybody_is_served_and_followed_from_then_on(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    async with scripted(shapes) as server:
        for it in _objects(namespace, server):
            await asyncio.to_thread(cluster.apply, it)
        subject = ObjectRef("ContourConfiguration", namespace, "contour")
        async with _replica(cluster, namespace, tmp_path) as replica:
            assert _served(replica) == {"/a": "500"}

            def is_told_missing() -> bool:
                found = replica.controller.board.told.get(subject)
                errors = found.errors if isinstance(found, ContourStatus) else ()
                return any("is not served by the API server" in it.message for it in errors)

            await _until(is_told_missing)
            definition = await asyncio.to_thread(cluster.apply, _definition("guardia"))
            try:
                await _put(cluster, namespace, "1")
                await _until(lambda: _served(replica) == {"/a": "1"})
                await _put(cluster, namespace, "2")
                await _until(lambda: _served(replica) == {"/a": "2"})
                await _until(lambda: not is_told_missing())
                async with _replica(cluster, namespace, tmp_path) as other:
                    assert _served(other) == {"/a": "2"}, "when its port opens"
            finally:
                await asyncio.to_thread(cluster.delete, definition)
            await _until(lambda: _served(replica) == {"/a": "500"})


async def _put(cluster: Cluster, namespace: str, value: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await asyncio.to_thread(cluster.apply, _of(namespace, guard("one", value)))
            except RefusedError:
                await asyncio.sleep(0.1)  # the definition is not served yet
            else:
                return

"""Kinds that extensions bring, on the double: their definitions and rights come and go."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from contour.kubernetes.cluster import Cluster
from contour.kubernetes.scope import Scope
from crds import foreign
from crds.kinds import Kind
from kube.client import Client
from tests.cluster.double.resources import Resource, definition
from tests.cluster.double.server import Double
from tests.contour.kubernetes.written import Raw
from tests.kube.followed import FAST, At
from tests.testbed.patience import PATIENCE

GUARDS = Resource("example.com", ("v1",), "guardia", "Guard", custom=True)
KIND = foreign.kind("example.com", "v1", "Guard")
NEWER = foreign.kind("example.com", "v2", "Guard")


def guard(name: str, value: int = 1, version: str = "v1") -> Raw:
    metadata = {"name": name, "namespace": "default", "managedFields": [{"manager": str(value)}]}
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Guard",
        "metadata": metadata,
        "spec": {"value": value},
        "status": {"value": value},
    }


@dataclass
class Followed:
    """What is known of the objects."""

    cluster: Cluster
    objects: dict[str, Raw] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    faults: dict[Kind, str] = field(default_factory=dict)

    async def until_there(self, **wanted: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while {name: it["spec"]["value"] for name, it in self.objects.items()} != wanted:
                for kind, key, found in self.cluster.pending().events:
                    if not foreign.is_foreign(kind):
                        continue
                    before = self.objects.pop(key.name, None)
                    if found is not None:
                        self.objects[key.name] = json.loads(found)
                    if self.objects.get(key.name) != before:
                        self.told.append(key.name)
                await asyncio.sleep(0.005)

    async def until_fault(self, text: str, kind: Kind = KIND) -> None:
        async with asyncio.timeout(PATIENCE):
            while text not in (found := self.faults.get(kind, "")) or bool(found) != bool(text):
                await asyncio.sleep(0.005)


@asynccontextmanager
async def following(
    double: Double, *kinds: Kind, scope: Scope | None = None
) -> AsyncIterator[Followed]:
    async with Client(At(double.url)) as client, asyncio.TaskGroup() as tasks:
        cluster = Cluster(client, scope, timings=FAST)
        it = Followed(cluster)
        cluster.extension_kinds.on_fault = it.faults.__setitem__
        running = tasks.create_task(cluster.run())
        cluster.extension_kinds.follow(kinds)
        yield it
        running.cancel()


async def test_objects_are_followed_by_their_kind_whatever_its_plural() -> None:
    async with Double() as double:
        double.define([GUARDS])
        double.put(guard("a"))
        async with following(double, KIND) as it:
            await it.cluster.extension_kinds.settled()
            await it.until_there(a=1)
            assert it.objects["a"].keys() == {"apiVersion", "kind", "metadata", "spec"}
            assert not it.objects["a"]["metadata"].keys() & {"managedFields", "resourceVersion"}
            assert it.objects["a"]["kind"] == "Guard"
            await double.watching("guardia")
            double.put(guard("a", 2))
            await it.until_there(a=2)
            double.remove(guard("a"))
            await it.until_there()


async def test_what_no_extension_may_see_is_no_change() -> None:
    async with Double() as double:
        double.define([GUARDS])
        double.put(guard("a"))
        async with following(double, KIND) as it:
            await it.until_there(a=1)
            await double.watching("guardia")
            double.put(guard("a") | {"status": {"value": 2}})
            double.put(guard("b"))
            await it.until_there(a=1, b=1)
            assert it.told == ["a", "b"]


async def test_definitions_come_and_go() -> None:
    async with Double() as double, following(double, KIND) as it:
        await it.cluster.extension_kinds.settled()
        await it.until_fault("is not served by the API server")
        double.define([GUARDS])
        double.put(guard("a"))
        await it.until_there(a=1)
        await it.until_fault("")
        (watch,) = await double.watching("guardia")
        double.remove(definition(GUARDS))
        watch.abort()
        await it.until_there()
        await it.until_fault("is not served by the API server")


async def test_without_a_right_nothing_is_known_until_it_is_given() -> None:
    async with Double() as double:
        double.define([GUARDS])
        double.put(guard("a"))
        forbidden = double.script.forbid("guardia")
        async with following(double, KIND) as it:
            await it.cluster.extension_kinds.settled()
            await it.until_fault("guardia is forbidden")
            assert troubled(it.cluster) == ["Guard.example.com"]
            assert not it.objects
            double.script.remove(forbidden)
            await it.until_there(a=1)
            await it.until_fault("")


def troubled(cluster: Cluster) -> list[str]:
    return [it.kind for it in cluster.state() if it.state.trouble]


async def test_what_is_not_registered_any_more_is_forgotten_and_not_watched() -> None:
    async with Double() as double:
        double.define([GUARDS])
        double.put(guard("a"))
        async with following(double, KIND) as it:
            await it.until_there(a=1)
            await double.watching("guardia")
            it.cluster.extension_kinds.follow(())
            await it.until_there()
            async with asyncio.timeout(PATIENCE):
                while double.open_watches("guardia"):
                    await asyncio.sleep(0.005)
            it.cluster.extension_kinds.follow([KIND])
            await it.until_there(a=1)


async def test_what_was_wrong_with_a_kind_is_over_when_it_is_not_registered_any_more() -> None:
    async with Double() as double:
        double.define([GUARDS])
        double.script.forbid("guardia")
        async with following(double, KIND) as it, asyncio.timeout(PATIENCE):
            changes = it.cluster.changes()
            while not (told := (await anext(changes)).complaints):
                pass
            assert [complaint.severity for (complaint,) in told.values()] == ["error"]
            it.cluster.extension_kinds.follow(())
            assert (await anext(changes)).complaints == dict.fromkeys(told, ())


async def test_another_version_replaces_its_objects_and_takes_none_away() -> None:
    async with Double() as double:
        double.define([GUARDS._replace(versions=("v1", "v2"))])
        double.put(guard("a"))
        async with following(double, KIND) as it:
            await it.until_there(a=1)
            it.cluster.extension_kinds.follow([NEWER])
            await it.cluster.extension_kinds.settled()
            events = it.cluster.pending().events
            found = [found for kind, _, found in events if foreign.is_foreign(kind)]
            assert None not in found
            assert "example.com/v2" in [json.loads(each)["apiVersion"] for each in found if each]


async def test_named_namespaces_are_followed_alone() -> None:
    async with Double() as double:
        double.define([GUARDS])
        for namespace in ("one", "two", "three"):
            double.add_namespace(namespace)
            double.put(guard(namespace) | {"metadata": {"name": namespace, "namespace": namespace}})
        async with following(double, KIND, scope=Scope(("one", "two"))) as it:
            await it.until_there(one=1, two=1)


async def test_an_error_while_they_are_read_is_told_and_concerns_no_other_kind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: Kind, found: Raw) -> Raw:
        raise RuntimeError(f"a bug with {found['metadata']['name']}")

    monkeypatch.setattr(foreign, "content", broken)
    async with Double() as double:
        double.define([GUARDS])
        double.put(guard("a"))
        async with following(double, KIND) as it:
            await it.until_fault("the log has")
            await it.cluster.initial()
    assert "a bug with a" in caplog.text

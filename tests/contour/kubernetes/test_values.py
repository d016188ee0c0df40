"""Values that are wanted by name are read, whatever they hold, and nothing older replaces them."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator

import pytest

from contour.kubernetes.scope import Scope
from crds.meta import NamespacedName, ObjectRef
from crds.secret import Secret
from tests.cluster.double.faults import Rule
from tests.cluster.double.server import Double
from tests.contour.kubernetes.test_cluster import CUSTOM, Graph, graph
from tests.contour.kubernetes.written import secret
from tests.testbed.patience import PATIENCE

KEY, BOTH = NamespacedName("default", "s"), frozenset({"password", "user"})


@pytest.fixture
async def double() -> AsyncIterator[Double]:
    async with Double() as started:
        started.define(CUSTOM)
        started.put(opaque("first"))
        yield started


def opaque(password: str, type_: str = "Opaque") -> dict[str, object]:
    encoded = {it: b64encode(it.encode()).decode() for it in (password, "admin", "other")}
    data = {"password": encoded[password], "user": encoded["admin"], "more": encoded["other"]}
    return secret("s", type_, **data)


def values(it: Graph) -> dict[str, bytes]:
    found = it.objects.get(ObjectRef("Secret", *KEY))
    return found.data if isinstance(found, Secret) else {}


async def until(it: Graph, wanted: dict[str, bytes]) -> None:
    async with asyncio.timeout(PATIENCE):
        while {key: found for key, found in values(it).items() if found} != wanted:
            await it.next()


async def test_a_value_is_read_when_it_is_wanted_and_followed_from_then_on(double: Double) -> None:
    async with graph(double) as it:
        assert not any(values(it).values())
        it.cluster.want(KEY, frozenset({"password"}))
        await until(it, {"password": b"first"})
        double.put(opaque("second"))
        await until(it, {"password": b"second"})
        it.cluster.want(KEY, BOTH)
        await until(it, {"password": b"second", "user": b"admin"})
        it.cluster.want(KEY, frozenset())
        double.put(opaque("third") | {"immutable": True})
        await until(it, {})


async def test_one_that_comes_later_is_read_as_it_comes(double: Double) -> None:
    double.remove(secret("s"))
    async with graph(double) as it:
        it.cluster.want(KEY, BOTH)
        double.put(opaque("first"))
        await until(it, {"password": b"first", "user": b"admin"})


async def test_what_changes_while_it_is_read_is_read_again(double: Double) -> None:
    """Its list is answered late, when the watch has told of newer versions, or that it is gone."""
    async with graph(double) as it:
        await double.watching("secrets")
        late = asyncio.Event()
        double.script.add(Rule("list", "secrets", hold=late))
        it.cluster.want(KEY, BOTH)
        double.put(opaque("second"))
        await until(it, {"password": b"second", "user": b"admin"})
        late.set()
        double.put(opaque("third"))
        await until(it, {"password": b"third", "user": b"admin"})


@pytest.mark.parametrize("type_", ["bootstrap.kubernetes.io/token", "example.com/own"])
async def test_secrets_of_other_types_are_not_read(double: Double, type_: str) -> None:
    double.put(opaque("first", type_))
    async with graph(double) as it:
        it.cluster.want(KEY, BOTH)
        double.put(opaque("second", type_) | {"immutable": True})
        double.put(secret("t", x="e30="))
        while ObjectRef("Secret", "default", "t") not in it.objects:
            await it.next()
        assert not any(values(it).values())


async def test_namespaces_that_are_not_watched_are_not_read(double: Double) -> None:
    async with graph(double, Scope(namespaces=("elsewhere",))) as it:
        before = len(double.requests)
        it.cluster.want(KEY, BOTH)
        it.cluster.want(NamespacedName("elsewhere", "s"), BOTH)
        async with asyncio.timeout(PATIENCE):
            while not (asked := [r for r in double.requests[before:] if r.verb == "list"]):
                await double.news()
        assert {r.namespace for r in asked} == {"elsewhere"}


async def test_a_server_that_was_restored_is_believed_though_its_versions_are_older(
    double: Double,
) -> None:
    backup = double.store.snapshot()
    double.put(opaque("lost"))
    async with graph(double) as it:
        it.cluster.want(KEY, frozenset({"password"}))
        await until(it, {"password": b"lost"})
        await double.watching("secrets")
        await double.stop()
        double.store = backup
        await double.start()
        await until(it, {"password": b"first"})

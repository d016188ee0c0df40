"""What is written to Gateways and classes, against a scripted API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from contour.finalizers import finalizers
from contour.finalizers.finalizers import Finalizers, Sources
from contour.kubernetes.known import ObservedObject
from contour.status import stored
from crds.meta import ObjectRef
from kube import leading
from kube.client import Client
from tests.cluster.double.resources import Name
from tests.cluster.double.server import Double
from tests.contour.status.world import CUSTOM
from tests.kube.unguarded import Unguarded
from tests.testbed.patience import PATIENCE

GATEWAY = ObjectRef("Gateway", "default", "edge")
NAME = Name("gateway.networking.k8s.io", "gateways")
PATH = "/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways/edge"
OWN, FOREIGN = "gateway.projectcontour.io/a.b", "example.com/other"
MANAGER, EARLIER = "its own", "contour"  # of every instance of release 0.1


class World:
    """A Gateway, and what is said and seen of it."""

    def __init__(self, double: Double, client: Client) -> None:
        self.double = double
        self.client = client
        self.is_wanted: bool | None = True
        self.is_serving = True
        self.is_served = False
        self.managers = frozenset[tuple[str, str]]()
        self.is_leader = True
        self.told = asyncio.Event()
        self.seen: ObservedObject | None = None
        self.finalizers = Finalizers(
            leading.Client(client, lambda: self.is_leader, leading.WRITE_TIMEOUT),
            Sources(
                finalizer=lambda _: OWN,
                manager=MANAGER,
                is_serving=lambda: self.is_serving,
                is_served=lambda _: self.is_served,
                is_wanted=lambda _: self.is_wanted,
                known=lambda _: self.seen,
                everything=lambda: [GATEWAY],
                concerned=lambda subject: [subject],
                resource=stored.resource,
                until_statuses_are_written=self._told,
            ),
        )

    def write(self, *names: str, seen: bool = True) -> None:
        """Somebody else writes it, and it is seen perhaps."""
        metadata = {"name": "edge", "namespace": "default", "finalizers": list(names)}
        head = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway"}
        self.double.put({**head, "metadata": metadata})
        if seen:
            self.see()

    def see(self) -> None:
        """The provider sees what is there."""
        found = self.double.store.get(NAME, GATEWAY.key)
        self.seen = _known(found)._replace(managers=self.managers) if found else None
        self.finalizers.notice([GATEWAY])

    async def delete(self) -> None:
        """Somebody deletes it: it is there for its finalizers only."""
        self.is_wanted = False
        await self.client.delete(PATH)
        self.see()

    @property
    def names(self) -> list[str] | None:
        """The finalizers that it has; None if it is gone."""
        found = self.double.store.get(NAME, GATEWAY.key)
        return list(found["metadata"].get("finalizers", ())) if found else None

    async def until(self, names: list[str] | None) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.names != names:
                await asyncio.sleep(0.01)

    async def _told(self) -> None:
        await self.told.wait()


def _known(found: dict[str, Any]) -> ObservedObject:
    metadata = found["metadata"]
    return ObservedObject(
        metadata["resourceVersion"],
        metadata.get("generation", 1),
        metadata["uid"],
        {},
        tuple(metadata.get("finalizers", ())),
        "deletionTimestamp" in metadata,
    )


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    async with Double() as double, Client(Unguarded(double.url)) as client:
        double.define(CUSTOM)
        yield World(double, client)


@asynccontextmanager
async def term(it: World) -> AsyncIterator[None]:
    """While this process leads."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(it.finalizers.run())
        await asyncio.sleep(0)
        yield
        task.cancel()


async def test_ours_comes_and_goes_and_those_of_others_stay_where_they_are() -> None:
    async with world() as it:
        it.write(FOREIGN)
        async with term(it):
            await it.until([FOREIGN, OWN])
            it.see()
            it.is_wanted = False
            it.finalizers.notice([GATEWAY])
            await it.until([FOREIGN])
    assert it.double.count("patch") == 2


async def test_what_is_as_it_should_be_is_not_written() -> None:
    async with world() as it:
        it.write(OWN)
        async with term(it):
            it.finalizers.notice([GATEWAY])
            await asyncio.sleep(0.2)  # nothing is to happen
    assert it.double.count("patch") == 0


async def test_who_wrote_meanwhile_loses_nothing() -> None:
    async with world() as it:
        it.write()
        it.write(FOREIGN, seen=False)
        async with term(it):
            await it.double.asked("patch", "gateways")
            assert it.names == [FOREIGN]
            it.see()
            await it.until([FOREIGN, OWN])


async def test_what_is_deleted_goes_when_all_who_stood_on_it_have_been_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with world() as it:
        it.write(OWN)
        async with term(it):
            await it.delete()
            await asyncio.sleep(0.2)  # nothing is to happen
            assert it.names == [OWN]
            it.told.set()
            await it.until(None)
            while not caplog.records:
                await asyncio.sleep(0.01)
    assert [(it.levelname, it.message.split(":")[0]) for it in caplog.records] == [
        ("ERROR", "Gateway default/edge was deleted while it was served")
    ]


async def test_what_cannot_be_told_holds_nothing_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finalizers, "LONGEST_FAREWELL", 0.2)
    async with world() as it:
        it.write(OWN)
        async with term(it):
            await it.delete()
            await it.until(None)


async def test_what_is_deleted_already_gets_none() -> None:
    async with world() as it:
        it.write(FOREIGN)
        await it.delete()
        it.is_wanted = True
        async with term(it):
            await asyncio.sleep(0.2)  # nothing is to happen
    assert it.double.count("patch") == 0


async def test_who_leads_no_more_writes_nothing() -> None:
    async with world() as it:
        it.write()
        it.is_leader = False
        async with term(it):
            await asyncio.sleep(0.2)  # nothing is to happen
            assert it.names == []
            it.is_leader = True
            it.finalizers.notice([GATEWAY])
            await it.until([OWN])


@pytest.mark.parametrize("manager", [MANAGER, EARLIER, "a backup"])
async def test_what_is_not_ours_any_more_is_let_go_of(manager: str) -> None:
    """Whoever has put it there."""
    async with world() as it:
        it.managers = frozenset({(OWN, manager)})
        it.write(OWN)
        async with term(it):
            await asyncio.sleep(0.2)  # nothing is to happen
            it.is_wanted = None
            it.finalizers.notice([GATEWAY])
            await it.until([])


async def test_what_was_put_there_by_an_earlier_leader_goes_when_nobody_serves_it() -> None:
    async with world() as it:
        it.is_wanted, it.is_serving, it.is_served = None, False, True
        it.managers = frozenset({(OWN, MANAGER), (FOREIGN, "theirs")})
        it.write(FOREIGN, OWN)
        async with term(it):
            for becomes in ("is_serving", "is_served"):
                await asyncio.sleep(0.2)  # nothing is to happen
                assert it.names == [FOREIGN, OWN]
                setattr(it, becomes, becomes == "is_serving")
                it.finalizers.notice([GATEWAY])
            await it.until([FOREIGN])


@pytest.mark.parametrize("manager", ["theirs", EARLIER])
async def test_what_somebody_else_has_put_there_is_left_alone(manager: str) -> None:
    async with world() as it:
        it.managers = frozenset({(OWN, manager), (FOREIGN, MANAGER)})
        it.write(OWN)
        it.is_wanted = None
        async with term(it):
            await asyncio.sleep(0.2)  # nothing is to happen
            assert it.names == [OWN]


async def test_another_object_of_the_name_of_one_that_went_is_not_the_same() -> None:
    """Somebody has taken all finalizers off the former one."""
    async with world() as it:
        it.write()
        async with term(it):
            await it.until([OWN])
            it.double.remove(it.double.store.get(NAME, GATEWAY.key) or {})
            it.see()
            await asyncio.sleep(0.2)  # for the reconciliation
            it.is_wanted, it.managers = None, frozenset({(OWN, "theirs")})
            it.write(OWN)
            await asyncio.sleep(0.2)  # nothing is to happen
            assert it.names == [OWN]

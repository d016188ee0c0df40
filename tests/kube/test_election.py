"""Who leads: with a Lease in an API server, on the clock of this machine, whatever goes wrong."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from kube import election, lease
from kube.client import Client
from kube.election import Elector, Leader, Unopposed
from kube.lease import Timing
from tests.cluster.double.faults import Request, Rule
from tests.cluster.double.resources import Name
from tests.cluster.double.server import Double
from tests.kube.leader import PLACE, TIMING
from tests.kube.unguarded import Unguarded

Raw = dict[str, Any]

LEASES = Name("coordination.k8s.io", "leases")


class Office:
    """What the work of one elector notes: whether it is being done."""

    def __init__(self, elector: Elector | Unopposed) -> None:
        self.elector = elector
        self.is_held = False
        self._news = asyncio.Event()

    async def work(self) -> None:
        self._note(True)
        try:
            await asyncio.Event().wait()
        finally:
            self._note(False)

    async def becomes(self, is_held: bool) -> None:
        while self.is_held is not is_held:
            await self._news.wait()

    def _note(self, is_held: bool) -> None:
        self.is_held = is_held
        self._news.set()
        self._news = asyncio.Event()


@asynccontextmanager
async def server() -> AsyncIterator[tuple[Double, Client]]:
    async with Double() as double, Client(Unguarded(double.url)) as client:
        yield double, client


@asynccontextmanager
async def running(elector: Elector) -> AsyncIterator[Office]:
    office = Office(elector)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(elector.run(office.work))
        yield office
        task.cancel()


def candidate(client: Client, identity: str, **annotations: str) -> Elector:
    return Elector(client, PLACE, identity, TIMING, annotations)


def patient(client: Client, identity: str) -> Elector:
    """One that a busy machine does not make lose its Lease before it can give it back."""
    return Elector(client, PLACE, identity, Timing(10, 8, TIMING.retry_period), {})


def spec(double: Double) -> Raw:
    found = double.store.get(LEASES, PLACE)
    return dict(found["spec"]) if found else {}


async def leader(elector: Elector | Unopposed, identity: str | None) -> Leader | None:
    """Waits until it knows that this one leads."""
    async for found in elector.leaders():
        if (found.identity if found else None) == identity:
            return found
    raise AssertionError("the leaders have come to an end")


async def test_the_first_candidate_leads_and_says_so_in_the_lease() -> None:
    async with server() as (double, client), running(candidate(client, "a")) as office:
        await office.becomes(True)
        assert office.elector.is_leader()
        found = spec(double)
        assert (found["holderIdentity"], found["leaseTransitions"]) == ("a", 0)
        assert found["leaseDurationSeconds"] == 1
        assert found["renewTime"] >= found["acquireTime"]


async def test_a_leader_renews_before_the_others_lose_patience() -> None:
    async with server() as (double, client), running(candidate(client, "a")) as first:
        await first.becomes(True)
        async with running(candidate(client, "b")) as second:
            await double.asked("update", "leases", 15)  # more than a second of renewals
            assert first.elector.is_leader()
            assert not second.elector.is_leader()


async def test_the_lease_is_free_when_the_leader_ends_in_peace() -> None:
    async with server() as (double, client), running(patient(client, "b")) as second:
        await second.becomes(True)
        async with running(patient(client, "a")) as first:
            await double.asked("get", "leases", 4)
            assert not first.is_held
        assert spec(double)["holderIdentity"] == "b"
    assert "holderIdentity" not in spec(double)
    assert not second.is_held


async def test_the_lease_is_free_when_the_leader_ends_amid_a_renewal() -> None:
    """The renewal has been written; its answer comes too late."""
    async with server() as (double, client):
        block = asyncio.Event()
        async with running(patient(client, "a")) as office:
            await office.becomes(True)
            rule = double.script.add(Rule("update", "leases", hold=block, times=1))
            while not rule.met:
                await double.news()
            renewed = double.store.get(LEASES, PLACE)
            assert renewed
            double.put({**renewed, "spec": {**renewed["spec"], "leaseTransitions": 7}})
        block.set()
        assert "holderIdentity" not in spec(double)


async def test_the_next_leader_takes_over_at_once_from_one_that_ended_in_peace() -> None:
    async with server() as (double, client):
        async with running(candidate(client, "a")) as first:
            await first.becomes(True)
            second = candidate(client, "b")
            async with asyncio.TaskGroup() as group:
                task = group.create_task(second.run(Office(second).work))
                await leader(second, "a")
                task.cancel()
        async with asyncio.timeout(0.9), running(second) as office:
            await office.becomes(True)
            assert spec(double)["leaseTransitions"] == 1


async def test_a_leader_that_is_cut_off_ends_its_work_before_another_may_lead() -> None:
    async with server() as (double, client), Client(Unguarded(double.url), "cut-off") as far:

        def is_cut_off(request: Request) -> bool:
            return request.headers["User-Agent"] == "cut-off"

        async with running(candidate(far, "a")) as first:
            await first.becomes(True)
            async with running(candidate(client, "b")) as second:
                await leader(second.elector, "a")
                double.script.add(Rule(resource="leases", drop=True, when=is_cut_off))
                await first.becomes(False)
                assert not second.elector.is_leader()
                await second.becomes(True)
                assert not first.elector.is_leader()
                double.script.heal()
                assert await leader(first.elector, "b") == Leader("b", {}, False)


async def test_a_server_that_hangs_costs_the_leadership_and_it_comes_back() -> None:
    async with server() as (double, client), running(candidate(client, "a")) as office:
        await office.becomes(True)
        block = asyncio.Event()
        double.script.add(Rule(resource="leases", hold=block))
        await office.becomes(False)
        assert not office.elector.is_leader()
        block.set()
        await office.becomes(True)


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500},
        {"status": 409},
        {"status": 403},
        {"status": 429},
        {"drop": True},
        {"status": 200, "body": b"garbage"},
        {"status": 200, "body": b"{}"},
        {"status": 200, "body": b"[]"},
    ],
    ids=str,
)
async def test_nothing_that_a_server_answers_ends_the_campaign(fault: Raw) -> None:
    async with server() as (double, client):
        rule = double.script.add(Rule(resource="leases", times=3, **fault))
        async with running(candidate(client, "a")) as office:
            await office.becomes(True)
            while spec(double).get("holderIdentity") != "a":
                await double.news()
        assert rule.met == 3


async def test_a_server_that_is_away_is_complained_of_once_however_it_is_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", logger=election.__name__)
    async with server() as (double, client):
        faults: list[Raw] = [{"drop": True}, {"status": 503}, {"body": b"[]", "status": 200}]
        for fault in faults * 2:
            double.script.add(Rule(resource="leases", times=1, **fault))
        async with running(candidate(client, "a")) as office:
            await office.becomes(True)
    told = [it.levelname for it in caplog.records if "the Lease" in it.message]
    assert told == ["WARNING", "INFO"]


async def test_a_lease_that_somebody_deletes_is_made_again_by_its_holder() -> None:
    async with server() as (double, client), running(candidate(client, "a")) as office:
        await office.becomes(True)
        double.store.remove(LEASES, PLACE)
        while not spec(double):
            await double.news()
        assert spec(double)["holderIdentity"] == "a"
        assert office.is_held


@pytest.mark.parametrize("time", ["1970-01-01T00:00:00.000000Z", "2170-01-01T00:00:00.000000Z"])
async def test_what_other_clocks_show_decides_nothing(
    time: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(election, "_wall_clock", lambda: time)
    async with server() as (double, client):
        other = lease.Record("other", 1.0, renewed=time, acquired=time)
        await client.create(election.LEASES.path(PLACE.namespace), lease.written(other, *PLACE))
        start = election.uptime()
        async with running(candidate(client, "a")) as office:
            assert await leader(office.elector, "other") == Leader("other", {}, False)
            await office.becomes(True)
            assert election.uptime() - start >= TIMING.duration
            await double.asked("update", "leases", 4)
            assert office.is_held


async def test_work_that_is_done_does_not_end_the_leadership() -> None:
    async with server() as (double, client):
        elector = candidate(client, "a")

        async def work() -> None:
            pass

        async with asyncio.TaskGroup() as group:
            task = group.create_task(elector.run(work))
            await double.asked("update", "leases", 3)
            assert elector.is_leader()
            task.cancel()


async def test_work_that_fails_ends_the_run_and_frees_the_lease() -> None:
    async with server() as (double, client):

        async def work() -> None:
            raise RuntimeError("a bug")

        with pytest.raises(ExceptionGroup) as found:
            await candidate(client, "a").run(work)
        assert found.group_contains(RuntimeError, match="a bug")
        assert "holderIdentity" not in spec(double)


async def test_the_others_learn_what_a_leader_wants_them_to_know() -> None:
    async with server() as (_, client):
        first = candidate(client, "a", address="10.0.0.1:8001")
        async with running(first), running(candidate(client, "b")) as second:
            found = await leader(second.elector, "a")
            assert found == Leader("a", {"address": "10.0.0.1:8001"}, False)
            found = await leader(first, "a")
            assert found is not None
            assert found.is_self


async def test_three_candidates_that_come_and_go_never_lead_together() -> None:
    async with server() as (_, client):
        electors = {it: candidate(client, it) for it in "abc"}
        terms: asyncio.Queue[str] = asyncio.Queue()

        async def term(identity: str) -> None:
            assert [name for name, it in electors.items() if it.is_leader()] == [identity]
            terms.put_nowait(identity)
            await asyncio.Event().wait()

        for _ in range(6):
            async with asyncio.TaskGroup() as group:
                tasks = {
                    name: group.create_task(it.run(partial(term, name)))
                    for name, it in electors.items()
                }
                tasks.pop(await terms.get()).cancel()
                assert await terms.get() in tasks
                for task in tasks.values():
                    task.cancel()


async def test_a_process_that_was_stopped_writes_nothing_after_another_has_led() -> None:
    async with server() as (double, client):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.kube.leader", double.url, "paused"
        )
        try:
            await double.asked("create", "configmaps", 3)
            block = asyncio.Event()
            held = double.script.add(Rule(resource="configmaps", hold=block, times=1))
            while not held.met:
                await double.news()
            os.kill(process.pid, signal.SIGSTOP)  # between two writes: it waits for an answer
            block.set()
            async with running(candidate(client, "b")) as office:
                await office.becomes(True)
                written = double.count("create", "configmaps")
                os.kill(process.pid, signal.SIGCONT)
                renewed = sum(_is_by("paused", it) for it in double.requests)
                while sum(_is_by("paused", it) for it in double.requests) < renewed + 3:
                    await double.news()
                assert office.is_held
                assert double.count("create", "configmaps") == written
        finally:
            process.kill()
            await process.wait()


def _is_by(agent: str, request: Request) -> bool:
    return request.headers["User-Agent"] == agent and request.resource == "leases"


async def test_the_only_instance_leads_without_asking_anybody() -> None:
    alone = Unopposed("me")
    office = Office(alone)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(alone.run(office.work))
        await office.becomes(True)
        assert alone.is_leader()
        found = await leader(alone, "me")
        assert found is not None
        assert found.is_self
        task.cancel()
    assert not office.is_held


def test_a_process_is_another_candidate_after_a_restart() -> None:
    assert election.own_identity() != election.own_identity()

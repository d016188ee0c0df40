"""Replicas on real sockets: who is heard, by whom, for how long, and who is not."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc import aio

from contour.envoyreports import encoding, reporting
from contour.xds.observer import RefusedPart
from contour.xds.resources import ROUTE, Name
from crds.meta import ObjectRef
from dag import refusals
from kube import election
from tests.contour.envoyreports import replicas
from tests.contour.envoyreports.replicas import Instance, Replica
from tests.contour.xds import world
from tests.testbed.patience import PATIENCE

APP = ObjectRef("HTTPProxy", "default", "app")
HOST = (Name(ROUTE, "web"), "a.test")


@asynccontextmanager
async def pair(folder: Path, build: str = "1") -> AsyncIterator[tuple[Replica, Replica, Instance]]:
    """A leader, and a follower that reports to it."""
    of = replicas.instance(folder)
    async with of.replica("leader") as leader, of.replica("follower", build) as follower:
        for it in (leader, follower):
            it.hear()
        leader.collector.lead()
        follower.leader.tell(leader.address)
        yield leader, follower, of


async def test_the_leader_learns_everything_then_every_change(tmp_path: Path) -> None:
    async with pair(tmp_path) as (leader, follower, _):
        observer = follower.server.fleet("web").observer
        observer.connected(2)
        observer.refused(RefusedPart(*HOST, (APP,), "bad"))
        await leader.until(lambda: leader.envoys() == 2)
        await leader.until(lambda: leader.row(refusals.REFUSALS, APP) == ("bad",))
        observer.recovered(*HOST)
        await leader.until(lambda: leader.row(refusals.REFUSALS, APP) is None)
        observer.connected(3)
        await leader.until(lambda: leader.envoys() == 3)
        assert follower.envoys() == 3


async def test_a_fleet_that_is_gone_for_a_moment_on_the_leader_loses_no_report(
    tmp_path: Path,
) -> None:
    """Its EnvoyConfig was made anew, and the follower saw that in one batch: it serves on."""
    async with pair(tmp_path) as (leader, follower, _):
        follower.server.fleet("web").observer.connected(2)
        await leader.until(lambda: leader.envoys() == 2)
        leader.collector.remove("web")
        leader.hear()
        assert leader.envoys() == 2
        leader.collector.remove("web")
        follower.reporter.remove("web")
        follower.server.fleet("other").observer = other = follower.hear("other")
        leader.hear("other")
        other.connected(1)
        await leader.until(lambda: leader.envoys("other") == 1)
        leader.hear()
        assert leader.envoys() == 0


async def test_a_follower_that_goes_takes_its_words_with_it_after_a_while(tmp_path: Path) -> None:
    of = replicas.instance(tmp_path)
    async with of.replica("leader") as leader:
        leader.hear()
        leader.collector.lead()
        async with of.replica("follower") as follower:
            follower.hear().connected(2)
            follower.leader.tell(leader.address)
            await leader.until(lambda: leader.envoys() == 2)
        await leader.until(lambda: leader.envoys() == 0)
        assert not leader.collector.followers


async def test_a_new_leader_is_told_everything_and_the_old_one_forgets_it(tmp_path: Path) -> None:
    of = replicas.instance(tmp_path)
    async with of.replica("one") as one, of.replica("two") as two, of.replica("three") as three:
        for it in (one, two, three):
            it.hear().connected(1)
        three.server.fleet("web").observer.refused(RefusedPart(*HOST, (APP,), "bad"))
        one.collector.lead()
        for it in (two, three):
            it.leader.tell(one.address)
        await one.until(lambda: one.envoys() == 3)
        one.collector.resign()
        assert (one.envoys(), one.row(refusals.REFUSALS, APP)) == (1, None)
        two.collector.lead()
        two.leader.tell(reporting.HERE)
        for it in (one, three):
            it.leader.tell(two.address)
        await two.until(lambda: two.envoys() == 3)
        await two.until(lambda: two.row(refusals.REFUSALS, APP) == ("bad",))
        async with asyncio.timeout(PATIENCE):
            await two.collector.assembled()


async def test_who_does_not_lead_yet_is_asked_again_until_it_does(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    of = replicas.instance(tmp_path)
    async with of.replica("leader") as leader, of.replica("follower") as follower:
        for it in (leader, follower):
            it.hear()
        refused = complaint("FAILED_PRECONDITION")
        follower.server.fleet("web").observer.connected(1)
        follower.leader.tell(leader.address)
        async with asyncio.timeout(PATIENCE):
            await refused
        leader.collector.lead()
        await leader.until(lambda: leader.envoys() == 1)


async def test_who_begins_to_report_while_the_leadership_ends_is_refused(tmp_path: Path) -> None:
    of = replicas.instance(tmp_path)
    async with of.replica("leader") as leader:
        leader.hear()
        leader.collector.lead()
        made = aio.secure_channel(leader.address, of.credentials(replicas.NAME), options=NAMED)
        async with made as it:
            call = reported(it)
            await call.wait_for_connection()
            await asyncio.sleep(0.2)  # until its certificate has been looked at
            leader.collector.resign()
            await call.write(encoding.greeting(encoding.Greeting("late", "1", ("web",))))
            assert await code(call) == grpc.StatusCode.FAILED_PRECONDITION
        assert not leader.collector.followers


async def test_a_fleet_that_the_leader_does_not_have_yet_is_kept_for_it(tmp_path: Path) -> None:
    async with pair(tmp_path) as (leader, follower, _):
        new = follower.hear("new")
        new.connected(4)
        follower.server.fleet("web").observer.connected(1)
        await leader.until(lambda: leader.envoys() == 1)
        leader.hear("new")
        await leader.until(lambda: leader.envoys("new") == 4)
        follower.reporter.remove("new")
        await leader.until(lambda: leader.envoys("new") == 0)


async def test_a_replica_that_falls_silent_is_not_believed_for_long(tmp_path: Path) -> None:
    of = replicas.instance(tmp_path)
    async with of.replica("leader") as leader:
        leader.hear()
        leader.collector.lead()
        async with aio.secure_channel(
            leader.address, of.credentials(replicas.NAME), options=NAMED
        ) as it:
            call = reported(it)
            await call.write(encoding.greeting(encoding.Greeting("mute", "1", ("web",))))
            await call.write(b'{"fleet": "web", "envoys": 5}')
            await leader.until(lambda: leader.envoys() == 5)
            await leader.until(lambda: leader.envoys() == 0)


async def test_a_leader_that_resigns_while_it_answers_ends_the_call(tmp_path: Path) -> None:
    """gRPC cannot end a call in the middle of an answer: the follower would never be told."""
    of = replicas.instance(tmp_path)
    async with of.replica("leader") as leader:
        leader.collector.lead()
        made = aio.secure_channel(leader.address, of.credentials(replicas.NAME), options=NAMED)
        async with made as it:
            call = reported(it)
            await call.write(encoding.greeting(encoding.Greeting("early", "1", ("web",))))
            while not leader.collector.followers:
                await asyncio.sleep(0)
            for _ in range(2):  # until the answer has begun, and not until it has been sent
                await asyncio.sleep(0)
            leader.collector.resign()
            async with asyncio.timeout(PATIENCE):
                assert await call.read() == encoding.ALIVE
            assert await code(call) is grpc.StatusCode.OK


async def test_a_leader_that_falls_silent_is_called_again() -> None:
    """Its process lives, so gRPC's own signs of life are answered."""
    calls: asyncio.Queue[None] = asyncio.Queue()

    async def silent(_: AsyncIterator[bytes], call: Any) -> None:
        calls.put_nowait(None)
        await call.write(encoding.ALIVE)
        await asyncio.Event().wait()

    async def leaders() -> AsyncIterator[str]:
        yield f"127.0.0.1:{port}"
        await asyncio.Event().wait()

    server = aio.server()
    methods = {encoding.METHOD: grpc.stream_stream_rpc_method_handler(silent)}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(encoding.SERVICE, methods),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    timings = reporting.Timings(alive=0.1, shortest=0.02, longest=0.1, silence=0.3)
    reporter = reporting.Reporter("one", "1", timings=timings)
    try:
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            following = tasks.create_task(reporter.follow(leaders()))
            for _ in range(2):
                await calls.get()
            following.cancel()
    finally:
        await server.stop(0)


@pytest.mark.parametrize("message", [b"\xff", b"[]", b'{"fleet": "web", "envoys": "x"}'])
async def test_garbage_ends_its_report_and_no_other(tmp_path: Path, message: bytes) -> None:
    async with pair(tmp_path) as (leader, follower, of):
        follower.server.fleet("web").observer.connected(1)
        await leader.until(lambda: leader.envoys() == 1)
        async with aio.secure_channel(
            leader.address, of.credentials(replicas.NAME), options=NAMED
        ) as it:
            call = reported(it)
            await call.write(encoding.greeting(encoding.Greeting("bad", "1", ("web",))))
            await call.write(message)
            assert await call.read() == encoding.ALIVE
            assert await code(call) is grpc.StatusCode.INVALID_ARGUMENT
        follower.server.fleet("web").observer.connected(2)
        await leader.until(lambda: leader.envoys() == 2)


@pytest.mark.parametrize("names", [("web",), ("envoy", "envoy.projectcontour")])
async def test_the_certificate_of_an_envoy_is_refused(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    of = replicas.instance(tmp_path)
    async with of.replica("leader") as leader:
        leader.hear()
        leader.collector.lead()
        async with aio.secure_channel(
            leader.address, of.credentials(*names), options=NAMED
        ) as channel:
            call = reported(channel)
            assert await code(call) is grpc.StatusCode.PERMISSION_DENIED
        assert not leader.collector.followers


async def test_a_certificate_of_another_authority_gets_nowhere(tmp_path: Path) -> None:
    ours = replicas.instance(tmp_path)
    (tmp_path / "theirs").mkdir()
    theirs = replicas.instance(tmp_path / "theirs")
    async with ours.replica("leader") as leader:
        leader.collector.lead()
        async with aio.secure_channel(
            leader.address, theirs.credentials(replicas.NAME), options=NAMED
        ) as channel:
            assert await code(reported(channel)) is grpc.StatusCode.UNAVAILABLE


async def test_versions_of_another_build_are_not_compared(tmp_path: Path) -> None:
    async with pair(tmp_path, build="2") as (leader, follower, _):
        listener = world.listener("http", 80, "web")
        leader.server.fleet("web").publish([listener])
        follower.server.fleet("web").publish([world.listener("http", 81, "web")])
        follower.server.fleet("web").observer.connected(1)
        await leader.until(lambda: leader.envoys() == 1)
        assert leader.row(refusals.PENDING) is None


async def test_a_follower_hears_what_the_leader_knows(tmp_path: Path) -> None:
    async with pair(tmp_path) as (leader, follower, _):
        word = encoding.LeaderStatus("1", True, {"Service": 7}, (leader.address,))
        leader.collector.leader_status = lambda: word
        heard: asyncio.Queue[encoding.LeaderStatus | None] = asyncio.Queue()
        follower.reporter.on_leader_status = heard.put_nowait
        async with asyncio.timeout(PATIENCE):
            while await heard.get() != word:
                continue
            leader.collector.resign()
            while await heard.get() is not None:
                continue


async def test_who_cannot_read_the_lease_goes_on_reporting(tmp_path: Path) -> None:
    async with pair(tmp_path) as (leader, follower, _):
        observer = follower.server.fleet("web").observer
        observer.connected(2)
        await leader.until(lambda: leader.envoys() == 2)
        (connected,) = leader.collector.followers.values()
        for address in (None, leader.address, None):
            follower.leader.tell(address)
            await asyncio.sleep(0)
        observer.connected(3)
        await leader.until(lambda: leader.envoys() == 3)
        assert [*leader.collector.followers.values()] == [connected]


@pytest.mark.parametrize("has_led", [False, True])
async def test_who_cannot_read_the_lease_finds_the_next_leader(
    tmp_path: Path, has_led: bool
) -> None:
    """Nobody tells the third who leads next; it has heard of all replicas, or heard them all."""
    of = replicas.instance(tmp_path)
    async with of.replica("one") as one, of.replica("two") as two, of.replica("three") as three:
        for it in (one, two, three):
            it.hear().connected(1)
        first = three if has_led else one
        others = [it for it in (one, two, three) if it is not first]

        def word() -> encoding.LeaderStatus:
            return encoding.LeaderStatus("1", True, {}, (first.address, *first.collector.addresses))

        first.collector.leader_status = word
        first.collector.lead()
        for it in others:
            it.leader.tell(first.address)
        await first.until(lambda: first.envoys() == 3)
        await first.until(lambda: len(first.collector.addresses) == 2)
        async with asyncio.timeout(PATIENCE):
            while not all(len(it.reporter._peers) >= 2 for it in others):
                await asyncio.sleep(0.02)  # until each has been told of the others
        three.leader.tell(None)
        first.reporter.meet(first.collector.addresses)
        first.collector.resign()
        two.collector.lead()
        two.leader.tell(reporting.HERE)
        await two.until(lambda: "three" in two.reports.replicas)


async def test_who_leads_again_for_a_moment_still_knows_who_may_lead_next(tmp_path: Path) -> None:
    """The second term ends before anybody has reported, as when a slow API server is cut off."""
    of = replicas.instance(tmp_path)
    async with of.replica("one") as one, of.replica("two") as two:
        for it in (one, two):
            it.hear().connected(1)
        one.collector.lead()
        two.leader.tell(one.address)
        await one.until(lambda: one.collector.addresses)
        one.reporter.meet(one.collector.addresses)
        one.collector.resign()
        one.collector.lead()
        one.reporter.meet(one.collector.addresses)
        one.collector.resign()
        one.leader.tell(None)
        two.collector.lead()
        two.leader.tell(reporting.HERE)
        await two.until(lambda: "one" in two.reports.replicas)


async def test_where_to_report_is_an_annotation_of_the_lease() -> None:
    async def leaders() -> AsyncIterator[election.Leader | None]:
        yield None
        yield election.Leader("a", {reporting.ANNOTATION: "10.0.0.1:8001"}, is_self=False)
        yield election.Leader("b", {reporting.ANNOTATION: "10.0.0.2:8001"}, is_self=True)
        yield election.Leader("c", {}, is_self=False)

    found = [it async for it in reporting.addresses(leaders())]
    assert found == [None, "10.0.0.1:8001", reporting.HERE, None]


def complaint(words: str) -> asyncio.Future[None]:
    """Done when the reporter has complained with these words."""
    found = asyncio.get_running_loop().create_future()
    log = logging.getLogger(reporting.__name__)

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if words in record.getMessage() and not found.done():
                found.set_result(None)

    ear = Ear()
    log.addHandler(ear)
    found.add_done_callback(lambda _: log.removeHandler(ear))
    return found


NAMED = (("grpc.ssl_target_name_override", replicas.NAME), ("grpc.use_local_subchannel_pool", 1))


def reported(channel: Any) -> Any:
    return channel.stream_stream(f"/{encoding.SERVICE}/{encoding.METHOD}")()


async def code(call: Any) -> grpc.StatusCode:
    async with asyncio.timeout(PATIENCE):
        return await call.code()  # type: ignore[no-any-return]

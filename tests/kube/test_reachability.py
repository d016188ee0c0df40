"""What follows from an API server's silence, and from its first answer after it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kube import errors
from kube.client import Client
from kube.reachability import Reachability
from kube.reflector import Timings
from tests.cluster.double.faults import Rule
from tests.cluster.double.server import Double
from tests.kube.followed import FAST, Followed, following, service
from tests.testbed.patience import PATIENCE

OUTAGE, SPREAD = 0.1, 0.05
SOMETHING = "/api/v1/namespaces/default/services/none"
PATIENT = FAST._replace(first_pause=3600.0, longest_pause=3600.0, idle=3600.0, grace=0.0)


@pytest.fixture
async def double() -> AsyncIterator[Double]:
    async with Double() as started:
        yield started


@asynccontextmanager
async def followed_with(double: Double, timings: Timings) -> AsyncIterator[tuple[Followed, Client]]:
    """A reflector, and the client that it shares with whoever else asks something."""
    async with following(double, timings=timings) as followed:
        client = followed.client
        client.reachability.outage = client.reachability.dead = OUTAGE
        client.reachability.spread = SPREAD
        async with asyncio.timeout(PATIENCE):
            while followed.state != "current":
                await asyncio.sleep(0.01)
        yield followed, client


async def asked(client: Client) -> None:
    """One request, whatever becomes of it."""
    try:
        await client.get(SOMETHING, timeout=PATIENCE)
    except errors.RequestError:
        return


async def test_who_pauses_goes_on_when_any_request_is_answered_again(double: Double) -> None:
    async with followed_with(double, PATIENT) as (followed, client):
        await double.stop()
        await asked(client)
        await asyncio.sleep(OUTAGE)
        double.put(service("new"))
        await double.start()
        await asked(client)
        await followed.until(lambda: "new" in followed.names)
        assert client.reachability.outages == 1


async def test_a_watch_that_fell_silent_in_an_outage_is_opened_again(double: Double) -> None:
    async with followed_with(double, FAST._replace(idle=3600.0)) as (followed, client):
        (watch,) = double.open_watches("services")
        watch.stall()
        block = asyncio.Event()
        double.script.add(Rule(verb="get", resource="services", hold=block))
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            tasks.create_task(asked(client))
            double.put(service("new"))
            while client.reachability.silence < OUTAGE:
                await asyncio.sleep(OUTAGE / 4)
            assert "new" not in followed.names
            block.set()
        await followed.until(lambda: "new" in followed.names)


async def test_a_server_that_is_slow_does_not_have_to_open_watches_again(double: Double) -> None:
    async with followed_with(double, FAST._replace(idle=3600.0)) as (_, client):
        client.reachability.dead = 3600.0
        (watch,) = double.open_watches("services")
        block = asyncio.Event()
        double.script.add(Rule(verb="get", resource="services", hold=block))
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            tasks.create_task(asked(client))
            while client.reachability.silence < OUTAGE:
                await asyncio.sleep(OUTAGE / 4)
            block.set()
        await asyncio.sleep(OUTAGE)
        assert (client.reachability.outages, double.open_watches("services")) == (1, [watch])


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 503}, {"drop": True}], ids=str)
async def test_a_failure_between_answers_is_no_outage(
    double: Double, fault: dict[str, object]
) -> None:
    outage = 1.0  # eight failures take longer, and a busy machine not so long for one
    async with followed_with(double, PATIENT) as (_, client):
        client.reachability.outage = client.reachability.dead = outage
        before = client.reachability.outages
        for _ in range(8):
            rule = double.script.add(Rule(verb="get", resource="services", **fault))  # type: ignore[arg-type]
            await asked(client)
            double.script.remove(rule)
            await asked(client)
            await asyncio.sleep(outage / 4)
        assert client.reachability.outages == before


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 503}, {"drop": True}], ids=str)
async def test_an_error_of_the_server_is_no_answer(
    double: Double, fault: dict[str, object]
) -> None:
    async with followed_with(double, PATIENT) as (_, client):
        rule = double.script.add(Rule(**fault))  # type: ignore[arg-type]
        await asked(client)
        await asyncio.sleep(OUTAGE)
        await asked(client)
        assert client.reachability.silence >= OUTAGE
        double.script.remove(rule)
        await asked(client)
        assert (client.reachability.outages, client.reachability.silence) == (1, 0.0)


async def test_who_asks_nothing_hears_no_silence() -> None:
    reachability = Reachability(outage=0.01)
    for _ in range(2):
        with reachability.asking():
            pass
        reachability.answered()
        await asyncio.sleep(0.02)
        assert (reachability.silence, reachability.outages) == (0.0, 0)


async def test_what_is_still_open_when_something_is_answered_goes_on_being_waited_for() -> None:
    reachability = Reachability(outage=3600.0)
    with reachability.asking():
        reachability.answered()
        await asyncio.sleep(0.02)
        assert reachability.silence >= 0.01


async def test_those_who_wait_come_back_one_after_the_other() -> None:
    loop, reachability = asyncio.get_running_loop(), Reachability(outage=0.0, spread=0.2)
    came: list[float] = []

    async def wait() -> None:
        assert await reachability.pause(PATIENCE)
        came.append(loop.time())

    async with asyncio.TaskGroup() as tasks:
        for _ in range(50):
            tasks.create_task(wait())
        await asyncio.sleep(0)
        with reachability.asking():
            pass
        reachability.answered()
    assert max(came) - min(came) > 0.05


async def test_a_pause_that_nothing_ends_lasts() -> None:
    assert not await Reachability().pause(0.01)

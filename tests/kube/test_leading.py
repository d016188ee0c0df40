"""What a process that does not lead asks of the API server: it reads, and writes nothing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from kube import errors, leading
from kube.client import Client
from kube.election import Elector, Place
from kube.lease import KUBERNETES, Timing
from kube.resources import Resource
from tests.cluster.double.faults import Rule
from tests.cluster.double.server import Double
from tests.kube.followed import service
from tests.kube.unguarded import Unguarded

SERVICES = Resource("", "v1", "services")
ALL, ONE = SERVICES.path("default"), SERVICES.path("default", "a")
LABELS = {"metadata": {"labels": {"x": "y"}}}


@pytest.fixture
async def double() -> AsyncIterator[Double]:
    async with Double() as started:
        started.put(service("a"))
        yield started


@pytest.fixture
async def opened(double: Double) -> AsyncIterator[Client]:
    async with Client(Unguarded(double.url)) as client:
        yield client


WRITES: list[tuple[str, Callable[[Client], Awaitable[object]]]] = [
    ("create", lambda it: it.create(ALL, service("b"))),
    ("replace", lambda it: it.replace(ONE, service("a", port=81))),
    ("patch", lambda it: it.patch(ONE, LABELS)),
    ("apply", lambda it: it.apply(ONE, service("a"), "us")),
    ("delete", lambda it: it.delete(ONE, {"kind": "DeleteOptions", "apiVersion": "v1"})),
]


@pytest.mark.parametrize("write", [it for _, it in WRITES], ids=[name for name, _ in WRITES])
async def test_only_a_leader_writes_and_everybody_reads(
    opened: Client, double: Double, write: Callable[[Client], Awaitable[object]]
) -> None:
    is_leader = False
    client = leading.Client(opened, lambda: is_leader, leading.WRITE_TIMEOUT)
    before = (await client.get(ONE))["metadata"]["resourceVersion"]
    asked = len(double.requests)
    with pytest.raises(leading.NotLeading):
        await write(client)
    assert len(double.requests) == asked
    assert (await client.get(ONE))["metadata"]["resourceVersion"] == before
    is_leader = True
    await write(client)


@pytest.mark.parametrize("write", [it for _, it in WRITES], ids=[name for name, _ in WRITES])
async def test_a_leadership_that_is_lost_before_the_body_is_sent_stops_the_write(
    opened: Client, double: Double, write: Callable[[Client], Awaitable[object]]
) -> None:
    answers: Iterator[bool] = iter((True, False))
    before = double.store.version
    with pytest.raises(errors.Unreachable):
        await write(leading.Client(opened, lambda: next(answers), leading.WRITE_TIMEOUT))
    assert double.store.version == before


async def test_a_write_ends_before_anybody_else_can_lead(opened: Client, double: Double) -> None:
    timing = Timing(duration=2.1, renew_deadline=2.0)
    elector = Elector(opened, Place("default", "a"), timing=timing)
    hold = asyncio.Event()
    double.script.add(Rule(verb="patch", hold=hold))
    async with asyncio.timeout(leading.WRITE_TIMEOUT / 2):
        with pytest.raises(errors.Unreachable, match="within the timeout"):
            await leading.Client(opened, lambda: True, elector.write_timeout).patch(ONE, LABELS)
    hold.set()


@pytest.mark.parametrize(
    ("timing", "seconds"), [(KUBERNETES, 4.0), (Timing(3.0, 2.0), 0.8), (Timing(90.0, 60.0), 24.0)]
)
def test_a_write_may_take_less_than_a_lease_outlasts_its_holder(
    timing: Timing, seconds: float
) -> None:
    assert timing.write_timeout == pytest.approx(seconds)

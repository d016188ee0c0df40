"""Envoys leave a few at a time, once their Service has noticed, for as long as something lacks."""

import asyncio
from dataclasses import dataclass, field

import pytest

from contour.shedding import Pace, Shedding

PACE = Pace(look=0.01, notice=0.05, steps=10)


@dataclass
class Holder:
    """Envoys that go where they are told to."""

    connections: int
    went: list[int] = field(default_factory=list)

    def let_go(self, number: int) -> int:
        gone = min(number, self.connections)
        self.connections -= gone
        self.went.append(gone)
        return gone


@pytest.mark.parametrize(("envoys", "steps"), [(1, [1]), (25, [3] * 8 + [1]), (1000, [100] * 10)])
async def test_all_of_them_leave_a_few_at_a_time(envoys: int, steps: list[int]) -> None:
    holder = Holder(envoys)
    shedding = Shedding(lambda: "cut off", holder, PACE)
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(shedding.run())
        await asyncio.sleep(PACE.notice / 2)
        assert holder.went == [], "the Service does not know yet"
        while holder.connections:
            await asyncio.sleep(PACE.look)
        task.cancel()
    assert [it for it in holder.went if it] == steps
    assert shedding.shed == envoys


async def test_who_is_current_again_keeps_the_others() -> None:
    holder, lack = Holder(20), ["cut off"]
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        task = tasks.create_task(Shedding(lambda: lack[0], holder, PACE).run())
        while not holder.went:
            await asyncio.sleep(PACE.look / 2)
        lack[0] = ""
        left = holder.connections
        await asyncio.sleep(20 * PACE.look)
        task.cancel()
    assert (holder.connections, left > 0) == (left, True)


async def test_nobody_is_sent_away_by_who_lacks_nothing() -> None:
    holder = Holder(20)
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(Shedding(lambda: "", holder, PACE).run())
        await asyncio.sleep(2 * PACE.notice + 10 * PACE.look)
        task.cancel()
    assert holder.connections == 20

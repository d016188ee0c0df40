"""Whose turn it is."""

import asyncio
from collections import Counter

from kube import errors
from provisioning import turns
from provisioning.turns import Turns


async def test_who_is_woken_often_has_one_turn_and_another_if_woken_during_it() -> None:
    begun, go_on = asyncio.Semaphore(0), asyncio.Semaphore(0)
    running, most, taken = Counter[str](), Counter[str](), Counter[str]()

    async def take(key: str) -> bool:
        running[key] += 1
        most[key] = max(most[key], running[key])
        taken[key] += 1
        begun.release()
        await go_on.acquire()
        running[key] -= 1
        return True

    found = Turns[str](take)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        task = group.create_task(found.run())
        for _ in range(5):
            found.wake("a", 0)
        await begun.acquire()
        for _ in range(5):
            found.wake("a", 0)
        found.wake("b", 0)
        await begun.acquire()  # b has its turn beside a
        assert taken == {"a": 1, "b": 1}
        go_on.release()
        go_on.release()
        await begun.acquire()
        assert taken == {"a": 2, "b": 1}
        go_on.release()
        task.cancel()
    assert most == {"a": 1, "b": 1}


async def test_a_turn_that_fails_comes_again_and_harms_no_other() -> None:
    tries, done = Counter[str](), asyncio.Event()

    async def take(key: str) -> bool:
        tries[key] += 1
        if key == "bug" and tries[key] < 2:
            raise KeyError(key)
        if key == "away" and tries[key] < 2:
            raise errors.Unreachable("away")
        if tries == {"bug": 2, "away": 2, "good": 1}:
            done.set()
        return False

    found = Turns[str](take)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        task = group.create_task(found.run())
        for key in ("bug", "away", "good"):
            found.wake(key, 0)
        await done.wait()
        task.cancel()
    assert found.failures == 2


async def test_no_more_turns_are_taken_at_once_than_is_good() -> None:
    running, most, done = 0, 0, asyncio.Semaphore(0)

    async def take(_: int) -> bool:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        done.release()
        return False

    found = Turns[int](take)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        task = group.create_task(found.run())
        for key in range(40):
            found.wake(key, 0)
        for _ in range(40):
            await done.acquire()
        task.cancel()
    assert 1 < most <= turns.PARALLEL

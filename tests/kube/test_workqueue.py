"""Each key once, one worker at a time, and after its delay."""

import asyncio
import logging
from collections import Counter

import pytest

from kube import errors, workqueue
from kube.workqueue import Requeue, WorkQueue
from tests.testbed import virtualtime


class Clock:
    """Shows what the test says."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(clock: Clock) -> WorkQueue[str]:
    return WorkQueue[str](clock)


def popped(queue: WorkQueue[str]) -> str:
    """All keys that are due now."""
    return "".join(iter(queue.pop, None))


def test_a_key_waits_once_however_often_it_is_added(queue: WorkQueue[str]) -> None:
    for it in "abaab":
        queue.add(it)
    assert len(queue) == 2
    assert popped(queue) == "ab"
    assert len(queue) == 2  # being processed
    for it in "ab":
        queue.done(it)
    assert len(queue) == 0


def test_a_key_that_is_added_while_it_is_processed_is_processed_again_and_never_twice_at_once(
    queue: WorkQueue[str],
) -> None:
    queue.add("a")
    assert popped(queue) == "a"
    queue.add("a")
    assert popped(queue) == ""
    queue.done("a")
    assert popped(queue) == "a"


def test_keys_come_when_they_are_due_and_the_earliest_time_counts(
    queue: WorkQueue[str], clock: Clock
) -> None:
    for key, delay in (("a", 3.0), ("b", 2.0), ("a", 1.0), ("b", 9.0)):
        queue.add(key, delay)
    assert popped(queue) == ""
    clock.now = 1.0
    assert popped(queue) == "a"
    clock.now = 2.0
    assert popped(queue) == "b"
    for it in "ab":
        queue.done(it)
    clock.now = 99.0
    assert popped(queue) == ""


def test_a_key_rests_after_it_was_processed_and_others_do_not(
    queue: WorkQueue[str], clock: Clock
) -> None:
    queue.add("a")
    queue.pop()
    queue.add("a")
    queue.add("b")
    queue.done("a", rest=5.0)
    assert popped(queue) == "b"
    clock.now = 5.0
    assert popped(queue) == "a"


def test_a_key_that_fails_again_waits_longer(queue: WorkQueue[str]) -> None:
    first, longest = workqueue.FIRST_BACKOFF, workqueue.LONGEST_BACKOFF
    assert first / 2 <= queue.retry("a") <= first
    assert first <= queue.retry("a") <= 2 * first
    for _ in range(20):
        last = queue.retry("a")
    assert longest / 2 <= last <= longest
    assert queue.retry("b") <= first
    queue.forget("a")
    assert queue.retry("a") <= first


async def test_a_reconciliation_that_fails_comes_again_and_harms_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(workqueue, "FIRST_BACKOFF", 0.01)
    caplog.set_level(logging.INFO)
    tries, done = Counter[str](), asyncio.Event()
    failures = {"bug": KeyError("bug"), "away": errors.Unreachable("away"), "early": Requeue("it")}

    async def reconcile(key: str) -> bool:
        tries[key] += 1
        if key in failures and tries[key] < 2:
            raise failures[key]
        if tries == {"bug": 2, "away": 2, "early": 2, "good": 1}:
            done.set()
        return False

    queue = WorkQueue[str]()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        task = group.create_task(queue.run(reconcile))
        for key in ("bug", "away", "early", "good"):
            queue.add(key)
        await done.wait()
        task.cancel()
    levels = {it.args[0]: it.levelname for it in caplog.records if isinstance(it.args, tuple)}
    assert levels == {"bug": "ERROR", "away": "WARNING", "early": "INFO"}


def test_a_trouble_that_lasts_is_logged_from_time_to_time(caplog: pytest.LogCaptureFixture) -> None:
    """Also if it lasts for weeks; another one of the same key is logged at once."""
    caplog.set_level(logging.INFO)
    began: list[float] = []

    async def reconcile(_: str) -> bool:
        began.append(asyncio.get_running_loop().time())
        raise errors.Unreachable("one" if began[-1] < 1800 else "other")

    async def an_hour() -> None:
        queue = WorkQueue[str]()
        queue.add("a")
        task = asyncio.ensure_future(queue.run(reconcile))
        await asyncio.sleep(3600)
        task.cancel()
        await asyncio.wait((task,))

    virtualtime.run(an_hour())
    said = [it.getMessage().split(": ")[1].partition(";")[0] for it in caplog.records]
    assert len(began) > 200
    assert Counter(said) == {"one": 6, "other": 6}


async def test_what_was_reconciled_is_reconciled_again_after_a_long_while_if_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workqueue, "RESYNC", 0.01)
    tries, done = Counter[str](), asyncio.Event()

    async def reconcile(key: str) -> bool:
        tries[key] += 1
        if tries["kept"] == 3:
            done.set()
        return key == "kept"

    queue = WorkQueue[str]()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        task = group.create_task(queue.run(reconcile))
        queue.add("kept")
        queue.add("gone")
        await done.wait()
        task.cancel()
    assert tries["gone"] == 1


async def test_no_more_keys_are_reconciled_at_once_than_there_are_workers() -> None:
    running, most, done = 0, 0, asyncio.Semaphore(0)

    async def reconcile(_: int) -> bool:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        done.release()
        return False

    queue = WorkQueue[int]()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        task = group.create_task(queue.run(reconcile))
        for key in range(40):
            queue.add(key)
        for _ in range(40):
            await done.acquire()
        task.cancel()
    assert 1 < most <= workqueue.WORKERS

"""What the process tells of itself to those who look into a fault."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from contour.pages import debug
from contour.pages.listeners import Listeners
from contour.pages.settings import ListenAddress, Sites
from tests.contour.pages.test_listeners import asked
from tests.testbed.ports import free_port


def _answered(question: str) -> str:
    if not question:
        raise ValueError("no question")
    return question.upper()


@asynccontextmanager
async def served() -> AsyncIterator[int]:
    port = free_port()
    dumps: dict[str, debug.Dump] = {"dag": lambda: "digraph {}", "config": lambda: {"a": [1]}}
    listeners = Listeners(
        {"debug": debug.pages(dumps, {"found": lambda: iter([1, None, 2])}, {"answer": _answered})}
    )
    await listeners.update(Sites({ListenAddress("127.0.0.1", port): frozenset({"debug"})}))
    try:
        yield port
    finally:
        await listeners.close()


async def test_every_page_is_listed_and_answers() -> None:
    async with served() as port:
        _, listing = await asked(port, "/debug/")
        names = ["answer", "config", "dag", "found", "heap", "profile", "tasks", "types"]
        assert listing.split() == [f"/debug/{it}" for it in names]
        for path in listing.split()[1:]:
            assert (await asked(port, f"{path}?seconds=0.01"))[0] == 200


async def test_dumps_are_shown_as_they_are() -> None:
    async with served() as port:
        assert await asked(port, "/debug/dag") == (200, "digraph {}")
        assert json.loads((await asked(port, "/debug/config"))[1]) == {"a": [1]}
        assert "contour" not in (await asked(port, "/debug/types"))[1].split('"objects"')[0]


async def test_what_is_listed_step_by_step_is_shown_whole() -> None:
    async with served() as port:
        assert json.loads((await asked(port, "/debug/found"))[1]) == [1, 2]


async def test_no_web_site_can_read_a_page() -> None:
    async with served() as port, aiohttp.ClientSession() as session:
        for path in ("/debug/", "/debug/dag", "/debug/found", "/debug/heap"):
            url, headers = f"http://127.0.0.1:{port}{path}", {"Host": "rebound.example.com"}
            async with session.get(url, headers=headers) as answer:
                assert answer.status == 421


@pytest.mark.parametrize(
    ("method", "question", "status"), [("POST", "why", 200), ("POST", "", 400), ("GET", "why", 405)]
)
async def test_questions_are_posted(method: str, question: str, status: int) -> None:
    async with (
        served() as port,
        aiohttp.ClientSession() as session,
        session.request(method, f"http://127.0.0.1:{port}/debug/answer", data=question) as answer,
    ):
        assert answer.status == status
        assert await answer.text() == {200: '"WHY"', 400: "no question"}.get(status, "")


async def test_a_task_is_shown_where_it_waits() -> None:
    async def waiting_for_godot(ready: asyncio.Event) -> None:
        ready.set()
        await asyncio.Event().wait()

    ready = asyncio.Event()
    async with served() as port, asyncio.TaskGroup() as tasks:
        task = tasks.create_task(waiting_for_godot(ready))
        await ready.wait()
        assert "waiting_for_godot" in (await asked(port, "/debug/tasks"))[1]
        task.cancel()


async def test_a_profile_names_what_took_the_time() -> None:
    async def busy() -> None:
        while True:
            _spin()
            await asyncio.sleep(0)

    async with served() as port, asyncio.TaskGroup() as tasks:
        task = tasks.create_task(busy())
        assert "_spin" in (await asked(port, "/debug/profile?seconds=0.1"))[1]
        task.cancel()


def _spin() -> int:
    return sum(range(2000))


async def test_the_heap_shows_who_keeps_memory() -> None:
    kept: list[bytes] = []

    async def hoard() -> None:
        while True:
            kept.append(b"x" * 10_000)
            await asyncio.sleep(0.001)

    async with served() as port, asyncio.TaskGroup() as tasks:
        task = tasks.create_task(hoard())
        assert "test_debug.py" in (await asked(port, "/debug/heap?seconds=0.1"))[1]
        task.cancel()


@pytest.mark.parametrize("seconds", ["x", "0", "-1", "61", "nan", "inf"])
async def test_measurements_are_bounded(seconds: str) -> None:
    async with served() as port:
        assert (await asked(port, f"/debug/heap?seconds={seconds}"))[0] == 400


async def test_one_measurement_at_a_time() -> None:
    async with served() as port, asyncio.TaskGroup() as tasks:
        both = [tasks.create_task(asked(port, "/debug/heap?seconds=0.3")) for _ in range(2)]
    assert sorted(it.result()[0] for it in both) == [200, 409]

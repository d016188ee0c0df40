"""Debug pages about what the process is doing right now, on this machine only.

Dumps are made on request. Measurements (`/debug/heap`, `/debug/profile`) run for the requested
number of seconds, one at a time, and cost nothing otherwise. They cover the whole process, in which
one thread matters.
"""

import asyncio
import cProfile
import gc
import io
import pstats
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from aiohttp import web

from contour.inspection import server
from contour.pages.listeners import Answers, Page, Pages

Dump = Callable[[], Any]
"""Plain data, or text."""

LONGEST = 60.0  # seconds a measurement may take
_FRAMES = 8
_MOST_LINES = 50


def pages(
    dumps: Mapping[str, Dump],
    walks: Mapping[str, server.Walk],
    questions: Mapping[str, server.Question],
) -> Pages:
    """`/debug/NAME` for each dump, walk and question, and for data about the process itself.

    Questions are posted, as on the inspection socket of `contour run`.
    """
    turn = asyncio.Lock()
    found: dict[str, Page | Answers] = {
        "/debug/tasks": _dumped(tasks),
        "/debug/types": _dumped(types),
        "/debug/heap": _measured(heap, turn),
        "/debug/profile": _measured(profile, turn),
        **{f"/debug/{name}": _dumped(dump) for name, dump in dumps.items()},
        **{f"/debug/{name}": server.walked(walk) for name, walk in walks.items()},
        **{f"/debug/{name}": Answers(server.asked(it)) for name, it in questions.items()},
    }
    listing = "\n".join(sorted(found)) + "\n"
    return {"/debug": _dumped(lambda: listing), "/debug/": _dumped(lambda: listing), **found}


def tasks() -> str:
    """Every task, and where it waits."""
    written = io.StringIO()
    for task in sorted(asyncio.all_tasks(), key=lambda it: it.get_name()):
        task.print_stack(limit=_FRAMES, file=written)
        written.write("\n")
    return written.getvalue()


def types() -> dict[str, Any]:
    """The number of Python objects of each type that the garbage collector tracks."""
    counts: dict[str, int] = {}
    for it in gc.get_objects():
        name = f"{type(it).__module__}.{type(it).__qualname__}"
        counts[name] = counts.get(name, 0) + 1
    most = sorted(counts.items(), key=lambda it: -it[1])[:_MOST_LINES]
    return {"collections": gc.get_stats(), "frozen": gc.get_freeze_count(), "objects": dict(most)}


async def heap(seconds: float) -> str:
    """What was allocated during the measurement and still exists, by the allocating line."""
    tracemalloc.start(_FRAMES)
    try:
        await asyncio.sleep(seconds)
        snapshot = tracemalloc.take_snapshot()
        traced, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    lines = [str(it) for it in snapshot.statistics("lineno")[:_MOST_LINES]]
    return "\n".join([f"{traced} bytes, {peak} at most, in {seconds} s", *lines, ""])


async def profile(seconds: float) -> str:
    """Where the event loop's thread spent its time."""
    profiler = cProfile.Profile()
    began, busy = time.monotonic(), time.thread_time()
    profiler.enable()
    try:
        await asyncio.sleep(seconds)
    finally:
        profiler.disable()
    took, used = time.monotonic() - began, time.thread_time() - busy
    written = io.StringIO()
    written.write(f"{used:.3f} s of processor time in {took:.3f} s\n")
    pstats.Stats(profiler, stream=written).sort_stats("tottime").print_stats(_MOST_LINES)
    return written.getvalue()


def _dumped(dump: Dump) -> Page:
    async def page(_: web.BaseRequest) -> web.Response:
        found = dump()
        if isinstance(found, str):
            return web.Response(text=found)
        body = orjson.dumps(found, default=str, option=orjson.OPT_INDENT_2)
        return web.Response(body=body, content_type="application/json")

    return page


def _measured(measure: Callable[[float], Awaitable[str]], turn: asyncio.Lock) -> Page:
    async def page(request: web.BaseRequest) -> web.Response:
        seconds = _seconds(request)
        if seconds is None:
            return web.Response(
                status=400, text=f"seconds must be a number of at most {LONGEST:g}\n"
            )
        if turn.locked():
            return web.Response(status=409, text="another measurement is running\n")
        async with turn:
            return web.Response(text=await measure(seconds))

    return page


def _seconds(request: web.BaseRequest) -> float | None:
    try:
        found = float(request.query.get("seconds", "5"))
    except ValueError:
        return None
    return found if 0 < found <= LONGEST else None

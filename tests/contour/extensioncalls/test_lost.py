"""Questions that might get lost: the extension hangs while it is asked, and answers only later
ones; or what it is asked about is edited away and back meanwhile."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from contour.hooks.wire import Hook
from tests.contour.extensioncalls.served import (
    WORLD,
    add_header,
    asked_host,
    changing,
    reply,
    shaped,
)
from tests.testbed import world
from tests.testbed.extensionserver import never

SHAPES = changing(add_header)
LONG, SOONER = "60s", 40
"""A deadline, and seconds in which it has not passed: no test waits for it."""


@pytest.mark.parametrize("number", [1, WORLD.hosts])
async def test_what_a_server_has_lost_is_asked_again_when_it_answers(number: int) -> None:
    async with shaped(SHAPES, timeout=LONG) as of:
        (server,) = of.servers
        server.script, asked = never, of.asked
        of.take(*(WORLD.root(it, "/new") for it in range(number)))
        await of.until(lambda: of.asked >= asked + number)
        server.script = SHAPES
        async with asyncio.timeout(SOONER):
            await of.until(lambda: all("/new" in of.paths(it) for it in range(number)))
        assert all(of.is_changed(it) for it in range(number))


async def test_what_is_not_answered_alone_is_asked_twice_and_not_more_often() -> None:
    asked: Counter[str] = Counter()

    async def slow_alone(hook: Hook, body: bytes) -> Any:
        host = asked_host(body)
        asked[host.domains[0]] += 1
        if host.domains[0] == world.fqdn(3) and host.routes[-1].match.prefix == "/new":
            await asyncio.sleep(3)
        add_header(host)
        return reply(host)

    async with shaped(slow_alone, timeout=LONG) as of:
        asked.clear()
        of.take(WORLD.root(3, "/new"))
        await of.until(lambda: "/new" in of.paths(3))
        assert asked[world.fqdn(3)] <= 3, "it, a second time, and once to find out"


async def test_what_is_edited_away_and_back_while_it_is_asked_is_served() -> None:
    gate = asyncio.Event()

    async def slow(hook: Hook, body: bytes) -> Any:
        await gate.wait()
        return await SHAPES(hook, body)

    async with shaped(SHAPES, timeout=LONG) as of:
        (server,) = of.servers
        server.script, asked = slow, of.asked
        of.take(WORLD.root(3, "/new"))
        await of.until(lambda: of.asked > asked)
        of.take(WORLD.root(3, "/other"))
        of.take(WORLD.root(3, "/new"))
        gate.set()
        await of.until_last_is(3, "/new")
        assert of.is_changed(3)

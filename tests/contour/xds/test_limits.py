"""What one peer may take of the port, on real sockets."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc import aio

from contour.xds import credentials
from contour.xds.envoy import Patience
from contour.xds.limits import Limits
from contour.xds.observer import NO_RELEASES, AckObserver
from contour.xds.resources import CLUSTER, LISTENER
from contour.xds.server import Server
from tests.contour.xds import world
from tests.contour.xds.test_server import ALONE, SHAPES, Caller, node
from tests.testbed import certificates
from tests.testbed.patience import PATIENCE

NONE = Limits(0, 0, 0, 0)


@asynccontextmanager
async def serving(
    limits: Limits, tls: credentials.Files | None = None, comeback: float = 5.0
) -> AsyncIterator[Server]:
    server = Server(("127.0.0.1:0",), Patience(comeback=comeback), tls, limits=limits)
    server.fleet("web").publish([*world.site("a.test", "a", 1), world.listener("web", 1, "web")])
    await server.start()
    try:
        yield server
    finally:
        await server.stop(0)


def channel(server: Server) -> Any:
    return aio.insecure_channel(f"127.0.0.1:{server.ports[0]}", options=ALONE)


async def asked(channel: Any, type_url: str = CLUSTER) -> Caller:
    caller = Caller(channel, SHAPES[0])
    await caller.ask(type_url=type_url, node=node())
    return caller


@pytest.mark.parametrize("is_tls", [False, True])
async def test_a_handshake_that_stalls_ends(tmp_path: Path, *, is_tls: bool) -> None:
    ours = certificates.authority()
    files = credentials.Files(*certificates.write(certificates.issued(ours, "xds"), ours, tmp_path))
    limits = replace(NONE, handshake=0.3)
    async with serving(limits, files if is_tls else None) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.ports[0])
        async with asyncio.timeout(PATIENCE):  # gRPC's own patience is 120 s
            while await reader.read(4096):
                pass
        writer.close()


async def test_a_thousand_streams_of_one_address_are_served() -> None:
    async with serving(Limits()) as server, channel(server) as it:
        callers = [await asked(it) for _ in range(1000)]
        for caller in callers:
            assert [found.name for found in (await caller.answer()).resources] == ["a"]


async def test_streams_over_the_limit_of_an_address_are_refused_until_others_end() -> None:
    async with serving(replace(NONE, streams_per_address=2)) as server, AsyncExitStack() as stack:
        channels = [await stack.enter_async_context(channel(server)) for _ in range(3)]
        first, second = [await asked(it) for it in channels[:2]]
        for caller in (first, second):
            await caller.answer()
        refused = Caller(channels[2], SHAPES[0])
        with suppress(aio.AioRpcError):  # the refusal may come before the request is written
            await refused.ask(type_url=CLUSTER, node=node())
        assert await refused.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "ipv4:127.0.0.1 already has 2 open streams" in await refused.call.details()
        await first.call.done_writing()
        assert await first.code() is grpc.StatusCode.OK
        assert (await (await asked(channels[2])).answer()).resources


async def test_streams_over_the_limit_of_a_connection_wait() -> None:
    async with serving(replace(NONE, streams_per_connection=1)) as server, channel(server) as it:
        first = await asked(it)
        await first.answer()
        second = Caller(it, SHAPES[0])
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(second.ask(type_url=CLUSTER, node=node()))
            await asyncio.sleep(0.3)
            assert len(server.fleets["web"].envoys) == 1
            await first.call.done_writing()
        assert (await second.answer()).resources


async def test_without_limits_nobody_waits_or_is_refused() -> None:
    assert not [*NONE.options()]
    async with serving(NONE) as server, channel(server) as it:
        callers = [await asked(it) for _ in range(5)]
        for caller in callers:
            assert (await caller.answer()).resources


class Heard(AckObserver):
    def __init__(self) -> None:
        self.envoys: list[int] = []

    def connected(self, envoys: int, releases: Mapping[str, int] = NO_RELEASES) -> None:
        self.envoys.append(envoys)


async def test_the_age_of_a_connection_ends_it_and_its_envoy_is_not_missed() -> None:
    limits = replace(NONE, connection_age=0.3, grace=0.1)
    async with serving(limits, comeback=PATIENCE) as server, channel(server) as it:
        heard = server.fleets["web"].observer = Heard()
        for _ in range(3):
            caller = await asked(it, LISTENER)
            assert (await caller.answer()).resources
            assert await caller.code() is grpc.StatusCode.UNAVAILABLE
        assert heard.envoys
        assert set(heard.envoys) == {1}


async def test_an_envoy_that_stays_away_is_missed() -> None:
    async with serving(NONE, comeback=0.1) as server, channel(server) as it:
        heard = server.fleets["web"].observer = Heard()
        caller = await asked(it, LISTENER)
        await caller.answer()
        caller.call.cancel()
        async with asyncio.timeout(PATIENCE):
            while heard.envoys[-1] != 0:
                await asyncio.sleep(0.02)

"""Whether the end of an Envoy is waited for, however its administration interface answers."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from contour import host
from contour.host import administration, draining, shutdown, state
from tests.testbed.ports import free_port

pytestmark = pytest.mark.envoy

_FAULTS = 4
"""Answers in a row that are bad, from the third on."""

Fault = Callable[[web.Request], Awaitable[web.StreamResponse]]
Drain = Callable[[administration.Administration], Awaitable[None]]


async def _late(_: web.Request) -> web.StreamResponse:
    await asyncio.sleep(0.5)
    return web.json_response({"stats": []})


async def _failed(_: web.Request) -> web.StreamResponse:
    return web.Response(status=503)


async def _cut(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@contextlib.asynccontextmanager
async def _faulty(admin: Path, fault: Fault) -> AsyncIterator[administration.Administration]:
    """Stands before an administration interface, and gives some bad answers."""
    asked = 0

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal asked
        asked += 1
        if 2 < asked <= 2 + _FAULTS:
            return await fault(request)
        async with client.request(request.method, request.rel_url) as found:
            return web.Response(body=await found.read(), status=found.status)

    connector = aiohttp.UnixConnector(str(admin))
    async with aiohttp.ClientSession("http://admin", connector=connector) as client:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", answer)
        # 0 would be no limit for aiohttp.
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.01)
        await runner.setup()
        socket = admin.with_name("faulty.sock")
        try:
            await web.UnixSite(runner, str(socket)).start()
            yield administration.Administration(socket)
        finally:
            await runner.cleanup()


async def _in_a_pod(envoy: administration.Administration) -> None:
    await shutdown.drain(envoy, shutdown.Patience(delay=0, idle_grace=0.2, timeout=30))


async def _of_our_own(envoy: administration.Administration) -> None:
    await draining.drain(envoy, 30)


@pytest.mark.parametrize("drain", [_in_a_pod, _of_our_own])
@pytest.mark.parametrize("fault", [_late, _failed, _cut])
async def test_bad_answers_do_not_end_the_wait(
    directory: state.StateDirectory,
    configuration: str,
    port: int,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    drain: Drain,
) -> None:
    monkeypatch.setattr("contour.host.administration._TIMEOUT", 0.3)
    options = host.EnvoyOptions(concurrency=1, drain_seconds=0)
    async with (
        host.EnvoyProcess(directory, configuration, options) as envoy,
        _faulty(directory.socket(host.ADMIN), fault) as asked,
        aiohttp.ClientSession() as client,
    ):
        await envoy.live()
        async with client.get(f"http://127.0.0.1:{port}/stream?seconds=3") as answer:
            drained = asyncio.ensure_future(drain(asked))
            assert len((await answer.read()).splitlines()) > 3
            assert not drained.done()
        await drained


@pytest.mark.parametrize("drain", [_in_a_pod, _of_our_own])
async def test_a_stream_is_waited_for_and_an_idle_connection_is_not(
    directory: state.StateDirectory,
    configuration: str,
    port: int,
    caplog: pytest.LogCaptureFixture,
    drain: Drain,
) -> None:
    caplog.set_level("INFO")
    document, streams = json.loads(configuration), free_port()
    document["static_resources"]["listeners"].append(_tcp(streams))
    options = host.EnvoyOptions(concurrency=1, drain_seconds=0)
    asked = administration.Administration(directory.socket(host.ADMIN))
    async with (
        host.EnvoyProcess(directory, json.dumps(document), options) as envoy,
        aiohttp.ClientSession() as client,
    ):
        await envoy.live()
        async with client.get(f"http://127.0.0.1:{port}/") as answer:
            await answer.read()
        # Envoy does not know that these bytes are a request.
        url = f"http://127.0.0.1:{streams}/stream?seconds=3"
        async with client.get(url, headers={"Connection": "close"}) as answer:
            assert await asked.activity() == (0, 1, 2)
            drained = asyncio.ensure_future(drain(asked))
            assert len((await answer.read()).splitlines()) > 3
            assert not drained.done()
        async with asyncio.timeout(10):
            await drained
        assert await asked.activity() == (0, 0, 1)
    if drain is _of_our_own:
        assert "draining: 1 TCP stream is still open; waiting up to 30 s" in caplog.text


def _tcp(port: int) -> dict[str, Any]:
    """A listener that passes on what comes, as it is."""
    kind = "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"
    proxy = {"@type": kind, "stat_prefix": "tcp", "cluster": "one"}
    return {
        "name": "tcp",
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": port}},
        "filter_chains": [{"filters": [{"name": "tcp", "typed_config": proxy}]}],
    }


async def test_an_envoy_that_does_not_count_is_given_all_the_time(
    directory: state.StateDirectory, configuration: str
) -> None:
    document = json.loads(configuration)
    kept = {"inclusion_list": {"patterns": [{"prefix": "listener_manager."}]}}
    document["stats_config"]["stats_matcher"] = kept
    options = host.EnvoyOptions(concurrency=1, drain_seconds=0)
    asked = administration.Administration(directory.socket(host.ADMIN))
    async with host.EnvoyProcess(directory, json.dumps(document), options) as envoy:
        await envoy.live()
        with pytest.raises(administration.UncountedError):
            await asked.activity()
        begun = asyncio.get_running_loop().time()
        await shutdown.drain(asked, shutdown.Patience(0, 0.1, 0, timeout=1))
        assert asyncio.get_running_loop().time() - begun >= 1


async def test_a_connection_is_counted_once(
    directory: state.StateDirectory, configuration: str, port: int
) -> None:
    options = host.EnvoyOptions(concurrency=2, drain_seconds=0)
    async with (
        host.EnvoyProcess(directory, configuration, options) as envoy,
        aiohttp.ClientSession() as one,
        aiohttp.ClientSession() as two,
    ):
        await envoy.live()
        for client in (one, two):
            async with client.get(f"http://127.0.0.1:{port}/") as answer:
                await answer.read()
        asked = administration.Administration(directory.socket(host.ADMIN))
        assert (await asked.activity()).connections == 2

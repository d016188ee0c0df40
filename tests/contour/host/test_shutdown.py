"""An Envoy in a pod takes its leave: what is open finishes, and only SIGTERM begins it."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from contour import host
from contour.host import administration, shutdown, state
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_port

pytestmark = pytest.mark.envoy


@contextlib.asynccontextmanager
async def beside(directory: state.StateDirectory, *arguments: str) -> AsyncIterator["Beside"]:
    """The container beside Envoy."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from contour.cli import main; main()"),
        *("envoy", "shutdown-manager", "--serve-port", str(port)),
        *("--admin-address", str(directory.socket(host.ADMIN)), *arguments),
    )
    try:
        yield await Beside(process, f"http://127.0.0.1:{port}").up()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


class Beside:
    """The process, and what it serves."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self.process, self.url = process, url

    async def up(self) -> "Beside":
        """Once it listens."""
        async with asyncio.timeout(60), aiohttp.ClientSession() as client:
            while True:
                with contextlib.suppress(aiohttp.ClientError):
                    async with client.get(f"{self.url}/healthz"):
                        return self
                await asyncio.sleep(0.02)

    async def shutdown(self) -> int:
        """What the kubelet asks before it ends Envoy."""
        async with aiohttp.ClientSession() as client, client.get(f"{self.url}/shutdown") as answer:
            return answer.status


async def test_what_is_open_is_finished_first(
    directory: state.StateDirectory, configuration: str, port: int
) -> None:
    arguments = ("--drain-delay", "0.3", "--idle-grace", "0.2")
    url = f"http://127.0.0.1:{port}"
    async with (
        host.EnvoyProcess(directory, configuration, host.EnvoyOptions(concurrency=1)) as envoy,
        beside(directory, *arguments) as one,
        aiohttp.ClientSession() as client,
        asyncio.TaskGroup() as tasks,
    ):
        await envoy.live()
        slow = tasks.create_task(_body(client, f"{url}/stream?seconds=1.2"))
        await _until_busy(directory)
        asked = tasks.create_task(one.shutdown())
        one.process.send_signal(signal.SIGTERM)
        await _until_unready(directory)
        # Load balancers have not heard of it yet: new connections are served, and told to end.
        async with client.get(url) as answer:
            assert answer.status == 200
            assert answer.headers["Connection"] == "close"
        assert not asked.done()
        assert await asked == 200
        assert slow.done()
        assert await one.process.wait() == 0


_EARLY = """
import os, signal, sys
from contour.cli import main

class Early:
    def find_spec(self, name, path=None, target=None):
        if name == "contour.host.shutdown":
            os.kill(os.getpid(), signal.SIGTERM)

sys.meta_path.insert(0, Early())
main()
"""
"""The command, which gets SIGTERM while it still imports what it needs."""


async def test_a_signal_that_comes_while_it_starts_is_heard(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _EARLY),
        *("envoy", "shutdown-manager", "--serve-port", str(free_port()), "--drain-delay", "0"),
        *("--admin-address", str(tmp_path / "none.sock")),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            _, told = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    assert b"nobody listens on" in told
    assert process.returncode == 0


async def test_nobody_but_the_kubelet_can_begin_it(
    directory: state.StateDirectory, configuration: str
) -> None:
    async with (
        host.EnvoyProcess(directory, configuration, host.EnvoyOptions(concurrency=1)) as envoy,
        beside(directory) as one,
        aiohttp.ClientSession() as client,
    ):
        await envoy.live()
        for method in ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"):
            for path in ("/shutdown", "/healthcheck/fail", "/quitquitquit", "/"):
                with contextlib.suppress(TimeoutError):
                    timeout = aiohttp.ClientTimeout(total=0.05)
                    async with client.request(method, f"{one.url}{path}", timeout=timeout) as it:
                        assert it.status in (404, 405), (method, path)
        assert await administration.Administration(directory.socket(host.ADMIN)).is_live()


@pytest.mark.parametrize(
    ("query", "patience", "bounds"),
    [
        pytest.param(
            "/stream?seconds=5", shutdown.Patience(0, 5, 0, 0.4), (0.4, 2), id="time-is-up"
        ),
        pytest.param("", shutdown.Patience(0.1, 5, 0, 60), (0.1, 2), id="nothing-is-open"),
    ],
)
async def test_it_takes_as_long_as_there_is_reason_to(
    directory: state.StateDirectory,
    configuration: str,
    port: int,
    query: str,
    patience: shutdown.Patience,
    bounds: tuple[float, float],
) -> None:
    async with (
        host.EnvoyProcess(
            directory, configuration, host.EnvoyOptions(concurrency=1, drain_seconds=0)
        ) as envoy,
        aiohttp.ClientSession() as client,
    ):
        await envoy.live()
        with contextlib.suppress(aiohttp.ClientError):
            async with contextlib.AsyncExitStack() as stack:
                if query:
                    await stack.enter_async_context(client.get(f"http://127.0.0.1:{port}{query}"))
                seconds = await _seconds(directory.socket(host.ADMIN), patience)
                assert bounds[0] <= seconds < bounds[1]


async def test_an_envoy_that_is_not_there_is_not_waited_for(tmp_path: Path) -> None:
    patience = shutdown.Patience(timeout=0.5)
    assert await _seconds(tmp_path / "none.sock", patience) < 2


async def _seconds(socket: Path, patience: shutdown.Patience) -> float:
    loop = asyncio.get_running_loop()
    start = loop.time()
    await shutdown.drain(administration.Administration(socket), patience)
    return loop.time() - start


async def _body(client: aiohttp.ClientSession, url: str) -> bytes:
    async with client.get(url) as answer:
        return await answer.read()


async def _until_busy(directory: state.StateDirectory) -> None:
    found = administration.Administration(directory.socket(host.ADMIN))
    async with asyncio.timeout(PATIENCE):
        while not (await found.activity()).requests:
            await asyncio.sleep(0.01)


async def _until_unready(directory: state.StateDirectory) -> None:
    found = administration.Administration(directory.socket(host.ADMIN))
    async with asyncio.timeout(PATIENCE):
        while await found.is_live():
            await asyncio.sleep(0.01)

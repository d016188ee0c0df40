"""The supervised Envoy, with the real one."""

import asyncio
import errno
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from contour import host
from contour.host import errors, state
from tests.testbed.patience import PATIENCE

pytestmark = pytest.mark.envoy


async def test_it_serves_once_it_is_live(
    directory: state.StateDirectory, configuration: str, port: int
) -> None:
    async with (
        host.EnvoyProcess(directory, configuration) as envoy,
        aiohttp.ClientSession() as client,
    ):
        await envoy.live()
        async with client.get(f"http://127.0.0.1:{port}/here") as answer:
            assert (await answer.json())["path"] == "/here"
    assert not _is_running(envoy.pid)


async def test_what_was_replaced_goes_on_for_the_time_that_was_chosen(
    directory: state.StateDirectory, configuration: str
) -> None:
    options = host.EnvoyOptions(replaced_seconds=7)
    async with host.EnvoyProcess(directory, configuration, options) as envoy:
        await envoy.live()
        connector = aiohttp.UnixConnector(str(directory.socket(host.ADMIN)))
        async with (
            aiohttp.ClientSession(connector=connector) as client,
            client.get("http://admin/server_info") as answer,
        ):
            found = (await answer.json(content_type=None))["command_line_options"]
    assert (found["drain_time"], found["drain_strategy"]) == ("11s", "Immediate")


async def test_only_its_owner_may_talk_to_it(
    directory: state.StateDirectory, configuration: str
) -> None:
    async with host.EnvoyProcess(directory, configuration) as envoy:
        await envoy.live()
        private = [directory.path, *directory.path.iterdir()]
        assert directory.socket(host.ADMIN) in private
        assert [path for path in private if path.stat().st_mode & 0o077] == []


async def test_the_ready_file_is_there_only_while_the_first_configuration_is_served(
    directory: state.StateDirectory, configuration: str
) -> None:
    ready = directory.path / "ready"
    async with host.EnvoyProcess(directory, configuration) as envoy:
        await envoy.live()
        assert not ready.exists()
        envoy.mark_ready()
        assert ready.exists()
    assert not ready.exists()


async def test_lines_of_the_access_log_that_are_lost_are_told_once(
    directory: state.StateDirectory,
    configuration: str,
    port: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("contour.host.envoy._LOGS_EVERY", 0.05)
    document = json.loads(configuration)
    manager = document["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]
    kind = "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog"
    log = {"@type": kind, "path": "/dev/full"}
    manager["typed_config"]["access_log"] = [{"name": "full", "typed_config": log}]
    told = "cannot write its access log"
    async with (
        host.EnvoyProcess(directory, json.dumps(document)) as envoy,
        aiohttp.ClientSession() as client,
    ):
        await envoy.live()
        async with asyncio.timeout(PATIENCE):
            while told not in caplog.text:
                # Envoy writes 64 KiB at a time.
                async with client.get(f"http://127.0.0.1:{port}/{'x' * 8000}") as answer:
                    await answer.read()
    assert caplog.text.count(told) == 1


async def test_an_envoy_that_is_killed_starts_again(
    directory: state.StateDirectory, configuration: str, port: int
) -> None:
    async with (
        host.EnvoyProcess(directory, configuration) as envoy,
        aiohttp.ClientSession() as client,
    ):
        await envoy.live()
        envoy.mark_ready()
        first = envoy.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await _dead(first)
        while envoy.pid == first:
            await asyncio.sleep(0)
        await envoy.live()
        assert envoy.pid != first
        assert (directory.path / "ready").exists()
        async with client.get(f"http://127.0.0.1:{port}/") as answer:
            assert answer.status == 200


async def test_an_envoy_that_cannot_be_started_for_a_moment_starts_later(
    directory: state.StateDirectory, configuration: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, tries = asyncio.create_subprocess_exec, 0

    async def full(*command: str, **options: Any) -> asyncio.subprocess.Process:
        nonlocal tries
        tries += 1
        if tries < 3:  # as many processes as a user may have
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return await start(*command, **options)

    async with host.EnvoyProcess(directory, configuration) as envoy:
        await envoy.live()
        first = envoy.pid
        assert first is not None
        monkeypatch.setattr(asyncio, "create_subprocess_exec", full)
        os.kill(first, signal.SIGKILL)
        await _dead(first)
        while envoy.pid in (first, None):
            await asyncio.sleep(0.01)
        await envoy.live()
        assert tries == 3


async def test_it_starts_again_after_somebody_has_cleaned_up(
    directory: state.StateDirectory, configuration: str
) -> None:
    async with host.EnvoyProcess(directory, configuration) as envoy:
        await envoy.live()
        first = envoy.pid
        assert first is not None
        (directory.path / "bootstrap.json").unlink()
        os.kill(first, signal.SIGKILL)
        await _dead(first)
        while envoy.pid in (first, None):
            await asyncio.sleep(0.01)
        async with asyncio.timeout(PATIENCE):
            await envoy.live()


async def test_an_envoy_that_never_serves_is_told_with_its_last_words(
    directory: state.StateDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path / "envoy", "echo starting; echo 'cannot find my legs' >&2; exit 7")
    monkeypatch.setenv("ENVOY", str(tmp_path / "envoy"))
    async with host.EnvoyProcess(directory, "{}") as envoy:
        with pytest.raises(errors.CrashLoopError, match="status 7") as caught:
            await envoy.live()
        assert "cannot find my legs" in str(caught.value)
        assert envoy.trouble is not None
        assert "4 times in a row" in envoy.trouble


async def test_a_configuration_that_envoy_refuses_is_told_in_envoys_words(
    directory: state.StateDirectory,
) -> None:
    async with host.EnvoyProcess(directory, '{"no_such_field": 1}') as envoy:
        with pytest.raises(errors.CrashLoopError, match="no_such_field"):
            await envoy.live()


async def test_a_file_that_is_no_program_is_told_as_such(
    directory: state.StateDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "envoy").write_bytes(b"\x00\x01")
    (tmp_path / "envoy").chmod(0o755)
    monkeypatch.setenv("ENVOY", str(tmp_path / "envoy"))
    async with host.EnvoyProcess(directory, "{}") as envoy:
        with pytest.raises(errors.CrashLoopError, match="Exec format error"):
            await envoy.live()


async def test_a_missing_envoy_is_told_before_anything_starts(
    directory: state.StateDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENVOY", "/nowhere/envoy")
    with pytest.raises(errors.NotInstalledError, match="/nowhere/envoy"):
        async with host.EnvoyProcess(directory, "{}"):
            pass


async def test_an_error_of_the_caller_comes_out_as_it_is(
    directory: state.StateDirectory, configuration: str
) -> None:
    with pytest.raises(ZeroDivisionError):
        async with host.EnvoyProcess(directory, configuration):
            raise ZeroDivisionError
    assert not (directory.path / "ready").exists()


async def test_a_request_that_goes_on_is_finished_at_the_end(
    directory: state.StateDirectory, configuration: str, port: int
) -> None:
    async with aiohttp.ClientSession() as client:
        async with host.EnvoyProcess(directory, configuration) as envoy:
            await envoy.live()
            answer = await client.get(f"http://127.0.0.1:{port}/stream?seconds=0.6")
            assert await answer.content.readline()
        assert len((await answer.read()).splitlines()) == 9


async def test_the_end_does_not_wait_longer_than_it_was_told(
    directory: state.StateDirectory, configuration: str, port: int
) -> None:
    options = host.EnvoyOptions(drain_seconds=0.2)
    clock = asyncio.get_running_loop().time
    async with aiohttp.ClientSession() as client:
        async with host.EnvoyProcess(directory, configuration, options) as envoy:
            await envoy.live()
            answer = await client.get(f"http://127.0.0.1:{port}/stream?seconds=60")
            assert await answer.content.readline()
            begun = clock()
        assert clock() - begun < 3
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()


async def test_a_connection_that_idles_is_told_to_close_at_the_end(
    directory: state.StateDirectory, configuration: str, port: int
) -> None:
    ended = asyncio.Event()

    async def run() -> None:
        async with host.EnvoyProcess(directory, configuration) as envoy:
            await envoy.live()
            started.set()
            await ended.wait()

    started = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(run())
        await started.wait()
        async with aiohttp.ClientSession() as client:
            async with client.get(f"http://127.0.0.1:{port}/") as answer:
                assert "connection" not in answer.headers
            ended.set()
            while True:
                # The same connection all the while: the pool keeps it until it is told to close.
                async with client.get(f"http://127.0.0.1:{port}/") as answer:
                    assert answer.status == 200
                    if answer.headers.get("connection") == "close":
                        break


_PARENT = """
import asyncio, pathlib, sys
from contour import host
from contour.host import state

async def run():
    with state.claimed(pathlib.Path(sys.argv[1])) as directory:
        async with host.EnvoyProcess(directory, sys.stdin.read()) as envoy:
            await envoy.live()
            print(envoy.pid, flush=True)
            await asyncio.Event().wait()

asyncio.run(run())
"""


async def test_no_envoy_is_left_when_its_parent_is_killed(
    tmp_path: Path, configuration: str, directory: state.StateDirectory
) -> None:
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _PARENT, str(tmp_path / "other")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    theirs = configuration.replace(str(directory.path), str(tmp_path / "other"))
    parent.stdin.write(theirs.encode())
    parent.stdin.write_eof()
    child = int(await parent.stdout.readline())
    assert _is_running(child)
    parent.kill()
    await parent.wait()
    await _dead(child)
    with state.claimed(tmp_path / "other") as again:
        assert not (again.path / host.ADMIN).exists()


def _install(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


async def _dead(process: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while _is_running(process):
            await asyncio.sleep(0)


def _is_running(process: int | None) -> bool:
    if process is None:
        return False
    status = Path(f"/proc/{process}/status")
    try:
        return "State:\tZ" not in status.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False

"""Supervises one Envoy: starts it, watches it, restarts it when it dies, and drains it at the end.

    async with host.EnvoyProcess(directory, bootstrap) as envoy:
        await envoy.live()

The child cannot outlive this process, even if that is killed (see `launch`). It is restarted at
once, then with growing delays while it keeps dying. At the end it accepts no new connections,
finishes open requests within a time limit, and ends.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from contour.host import (
    administration,
    draining,
    errors,
    installation,
    launch,
    log,
    lostwrites,
    restarts,
    state,
)
from crds import draining as drains

ADMIN = "admin.sock"
"""The socket in the state directory that the bootstrap must use for the administration
interface."""

_CONFIGURATION = "bootstrap.json"
_LOGS_EVERY = 10.0  # seconds

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvoyOptions:
    """How to run Envoy; none of it changes what it serves."""

    concurrency: int | None = None
    """Worker threads; absent: one per core."""
    drain_seconds: float = 30
    """Seconds for open requests to finish at the end."""
    replaced_seconds: int = drains.DRAIN_SECONDS
    """Seconds after which connections of a replaced listener or filter chain are closed."""
    log_level: str = "warning"
    admin: str = ""
    """HOST:PORT of the administration interface; empty: the socket in the state directory."""


class EnvoyProcess:
    """A supervised Envoy. Use it as an asynchronous context."""

    def __init__(
        self, directory: state.StateDirectory, bootstrap: str, options: EnvoyOptions | None = None
    ) -> None:
        self._directory = directory
        self._bootstrap = bootstrap
        self._options = options or EnvoyOptions()
        self._socket = directory.socket(ADMIN)
        self._administration = administration.Administration(self._options.admin or self._socket)
        self._log = log.Log(directory.path / "envoy.log")
        self._access_log = log.Log(directory.path / "access.log")
        self._losses = lostwrites.LostWrites()
        self._crashes = restarts.Crashes()
        self._turn = asyncio.Condition()
        self._is_live = False
        self._is_wanted_ready = False
        self._tasks = asyncio.TaskGroup()
        self._pid: int | None = None
        self._supervision: Sequence[asyncio.Task[None]] = ()

    async def __aenter__(self) -> Self:
        """Starts Envoy. Raises NotInstalledError if there is none."""
        command = self._command(installation.binary())
        await self._tasks.__aenter__()
        self._supervision = (
            self._tasks.create_task(self._supervise(command)),
            self._tasks.create_task(self._bound_logs()),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._directory.unmark_ready()
        try:
            if self._is_live:
                await draining.drain(self._administration, self._options.drain_seconds)
        finally:
            for task in self._supervision:
                task.cancel()
            # Without the error, which a task group would wrap: it is reported elsewhere.
            await self._tasks.__aexit__(None, None, None)

    @property
    def pid(self) -> int | None:
        """The process that runs now, if one does."""
        return self._pid

    @property
    def trouble(self) -> str | None:
        """Why Envoy does not serve, if that is because it died."""
        return None if self._is_live else self._crashes.message or None

    async def live(self) -> None:
        """Waits until Envoy serves. Raises CrashLoopError if it never gets there."""
        async with self._turn:
            await self._turn.wait_for(lambda: self._is_live or self._crashes.is_crash_loop)
        if not self._is_live:
            raise errors.CrashLoopError(self._crashes.failure)

    def mark_ready(self) -> None:
        """Marks the directory as ready: the first complete configuration is served, now and after
        each restart."""
        self._is_wanted_ready = True
        self._show_readiness()

    def _command(self, executable: Path) -> list[str]:
        configuration = self._directory.write(_CONFIGURATION, self._bootstrap)
        return [
            *(sys.executable, "-I", "-S", launch.__file__, str(os.getpid())),
            *(str(executable), "--config-path", str(configuration)),
            # Hot restart would leave shared memory behind whenever Envoy is killed.
            "--disable-hot-restart",
            # A connection of a filter chain that was replaced ends with its next response.
            *("--drain-strategy", "immediate"),
            # Until then, replaced listeners keep their memory; Envoy's default is ten minutes.
            *("--drain-time-s", str(drains.drain_time(self._options.replaced_seconds))),
            *("--log-level", self._options.log_level),
            *(("--concurrency", str(n)) if (n := self._options.concurrency) else ()),
        ]

    async def _supervise(self, command: Sequence[str]) -> None:
        while True:
            started, unread = asyncio.get_running_loop().time(), self._log.size
            try:
                process = await self._started(command)
            except (OSError, errors.RefusedError) as error:  # such as too many processes
                why = error.strerror if isinstance(error, OSError) else None
                self._crashes.fail(why or str(error))
            else:
                status = await self._life(process)
                lived = asyncio.get_running_loop().time() - started
                self._crashes.add(status, lived, self._log.last_lines(10, since=unread))
            _log.error("%s", self._crashes.message)
            await self._tell()
            await asyncio.sleep(self._crashes.delay)

    async def _life(self, process: asyncio.subprocess.Process) -> int:
        """Follows one Envoy until its end; ends it if this task is cancelled."""
        self._pid = process.pid
        watch = self._tasks.create_task(self._watch())
        try:
            return await process.wait()
        finally:
            watch.cancel()
            self._is_live, self._pid = False, None
            self._directory.unmark_ready()
            await _end(process)

    async def _started(self, command: Sequence[str]) -> asyncio.subprocess.Process:
        self._socket.unlink(missing_ok=True)
        if not (self._directory.path / _CONFIGURATION).exists():  # somebody has cleaned up
            self._directory.write(_CONFIGURATION, self._bootstrap)
        stdout, stderr = self._access_log.opened(), self._log.opened()
        try:
            return await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                # A Ctrl-C in the terminal must not reach Envoy, which needs time to drain.
                start_new_session=True,
            )
        finally:
            os.close(stdout)
            os.close(stderr)

    async def _watch(self) -> None:
        delay = 0.02
        while not await self._administration.is_live():
            await asyncio.sleep(delay)
            delay = min(delay * 1.1, 0.25)
        self._is_live = True
        self._crashes.note_ready()
        self._show_readiness()
        await self._tell()

    def _show_readiness(self) -> None:
        if self._is_live and self._is_wanted_ready and self._pid is not None:
            self._directory.mark_ready(self._pid)

    async def _tell(self) -> None:
        async with self._turn:
            self._turn.notify_all()

    async def _bound_logs(self) -> None:
        while True:
            await asyncio.sleep(_LOGS_EVERY)
            self._log.cut()
            self._access_log.cut()
            if self._is_live and self._losses.grow(await self._administration.lost_writes()):
                _log.warning("Envoy cannot write its access log (disk full?); lines are lost")


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(5):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()

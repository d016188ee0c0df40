"""Runs the rate limit service as a child process, which is restarted when it dies.

It is a separate process, so that settling in the control plane delays no decision. It ends with the
process that started it, however that ends (`contour.host.launch`).
"""

import asyncio
import errno
import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from contour.host import launch
from contour.host.log import Log
from contour.ratelimits.settings import Settings

log = logging.getLogger(__name__)

_SHORTEST, _LONGEST = 0.1, 10.0  # seconds between two starts
_LONG_ENOUGH = 30.0  # seconds after which a start counts as successful
_PASSING = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
"""Errors of a start that pass: too many processes or open files, or too little memory."""
_LOGS_EVERY = 10.0  # seconds between two looks at the size of the log
_LAST = 1.0
"""Seconds that the process has to end: the leader frees its Lease afterwards."""


@dataclass(frozen=True, slots=True)
class Child:
    """How the process is started."""

    control_plane: str
    """The address of the xDS server, in gRPC's notation."""
    listen: str
    """The address on which it listens for Envoys, likewise."""
    log: Path | None = None
    """Its log file, whose size is limited; None: it logs to the streams of this process."""
    settings: Settings = field(default_factory=Settings)

    async def run(self) -> None:
        """Keeps it running until it is cancelled."""
        loop, pause = asyncio.get_running_loop(), _SHORTEST
        while True:
            started = loop.time()
            try:
                what = f"has ended ({await self._life()})"
            except OSError as error:
                if error.errno not in _PASSING:
                    raise
                what = f"cannot be started: {error.strerror or error}"
            if loop.time() - started > _LONG_ENOUGH:
                pause = _SHORTEST
            seen = f"; see {self.log}" if self.log is not None else ""
            log.error("the rate limit service %s%s", what, seen)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST)

    async def _life(self) -> int:
        """Runs the process until its end; ends it if this task is cancelled."""
        if self.listen.startswith("unix:"):
            Path(self.listen.removeprefix("unix:")).unlink(missing_ok=True)
        output = Log(self.log).opened() if self.log is not None else os.dup(sys.stderr.fileno())
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command(),
                stdin=asyncio.subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        finally:
            os.close(output)
        bounding = asyncio.ensure_future(self._bound_log())
        try:
            await self._give(process)
            return await process.wait()
        finally:
            bounding.cancel()
            if process.returncode is None:
                await _end(process)

    async def _bound_log(self) -> None:
        """Bounds the size of the log, until it is cancelled."""
        while self.log is not None:
            with suppress(OSError):  # somebody has removed it
                Log(self.log).cut()
            await asyncio.sleep(_LOGS_EVERY)

    async def _give(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        process.stdin.write(self.settings.encoded())
        with suppress(ConnectionError):  # it has ended already
            await process.stdin.drain()
        process.stdin.close()

    def _command(self) -> tuple[str, ...]:
        return (
            *(sys.executable, "-I", "-S", launch.__file__, str(os.getpid())),
            *(sys.executable, "-I", "-m", "contour.ratelimits", self.control_plane, self.listen),
        )


async def _end(process: asyncio.subprocess.Process) -> None:
    process.terminate()
    try:
        async with asyncio.timeout(_LAST):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


class Keeper:
    """Runs the process while it is wanted, with the present settings."""

    def __init__(self, wanted: Callable[[], Child | None]) -> None:
        """`wanted` returns how it should run; None: not at all."""
        self._wanted = wanted
        self._news = asyncio.Event()

    def notice(self) -> None:
        """What is wanted may have changed."""
        self._news.set()

    async def run(self) -> None:
        """Runs until it is cancelled. Raises OSError if the process cannot be started at all."""
        while True:
            self._news.clear()
            wanted = self._wanted()
            running = asyncio.ensure_future(wanted.run()) if wanted is not None else None
            if running is not None:
                running.add_done_callback(lambda _: self._news.set())
            try:
                while self._wanted() == wanted:
                    await self._news.wait()
                    self._news.clear()
                    if running is not None and running.done():
                        running.result()
            finally:
                if running is not None:
                    running.cancel()
                    await asyncio.wait((running,))

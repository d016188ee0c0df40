"""The rate limit service as a child process: started, watched, started again when it dies.

A process of its own, so that a control plane that settles holds up no decision. It ends with the
process that started it, however that ends (`contour.host.launch`).
"""

import asyncio
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
_LONG_ENOUGH = 30.0  # seconds after which a start counts as a good one


@dataclass(frozen=True, slots=True)
class Child:
    """How the process is started."""

    control_plane: str
    """The address of the xDS server, as gRPC writes it."""
    listen: str
    """Where Envoys ask, likewise."""
    log: Path | None = None
    """The file of what it says, which is bounded; None: it says it where this process does."""
    settings: Settings = field(default_factory=Settings)

    async def run(self) -> None:
        """Keeps it running until it is cancelled."""
        loop, pause = asyncio.get_running_loop(), _SHORTEST
        while True:
            started = loop.time()
            code = await self._life()
            if loop.time() - started > _LONG_ENOUGH:
                pause = _SHORTEST
            seen = f"; see {self.log}" if self.log is not None else ""
            log.error("the rate limit service has ended (%d)%s", code, seen)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST)

    async def _life(self) -> int:
        """From its start to its end; ends it if this task is cancelled."""
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
        try:
            await self._give(process)
            return await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()

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


class Keeper:
    """Runs the process while there is to be one, with what holds now."""

    def __init__(self, wanted: Callable[[], Child | None]) -> None:
        """`wanted` says how it is to run; None: not at all."""
        self._wanted = wanted
        self._news = asyncio.Event()

    def notice(self) -> None:
        """It may have to run otherwise."""
        self._news.set()

    async def run(self) -> None:
        """Until it is cancelled. Raises OSError if the process cannot be started at all."""
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

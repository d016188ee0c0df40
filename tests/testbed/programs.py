"""Programs that are started, looked at, frozen, ended, and started again."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

PATIENCE = 120.0
_SCHEDULED = 2
"""The kind of CPU clock that counts all processor time of a process (CPUCLOCK_SCHED)."""


class Program:
    """One process at a time; it is started here, and ended here by its process ID."""

    _process: asyncio.subprocess.Process | None = None

    async def spawn(self, *command: str, **options: Any) -> None:
        """Starts it, without waiting for it."""
        self._process = await asyncio.create_subprocess_exec(*command, **options)

    @property
    def process(self) -> asyncio.subprocess.Process:
        """The process that was started last."""
        assert self._process is not None
        return self._process

    @property
    def pid(self) -> int:
        """The ID of the process that was started last."""
        return self.process.pid

    @property
    def status(self) -> int | None:
        """The exit code of the process, if it has ended."""
        return self.process.returncode

    @property
    def resident(self) -> float:
        """Its memory in MiB."""
        return resident(self.pid)

    @property
    def most(self) -> float:
        """The most memory it ever had, in MiB."""
        return resident(self.pid, "VmHWM")

    def freeze(self) -> None:
        """Stops its execution (SIGSTOP)."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Continues its execution (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)

    @property
    def is_frozen(self) -> bool:
        """Whether the kernel reports it as stopped."""
        return is_frozen(self.pid)

    async def end(self, number: int = signal.SIGKILL) -> float:
        """Ends it, if it runs; returns the seconds that took."""
        start = time.monotonic()
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)
            await self._process.wait()
        return time.monotonic() - start


class Spoken(Program):
    """A program that reads requests as lines, and answers each with a line of JSON."""

    async def speak(self, *command: str) -> None:
        """Starts it."""
        await self.spawn(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 26,
        )

    async def ask(self, words: str = "") -> dict[str, Any]:
        """Sends a line; returns the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{words}\n".encode())
        return await self.line()

    async def line(self) -> dict[str, Any]:
        """The next line that it prints. Raises TimeoutError or EOFError if there is none."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            line = await self.process.stdout.readline()
        if not line:
            raise EOFError(f"the process ended with {await self.process.wait()}")
        found: dict[str, Any] = json.loads(line)
        return found

    async def stop(self) -> float:
        """Closes its standard input, so that it ends; returns the seconds that took."""
        assert self.process.stdin is not None
        start = time.monotonic()
        self.process.stdin.close()
        await self.process.wait()
        return time.monotonic() - start


def resident(pid: int | str = "self", field: str = "VmRSS") -> float:
    """Memory of a process in MiB; `VmHWM` is the most it ever had."""
    return int(_field(pid, field).split()[0]) / 1024


def is_frozen(pid: int) -> bool:
    """Whether the kernel reports a process as stopped."""
    return _field(pid, "State").startswith("T")


def usage() -> dict[str, float]:
    """The memory and the processor time of this process."""
    most = resident(field="VmHWM")
    return {"resident": resident(), "most": most, "processor": time.process_time()}


def processor(pid: int) -> float:
    """The seconds of processor time that a process has used, to the nanosecond.

    By the clock of clock_getcpuclockid(3), which Python does not have for a process: Linux makes
    its number from the process id. /proc/PID/stat tells the same in steps of 10 ms.
    """
    return time.clock_gettime((~pid << 3) | _SCHEDULED)


def calibration() -> float:
    """The seconds of processor time of a fixed loop, which show how fast this machine is now."""
    start, total = time.process_time(), 0
    for number in range(5_000_000):
        total += number & 7
    return time.process_time() - start


def load_average() -> float:
    """The load average of the last minute."""
    return float(Path("/proc/loadavg").read_text().split()[0])


def _field(pid: int | str, name: str) -> str:
    """A field of /proc/PID/status."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(it.partition(":")[2].strip() for it in lines if it.startswith(f"{name}:"))

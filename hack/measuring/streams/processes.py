"""The server and the clients as processes that are asked and answer by lines of JSON."""

import asyncio
import json
import sys
from typing import Any

PATIENCE = 120.0


class Process:
    """A module of this package, run as a program."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._command = (sys.executable, "-m", f"{__package__}.{module}", *arguments)
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Starts it, without waiting for a word of it."""
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )

    async def ask(self, words: str = "") -> dict[str, Any]:
        """What it says to that."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n".encode())
        return await self.line()

    async def line(self) -> dict[str, Any]:
        """What it says next. Raises TimeoutError or EOFError if it says nothing."""
        assert self._process is not None
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            line = await self._process.stdout.readline()
        if not line:
            raise EOFError(f"{self._command[2]} has ended")
        found: dict[str, Any] = json.loads(line)
        return found

    async def kill(self) -> None:
        """Ends it at once."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

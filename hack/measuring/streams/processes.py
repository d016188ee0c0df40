"""The server and the clients as processes, which answer with lines of JSON."""

import sys

from tests.testbed.programs import Spoken


class Process(Spoken):
    """A module of this package, run as a program."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._command = (sys.executable, "-m", f"{__package__}.{module}", *arguments)

    async def start(self) -> None:
        """Starts it, without waiting for output."""
        await self.speak(*self._command)

    async def tell(self, words: str) -> None:
        """Sends it a line, without waiting for an answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{words}\n".encode())
        await self.process.stdin.drain()

"""The server and the clients as processes that are asked and answer by lines of JSON."""

import sys

from tests.testbed.programs import Spoken


class Process(Spoken):
    """A module of this package, run as a program."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._command = (sys.executable, "-m", f"{__package__}.{module}", *arguments)

    async def start(self) -> None:
        """Starts it, without waiting for a word of it."""
        await self.speak(*self._command)

    async def tell(self, words: str) -> None:
        """Says something to it, and waits for no answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{words}\n".encode())
        await self.process.stdin.drain()

"""The extension server in Go, written with Envoy Gateway's own types, which verifies our
encoding."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests import golang
from tests.testbed.programs import Spoken

MODULE = golang.ROOT / "hack/extensionserver"
PROGRAM = golang.Program(
    "extensionserver", "extensionserver", MODULE, ("build", *golang.FLAGS, "-ldflags=-s -w")
)


@pytest.fixture(scope="session")
def extension_server() -> str:
    """The path of the program; skips without Go, but not in CI."""
    try:
        PROGRAM.build()
    except golang.MissingError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"an extension server in Go: {error}")
    return str(PROGRAM.path)


class GoServer(Spoken):
    """The server in a process."""

    address: str

    async def asked(self) -> dict[str, Any]:
        """The next request, as the server has understood it."""
        return await self.line()


@asynccontextmanager
async def running(program: str, *options: str) -> AsyncIterator[GoServer]:
    """A server that listens."""
    server = GoServer()
    try:
        await server.speak(program, *options)
        server.address = (await server.line())["address"]
        yield server
    finally:
        await server.end()

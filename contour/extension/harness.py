"""An extension tried out: its server in this process, for a test of its author's."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from contour.extension.interface import Extension
from contour.extension.server import Server


@asynccontextmanager
async def serving(extension: Extension) -> AsyncGenerator[str]:
    """Serves an extension on a Unix socket of its own, and yields the address."""
    with TemporaryDirectory(prefix="extension-") as folder:
        async with Server(extension, f"unix:{Path(folder, 'socket')}", grace=1.0) as server:
            yield server.address

"""The server's side of F25: the other end of an xDS stream vanishes."""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from contour.xds.fleet import Fleet
from contour.xds.resources import LISTENER
from tests.faults import scripted
from tests.faults.rows import Limit, Run, fault
from tests.testbed import world
from tests.testbed.local import Local


@fault("f25-half-open", together=20, patience=90.0, reaped=Limit("s", 60), leaked=Limit("", 0))
async def half_open(run: Run, _: None) -> None:
    """The other end vanishes without a word: the server ends the stream by itself."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        control = Local(Path(folder), ())
        control.keep(world.gateway())
        await control.start()
        try:
            async with (
                _severable(control.socket) as (address, severed),
                scripted.client(address, "vanished") as it,
            ):
                await it.say(LISTENER)
                await it.accept(await it.hear())
                run.prove("connected", _has(control.fleet, "vanished"))
                severed.set()
                start = time.monotonic()
                while _has(control.fleet, "vanished") and time.monotonic() - start < 60:
                    await asyncio.sleep(0.1)
                run.figures["reaped"] = time.monotonic() - start
                run.figures["leaked"] = float(_has(control.fleet, "vanished"))
        finally:
            await control.end()


def _has(fleet: Fleet, node: str) -> bool:
    return any(it.id == node for it in fleet.envoys)


@contextlib.asynccontextmanager
async def _severable(target: Path) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A way to the server that swallows everything once it is severed, and closes nothing."""
    address, severed = f"{target}-severable", asyncio.Event()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while found := await reader.read(1 << 16):
            if not severed.is_set():
                writer.write(found)
        if not severed.is_set():
            writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_unix_connection(str(target))
        try:
            with contextlib.suppress(asyncio.CancelledError):  # at the end; asyncio would complain
                await asyncio.gather(forward(reader, outer), forward(inner, writer))
        finally:
            outer.transport.abort()
            writer.transport.abort()

    async with await asyncio.start_unix_server(connected, address):
        yield f"unix:{address}", severed

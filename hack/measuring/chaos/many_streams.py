"""A thousand Envoys on one control plane: a change for all of them, and a reconnect of all."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dag.fleetnames import DEFAULT_FLEET
from hack.measuring.streams.processes import Process
from tests.testbed import certificates
from tests.testbed.figures import Figure, percentile
from tests.testbed.measuring import Options, measures
from tests.testbed.ports import free_port

KILOBYTE = 1024


@measures("fan-out")
def fan_out(options: Options) -> Iterator[Figure]:
    """One change, sent to every stream; the clients share the two cores with the server."""
    number, times = (300 if options.quick else 1_000), options.times(10, 3)
    for size, target in ((KILOBYTE, 0.3), (100 * KILOBYTE, 2.0)):
        seconds, each = asyncio.run(_fan_out(number, size, times))
        label = f"{size // KILOBYTE} KB to {number:,} streams"
        yield Figure(f"{label}: last one has it, median", percentile(seconds, 0.5), "s", target)
        yield Figure(f"{label}: last one has it, slowest", max(seconds), "s")
        limit = 60 if size == KILOBYTE else None
        yield Figure(f"{label}: memory of the server per stream", each, "KiB", limit)


@measures("reconnect-storm")
def reconnect_storm(options: Options) -> Iterator[Figure]:
    """The server is killed and started again; all streams come back over mutual TLS."""
    number, times = (300 if options.quick else 1_000), options.times(3, 1)
    found = [asyncio.run(_storm(number)) for _ in range(times)]
    for run, (seconds, memory) in enumerate(found):
        options.note("reconnect-storm", run=run, seconds=seconds, memory=memory)
    label = f"{number:,} streams over mutual TLS, 100 KB each"
    yield Figure(f"{label}: port open to all synced", max(it for it, _ in found), "s", 6)
    yield Figure(f"{label}: most memory of the server", max(it for _, it in found), "MiB", 1024)


async def _fan_out(number: int, size: int, times: int) -> tuple[list[float], float]:
    address = f"127.0.0.1:{free_port()}"
    server = Process("server", address, str(size))
    clients = Process("clients", address, str(number))
    try:
        await server.start()
        before = await server.line()
        await clients.start()
        await clients.line()
        after = await server.ask()
        seconds = []
        for _ in range(times):
            published = await server.ask(str(size))
            everywhere = await clients.line()
            seconds.append(everywhere["all"] - published["at"])
        return seconds, (after["resident"] - before["resident"]) * KILOBYTE / number
    finally:
        await clients.end()
        await server.end()


async def _storm(number: int) -> tuple[float, float]:
    address = f"localhost:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="measured-") as path:
        ours, theirs = credentials(Path(path))
        server = Process("server", address, str(100 * KILOBYTE), *ours)
        clients = Process("clients", address, str(number), *theirs)
        try:
            await server.start()
            await server.line()
            await clients.start()
            await clients.line()
            await server.end()
            await server.start()
            opened = await server.line()
            everywhere = await clients.line()
            usage = await server.ask()
            return everywhere["all"] - opened["at"], usage["most"]
        finally:
            await clients.end()
            await server.end()


def credentials(folder: Path) -> tuple[list[str], list[str]]:
    """Paths of the server's files, and of those that all clients share."""
    authority, found = certificates.authority(), []
    for name in ("localhost", DEFAULT_FLEET):
        own = folder / name
        own.mkdir()
        files = certificates.write(certificates.issued(authority, name), authority, own)
        found.append([str(it) for it in files])
    return found[0], found[1]

"""Envoys that reconnect to one replica all at once, with a real world, over mutual TLS.

Each sends the versions of all its resources, as an Envoy does after it lost its control plane, and
the server compares them. They are in sync when all have got a change that was published meanwhile.
The processor time excludes the clients, but these make everything take longer.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from contour.xds.memory import QUIET
from hack.measuring.chaos import many_streams
from hack.measuring.streams.processes import Process
from tests.testbed.figures import Figure
from tests.testbed.measuring import Options, measures
from tests.testbed.ports import free_port

_MOMENT = 0.2
"""Seconds after which a change is published, when some are connected and most are not."""


class Returned(NamedTuple):
    """Times are in seconds, memory is in MiB for each Envoy."""

    cpu: float
    meanwhile: float
    everywhere: float
    later: float
    memory: float


@measures("envoys-return", "bench")
def envoys_return(options: Options) -> Iterator[Figure]:
    """300 Envoys, 3,000 and 10,000 hosts."""
    number = 100 if options.quick else 300
    for hosts, cpu in ((3_000, 20.0 * number / 300), (10_000, None)):
        if options.quick and hosts > 3_000:
            continue
        found = asyncio.run(_returned(number, hosts))
        label = f"{number} Envoys come back at once, {hosts:,} hosts"
        yield Figure(f"{label}: processor time of the server", found.cpu, "s", cpu)
        yield Figure(f"{label}: a change meanwhile, at one in sync", found.meanwhile, "s", 1.0)
        yield Figure(f"{label}: the same, until the last one has it", found.everywhere, "s")
        yield Figure(f"{label}: the next change, to the last one", found.later, "s", 1.0)
        yield Figure(f"{label}: memory of the server for each", found.memory, "MiB", 0.3)


async def _returned(number: int, hosts: int) -> Returned:
    address = f"localhost:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="measured-") as path:
        ours, theirs = many_streams.credentials(Path(path))
        server = Process("world", address, str(hosts), *ours)
        clients = Process("returning", address, str(number), *theirs)
        try:
            await server.start()
            await server.line()
            await clients.start()
            await clients.line()
            before = await server.ask()
            await clients.tell("go")
            await asyncio.sleep(_MOMENT)
            meanwhile, everywhere = await _change(server, clients)
            _, later = await _change(server, clients)
            await asyncio.sleep(QUIET + _MOMENT)  # until memory that is free is given back
            after = await server.ask()
        finally:
            await clients.end()
            await server.end()
    memory = (after["resident"] - before["resident"]) / number
    took = after["processor"] - before["processor"]
    return Returned(took, meanwhile, everywhere, later, memory)


async def _change(server: Process, clients: Process) -> tuple[float, float]:
    """Seconds from the publication of a change until the first Envoy, and the last one, has it."""
    published = await server.ask()
    await clients.tell(f"{published['name']} {published['version']}")
    said = await clients.line() | await clients.line()
    return said["first"] - published["at"], said["all"] - published["at"]

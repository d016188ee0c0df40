"""The xDS server of the product with one resource of a given size.

    python -m hack.measuring.streams.server ADDRESS BYTES [CERTIFICATE KEY AUTHORITY]

Each line on standard input publishes a new version of that many bytes. Each is answered by a line
of JSON: when it was published, on the machine's monotonic clock, and memory and processor time.
"""

import asyncio
import itertools
import json
import os
import sys
import time
from pathlib import Path

from contour.xds import resources, wire
from contour.xds.credentials import Files
from contour.xds.server import Server
from dag.fleetnames import DEFAULT_FLEET
from tests.testbed.programs import usage

NAME = resources.Name(resources.LISTENER, "measured")
_FIELD = 15  # without any meaning


async def serve(address: str, size: int, tls: Files | None) -> None:
    """Serves until standard input ends."""
    server = Server((address,), tls=tls)
    fleet = server.fleet(DEFAULT_FLEET)
    fleet.publish([_version(0, size)])
    await server.start()
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str]()
    loop.add_reader(sys.stdin, lambda: lines.put_nowait(sys.stdin.readline()))
    _say()
    for number in itertools.count(1):
        line = await lines.get()
        if not line:
            break
        if line.strip():
            fleet.publish([_version(number, int(line))])
        _say()
    await server.stop()


def _version(number: int, size: int) -> resources.Change:
    body = wire.field(_FIELD, os.urandom(size - 12) + f"{number:12}".encode())
    return resources.Change(NAME, "", resources.part(body))


def _say() -> None:
    print(json.dumps({"at": time.monotonic()} | usage()), flush=True)


if __name__ == "__main__":
    files = [Path(it) for it in sys.argv[3:]]
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]), Files(*files) if files else None))

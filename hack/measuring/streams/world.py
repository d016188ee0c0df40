"""The xDS server of the product with a real world of HOSTS hosts, over mutual TLS.

    python -m hack.measuring.streams.world ADDRESS HOSTS CERTIFICATE KEY AUTHORITY

Each line on standard input changes a route. Each is answered by a line of JSON: when that was
published, on the machine's monotonic clock, which version of which resource Envoys have to get, and
memory and processor time.
"""

import asyncio
import itertools
import json
import sys
import time
from pathlib import Path

from contour import process
from contour.instance import Instance
from contour.xds.credentials import Files
from contour.xds.resources import ROUTE
from contour.xds.server import Server
from dag.fleetnames import DEFAULT_FLEET
from dag.ports import HostPorts
from tests.testbed.programs import usage
from tests.testbed.world import World, batch


async def serve(address: str, hosts: int, tls: Files) -> None:
    """Serves until standard input ends."""
    of = World(hosts, hosts, children=False)
    server = Server((address,), tls=tls)
    instance = Instance(server)
    instance.controller.use_host_ports(HostPorts())
    with process.without_collections():
        await instance.build(batch(*of.documents()))
    await server.start()
    routes = server.fleet(DEFAULT_FLEET).store.types[ROUTE]
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str]()
    loop.add_reader(sys.stdin, lambda: lines.put_nowait(sys.stdin.readline()))
    _say({})
    for number in itertools.count(1):
        if not await lines.get():
            break
        before = {name: it.version() for name, it in routes.items()}
        at = time.monotonic()
        instance.take(batch(of.root(number, path=f"/edited/{number}")))
        changed = {
            name: it.version() for name, it in routes.items() if it.version() != before[name]
        }
        ((name, version),) = changed.items()
        _say({"at": at, "name": name, "version": version})
    await server.stop()


def _say(found: dict[str, object]) -> None:
    print(json.dumps(found | usage()), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2]), Files(*map(Path, sys.argv[3:6]))))

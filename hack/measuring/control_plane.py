"""A control plane in a process of its own, which takes its events from whoever started it.

    python -m hack.measuring.control_plane SETTINGS

The product's own controller and xDS server; in place of a provider, lines of JSON: first the world
from a file, then one change per line from standard input. Each is answered by one line: when the
event was there, when it was published (both in seconds of the machine's monotonic clock), and the
memory and processor time of the process.
"""

import asyncio
import dataclasses
import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from contour.controller import Controller
from contour.events import Batch
from contour.xds.server import Server
from dag.listeners import DEFAULT_FLEET
from dag.ports import HostPorts
from hack.measuring import instance
from hack.measuring.world import Document


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What the process is told at its start."""

    socket: str
    world: str  # a file with a line of JSON per document
    ports: tuple[tuple[int, int], ...]  # the port that users see, and the one that Envoy binds

    def text(self) -> str:
        """As the argument of the program."""
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def of(text: str) -> "Settings":
        """Reads the argument of the program."""
        found = json.loads(text)
        ports = tuple((external, local) for external, local in found["ports"])
        return Settings(found["socket"], found["world"], ports)


async def serve(settings: Settings) -> None:
    """Serves until standard input ends."""
    server = Server((f"unix:{settings.socket}",))
    controller = Controller(lambda fleet, changes: server.fleet(fleet).publish(changes))
    controller.bind(HostPorts("127.0.0.1", settings.ports))
    server.fleet(DEFAULT_FLEET).witness = controller.hear(DEFAULT_FLEET, _soon(controller))
    gc.disable()
    with Path(settings.world).open() as world:
        controller.take(instance.batch(*(json.loads(line) for line in world)))
    gc.freeze()
    gc.enable()
    await server.start()
    _say({"open": time.monotonic()} | _usage())
    lines = await _standard_input()
    while line := await lines.readline():
        _say(_change(controller, json.loads(line)))
    await server.stop()


def _soon(controller: Controller) -> Callable[[], None]:
    """Settles once for everything that an Envoy says at a time."""
    pending: list[asyncio.Handle] = []

    def settle() -> None:
        pending.clear()
        controller.settle()

    def settle_soon() -> None:
        if not pending:
            pending.append(asyncio.get_running_loop().call_soon(settle))

    return settle_soon


def _change(controller: Controller, change: dict[str, list[Document]]) -> dict[str, Any]:
    came = time.monotonic()
    written = instance.events(change.get("put", ()))
    gone = (it._replace(object=None) for it in instance.events(change.get("gone", ())))
    controller.take(Batch((*written, *gone), {}))
    return {"came": came, "published": time.monotonic()} | _usage()


def _usage() -> dict[str, float]:
    return {
        "resident": instance.resident(),
        "most": instance.resident(field="VmHWM"),
        "processor": time.process_time(),
    }


async def _standard_input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=1 << 26)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    return reader


def _say(words: dict[str, Any]) -> None:
    print(json.dumps(words), flush=True)


if __name__ == "__main__":
    asyncio.run(serve(Settings.of(sys.argv[1])))

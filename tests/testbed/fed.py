"""An instance of the product in a process of its own; its starter sends it the objects.

    python -m tests.testbed.fed SETTINGS

`contour.instance.Instance`, as `contour run` makes it. Lines of JSON replace the provider: first
the world from a file, then one change a line from standard input. The process answers each with a
line: when the change came, when it was published (both in seconds of the machine's monotonic
clock), and its memory and processor time.
"""

import asyncio
import dataclasses
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contour import process
from contour.instance import Instance
from contour.xds.limits import Limits
from contour.xds.server import Server
from dag.ports import HostPorts
from tests.testbed import world
from tests.testbed.programs import Spoken, usage
from tests.testbed.world import Document


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the process, its only argument."""

    socket: str
    world: str  # a file with a line of JSON per document
    ports: tuple[tuple[int, int], ...]  # the port that users see, and the one that Envoy binds

    def instance(self) -> Instance:
        """The instance; it serves nothing yet."""
        server = Server((f"unix:{self.socket}",), limits=Limits(connection_age=0))
        made = Instance(server, answers=Path(self.socket).with_name("answers"))
        made.controller.use_host_ports(HostPorts("127.0.0.1", self.ports))
        return made


@dataclass(frozen=True, slots=True)
class Took:
    """What the instance reports of a change, in seconds of the monotonic clock and MiB."""

    came: float
    published: float
    resident: float
    most: float
    processor: float


class Fed(Spoken):
    """The process; it can be killed and started again."""

    def __init__(self, folder: Path, ports: Iterable[tuple[int, int]]) -> None:
        self._folder, self._ports = folder, tuple(ports)
        self.socket, self._world = folder / "xds.sock", folder / "world.jsonl"

    def keep(self, documents: Iterable[Document]) -> None:
        """Sets the objects with which the process starts the next time."""
        with self._world.open("w") as file:
            file.writelines(json.dumps(it) + "\n" for it in documents)

    async def start(self) -> float:
        """Starts the process and waits for its xDS port; returns when that was open."""
        settings = Settings(str(self.socket), str(self._world), self._ports)
        self.socket.unlink(missing_ok=True)
        told = json.dumps(dataclasses.asdict(settings))
        await self.speak(sys.executable, "-m", "tests.testbed.fed", told)
        return float((await self.line())["open"])

    async def change(self, put: Sequence[Document] = (), gone: Sequence[Document] = ()) -> Took:
        """Sends one event, or several at one moment."""
        return Took(**await self.ask(json.dumps({"put": put, "gone": gone})))

    def twin(self) -> "Fed":
        """A second process, to be started at the same address with the same world."""
        return Fed(self._folder, self._ports)


async def serve(settings: Settings) -> None:
    """Serves until standard input ends."""
    instance = settings.instance()
    with process.without_collections(), Path(settings.world).open() as file:
        instance.take(world.batch(*map(json.loads, file)))
    asking = asyncio.get_running_loop().create_task(instance.asker.run())
    await instance.asker.begin()
    await instance.server.start()
    _say(open=time.monotonic())
    lines = await _standard_input()
    while line := await lines.readline():
        came = time.monotonic()
        change = json.loads(line)
        instance.take(world.batch(*change["put"], gone=change["gone"]))
        _say(came=came, published=time.monotonic(), **usage())
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await instance.server.stop()


async def _standard_input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=1 << 26)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    return reader


def _say(**words: Any) -> None:
    print(json.dumps(words), flush=True)


if __name__ == "__main__":
    found = json.loads(sys.argv[1])
    ports = tuple((external, local) for external, local in found.pop("ports"))
    asyncio.run(serve(Settings(ports=ports, **found)))

"""Changes of an EnvoyConfig that Envoys refuse, on many Envoys under load: the time until all are
rolled back; and what is sent while nothing changes."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from contour import bootstrap
from contour.instance import Instance
from contour.xds.server import Server
from crds.meta import NamespacedName
from dag.ports import HostPorts
from dag.rawconfig import revisions
from hack.measuring.streams.nodes import EDGE
from tests.e2e.standalone import manifest
from tests.testbed import world
from tests.testbed.envoyconfigs import LOSING, REFUSED, Written
from tests.testbed.envoys import Envoy, backends
from tests.testbed.figures import Figure
from tests.testbed.load import Load, Request, Tally
from tests.testbed.measuring import Options, measures
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_ports
from tests.testbed.programs import Program

NAME = "envoyconfig-rollback"
KEY = NamespacedName("default", "edge")


@measures(NAME)
def envoyconfig_rollback(options: Options) -> Iterator[Figure]:
    """Each change that Envoy refuses, of one type and of all, on real Envoys and scripted ones of
    one node ID, 100 requests a second."""
    envoys, scripted = options.times(20, 4), 8 if options.quick else 80
    found = asyncio.run(_measured(envoys, scripted, options))
    yield Figure("Envoys", envoys, "")
    yield Figure("scripted ones", scripted, "")
    for it in found:
        title = f"{it.name}, {'all types' if it.everything else 'one type'}"
        may_lose = (it.name, it.everything) in LOSING
        yield Figure(f"{title}: back on all", it.seconds, "s", 2)
        yield Figure(
            f"{title}: lost of {it.tally.sent}", it.tally.lost, "", None if may_lose else 0
        )


@measures("envoyconfig-idle")
def envoyconfig_idle(options: Options) -> Iterator[Figure]:
    """Nothing changes for ten minutes, and nothing is sent; then an edit reaches all."""
    seconds = options.times(600, 20)
    pushes, sent = asyncio.run(_idle(4, 16, seconds))
    yield Figure("seconds without a change", seconds, "s")
    yield Figure("responses sent meanwhile", pushes, "", 0)
    yield Figure("responses sent for the edit after that", sent, "", 4 + 16, at_least=True)


async def _idle(envoys: int, scripted: int, seconds: int) -> tuple[int, int]:
    async with _running(envoys, scripted) as (plane, _):
        await asyncio.sleep(5)  # until removals are over
        before = plane.sent
        await asyncio.sleep(seconds)
        idle = plane.sent
        plane.written.version("awake")
        plane.save()
        await plane.until("InSync", envoys + scripted)
        return idle - before, plane.sent - idle


@dataclass(slots=True)
class _Row:
    name: str
    everything: bool
    seconds: float
    tally: Tally


class _NodeEnvoy(Envoy):
    """An Envoy that is configured by its node ID."""

    def configure(self, control_plane: Path) -> None:
        settings = bootstrap.Settings(
            node=EDGE.node,
            fleet=EDGE.node,
            identity=str(EDGE),
            control_plane=bootstrap.Pipe(control_plane),
            admin=self.admin,
        )
        self.configuration.write_text(bootstrap.text(settings))


@dataclass(slots=True)
class _Plane:
    """The product's instance, and the EnvoyConfig that it serves."""

    server: Server
    instance: Instance
    text: str
    written: Written = field(init=False)

    def __post_init__(self) -> None:
        self.reset("0")

    def reset(self, version: str) -> None:
        """Goes back to the valid configuration."""
        self.written = Written(self.text)
        self.written.version(version)

    def save(self) -> None:
        """Saves the EnvoyConfig, as a user would."""
        self.instance.take(world.batch(self.written.document))

    @property
    def sent(self) -> int:
        """How many responses have been sent until now."""
        counts = self.server.by_node[EDGE].counts
        return sum(count for (what, _), count in counts.items() if what == "sent")

    def is_on_all(self, state: str, number: int) -> bool:
        """Whether this many Envoys have accepted all that is served in this state."""
        choice = self.instance.controller.engine.answer(revisions.choice, KEY)
        fleet = self.server.by_node.get(EDGE)
        if choice is None or choice.state != state or fleet is None:
            return False
        edition = fleet.edition.name if fleet.edition is not None else ""
        streams = [it for it in self.server.streams if it.fleet is fleet]
        asked = (it for stream in streams for it in stream.subscriptions.values())
        is_settled = not any(it.dirty or it.in_flight for it in asked)
        return edition == choice.edition and is_settled and len(fleet.envoys) == number

    async def until(self, state: str, number: int) -> None:
        """Waits until `is_on_all`."""
        async with asyncio.timeout(PATIENCE):
            while not self.is_on_all(state, number):
                await asyncio.sleep(0.005)


async def _measured(envoys: int, scripted: int, options: Options) -> list[_Row]:
    found: list[_Row] = []
    async with _running(envoys, scripted) as (plane, port):
        for everything in (False, True):
            for name in REFUSED:
                row = await _refused(plane, port, name, everything, envoys + scripted)
                options.note(NAME, row=name, everything=everything, seconds=row.seconds,
                             sent=row.tally.sent, lost=dict(row.tally.failures))  # fmt: skip
                found.append(row)
    return found


async def _refused(plane: _Plane, port: int, name: str, everything: bool, number: int) -> _Row:
    title = f"{name} {everything}"
    plane.reset(f"before {title}")
    plane.save()
    await plane.until("InSync", number)
    load = Load(port, [Request("any.example.com")], 100, a_connection=10)
    async with load.running() as tally:
        await asyncio.sleep(0.5)
        if everything:
            plane.written.change_everything(title)
        change, _ = REFUSED[name]
        change(plane.written)
        start = time.monotonic()
        plane.save()
        await plane.until("Rollback", number)
        seconds = time.monotonic() - start
        await asyncio.sleep(0.5)
        plane.reset(f"after {title}")
        plane.save()
        await plane.until("InSync", number)
        await asyncio.sleep(0.5)
    return _Row(name, everything, seconds, tally)


@asynccontextmanager
async def _running(envoys: int, scripted: int) -> AsyncIterator[tuple[_Plane, int]]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="rollback-")))
        (backend,) = await stack.enter_async_context(backends(1))
        (port,) = free_ports(1)
        socket = folder / "xds.sock"
        server = Server((f"unix:{socket}",))
        instance = Instance(server)
        instance.controller.use_host_ports(HostPorts("127.0.0.1", ()))
        plane = _Plane(server, instance, manifest("envoyconfig.yaml").replace("$edge", str(port)))
        instance.take(world.batch(_endpoints(backend)))
        plane.save()
        await server.start()
        stack.push_async_callback(server.stop, 0)
        for number in range(envoys):
            envoy = _NodeEnvoy(folder, f"envoy-{number}")
            envoy.configure(socket)
            stack.push_async_callback(envoy.end)
            await envoy.start()
        clients = Program()
        stack.push_async_callback(clients.end)
        program = ("-m", "hack.measuring.streams.nodes", f"unix:{socket}", str(scripted))
        await clients.spawn(sys.executable, *program)
        await plane.until("InSync", envoys + scripted)
        yield plane, port


def _endpoints(port: int) -> world.Document:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "one",
            "namespace": "default",
            "labels": {"kubernetes.io/service-name": "one"},
        },
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port}],
        "endpoints": [{"addresses": ["127.0.0.1"]}],
    }

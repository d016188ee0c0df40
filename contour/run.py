"""`contour run`: one machine, no cluster. Manifests in files, an Envoy as a child process.

The order is what makes it safe: everything is read and settled before the xDS socket opens, the
socket is open before Envoy starts, and `ready` appears only once Envoy serves all of it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from contour import bootstrap, files, host, inspection, process
from contour.events import Batch
from contour.host import ports as host_ports
from contour.host import state
from contour.serve import Controller
from contour.xds import resources, view
from contour.xds.server import Server
from dag import listeners
from dag.ports import HostPorts

log = logging.getLogger(__name__)

XDS_SOCKET = "xds.sock"


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    paths: Sequence[Path]
    address: str = "127.0.0.1"
    port_map: tuple[tuple[int, int], ...] = ()
    controller_name: str | None = None
    envoy: host.Options = field(default_factory=host.Options)


async def run(directory: state.StateDirectory, options: Options) -> None:
    """Serves until SIGTERM or SIGINT. Raises `host.Error` or `files.UnreadableInput`."""
    stopped = process.stop_signals()
    socket = directory.socket(XDS_SOCKET)
    server = Server((f"unix:{socket}",))
    controller = Controller(lambda fleet, changes: server.fleet(fleet).publish(changes))
    controller.bind(HostPorts(options.address, options.port_map))
    if options.controller_name is not None:
        controller.name(options.controller_name)
    manifests = files.Manifests(options.paths)
    with process.without_collections():
        _take(controller, manifests.read())
    _require_free_ports(controller, options.address)
    _hear(controller, server)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(_serving(server))
        pages: dict[str, inspection.Page] = {
            "status": lambda: [_row(it) for it in controller.board.rows()],
            "config": lambda: [view.fleet(it) for it in server.fleets.values()],
        }
        await stack.enter_async_context(
            inspection.served(directory.socket(inspection.SOCKET), pages)
        )
        envoy = host.Envoy(directory, _bootstrap(directory), options.envoy)
        await stack.enter_async_context(envoy)
        await process.until(stopped, _follow(controller, manifests), _announce(envoy, controller))


def _bootstrap(directory: state.StateDirectory) -> str:
    return bootstrap.text(
        bootstrap.Settings(
            node="envoy",
            fleet=listeners.DEFAULT_FLEET,
            control_plane=bootstrap.Pipe(directory.socket(XDS_SOCKET)),
            admin=directory.socket(host.ADMIN),
        )
    )


async def _follow(controller: Controller, manifests: files.Manifests) -> None:
    async for batch in manifests.changes():
        _take(controller, batch)


def _take(controller: Controller, batch: Batch) -> None:
    for complaint in batch.fresh:
        log.log(_LEVELS[complaint.severity], "%s", complaint)
    controller.take(batch)


_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING}


async def _announce(envoy: host.Envoy, controller: Controller) -> None:
    await envoy.live()
    envoy.mark_ready()
    for listener in controller.listeners():
        log.info(
            "serving %s port %d on %s:%d",
            *(listener.protocol, listener.port, listener.address, listener.bind_port),
        )
    await asyncio.Event().wait()


@asynccontextmanager
async def _serving(server: Server) -> AsyncIterator[None]:
    await server.start()
    try:
        yield
    finally:
        await server.stop()


def _hear(controller: Controller, server: Server) -> None:
    """Envoy's answers reach the statuses, once for everything that it says at a time."""
    loop, fleet, is_due = asyncio.get_running_loop(), listeners.DEFAULT_FLEET, False

    def settle() -> None:
        nonlocal is_due
        is_due = False
        controller.settle()

    def settle_soon() -> None:
        nonlocal is_due
        if not is_due:
            is_due = True
            loop.call_soon(settle)

    served = server.fleet(fleet)

    def is_accepted(name: resources.Name) -> bool:
        return name not in served.acceptance.pending

    served.witness = controller.hear(fleet, settle_soon, is_accepted)


def _require_free_ports(controller: Controller, address: str) -> None:
    host_ports.require_free(address, {it.port: it.bind_port for it in controller.listeners()})


def _row(row: Any) -> dict[str, Any]:
    return asdict(row) | {"subject": row.subject._asdict()}

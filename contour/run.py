"""`contour run`: one machine, no cluster. Manifests in files, Envoys as child processes.

The order is what makes it safe: everything is read and settled before the xDS socket opens, the
socket is open before Envoy starts, and `ready` appears only once Envoy serves all of it.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from contour import (
    files,
    freedports,
    host,
    hostdns,
    localbackends,
    localbootstrap,
    process,
    rundir,
    sockets,
)
from contour.configfile.source import Source
from contour.console import news
from contour.console.terminal import Terminal
from contour.controller import Controller
from contour.dashboard import listening as dashboard
from contour.discovery.keeping import RevisionFile
from contour.events import Batch
from contour.extensioncalls import answers
from contour.host import errors, state
from contour.host import ports as host_ports
from contour.inspection import server
from contour.instance import Instance
from contour.keysets.store import Store
from contour.localenvoys import Given, LocalEnvoys
from contour.localtls import authorities, keeper
from contour.ratelimits import child, given
from contour.xds.limits import Limits
from contour.xds.server import Server
from crds.custombootstrap import CustomBootstrap
from crds.meta import NamespacedName
from crds.records import replace
from dag import hostdns as hostrows
from dag import ratelimitclient, ratelimitservice
from dag.configuration import settings
from dag.fleetnames import DEFAULT_FLEET
from dag.nodes import Endpoint, Listener
from dag.ports import HostPorts
from dag.references import redisaccess
from observability import signals, writing

XDS_SOCKET = "xds.sock"
REVISIONS = "revisions.sqlite"
"""The file in the state directory with the revisions of EnvoyConfigs."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of the command line."""

    paths: Sequence[Path] = ()
    address: str = "127.0.0.1"
    port_map: tuple[tuple[int, int], ...] = ()
    moved_ports: tuple[tuple[int, int], ...] = ()
    """Ports that are moved although no option says so."""
    controller_name: str | None = None
    backends: Mapping[NamespacedName, tuple[Endpoint, ...]] = field(
        default_factory=dict[NamespacedName, tuple[Endpoint, ...]]
    )
    """Addresses of Services that need no EndpointSlice."""
    asks_dns: bool = True
    """Whether Services without EndpointSlices are resolved by the DNS of this machine."""
    certifies: bool = False
    """Whether hosts with TLS whose Secret is missing get a certificate of a local authority."""
    lenient: bool = False
    """Whether unknown fields of manifests are only warnings."""
    bootstrap: CustomBootstrap | None = None
    """The bootstrap of `--bootstrap`; it takes precedence over that of a ContourConfiguration."""
    dashboard_port: int | None = None
    """Its port on the loopback address; 0: no dashboard; None: the usual port, or a free one if
    that is taken."""
    source: Source | None = None
    """The file that has the configuration; None: a ContourConfiguration among the manifests."""
    envoy: host.EnvoyOptions = field(default_factory=host.EnvoyOptions)
    when_ready: Callable[[Sequence[Listener]], None] | None = None
    """Is called with the listeners once Envoy serves the first complete configuration."""

    def serving(
        self, paths: Sequence[Path], when_ready: Callable[[Sequence[Listener]], None]
    ) -> "RunOptions":
        """The same for these paths."""
        return replace(self, paths=paths, when_ready=when_ready)


class Running(NamedTuple):
    """What runs in this process, beside the Envoy."""

    server: Server
    instance: Instance
    manifests: files.Manifests
    keeper: keeper.Keeper | None
    console: news.Console
    revisions: RevisionFile
    resolver: hostdns.Resolver
    source: Source | None
    fleets_turned: asyncio.Event
    """Set when the wanted fleets have changed."""
    counting: child.Keeper
    """Runs the rate limit service while a route names a RateLimitFilter."""

    def completed(self, batch: Batch) -> Batch:
        """A batch of the manifests, with the Secrets that are made for it; if a file has the
        configuration, without any other configuration."""
        alone = batch if self.source is None else self.source.alone(batch)
        return alone if self.keeper is None else self.keeper.completed(alone)

    def take_first(self, batch: Batch) -> None:
        """Takes everything that was read at the start, with the configuration of the file. Raises
        UnusableFileError if there is another configuration."""
        found = batch if self.source is None else self.source.first(batch)
        self.revisions.restore()
        self.instance.take(found if self.keeper is None else self.keeper.completed(found))
        if not batch.complaints:
            self.revisions.prune()


async def run(directory: state.StateDirectory, options: RunOptions) -> None:
    """Serves until SIGTERM or SIGINT. Raises `host.Error`, `files.UnreadableInput` or
    `configfile.source.UnusableFileError`."""
    stopping = signals.StopSignals()
    with suppress(signals.Stopped):
        await _run(directory, options, stopping)


async def _run(
    directory: state.StateDirectory, options: RunOptions, stopping: signals.StopSignals
) -> None:
    stopped, running = stopping.stopped, _made(directory, options)
    running.instance.controller.check = stopping.check
    with process.without_collections():
        running.take_first(running.manifests.read())
    controller = running.instance.controller
    _require_client(controller)
    sockets.hold(controller.engine)
    _require_free_ports(controller, options.address)
    start = _start(directory, controller, options)
    await asyncio.sleep(_SIGNALS)
    await running.instance.asker.begin(stopped)
    if not stopped.is_set():
        await asyncio.gather(running.instance.fetch(), running.resolver.first(_PATIENCE))
        await _serve(directory, options, running, start, stopped)


def _start(
    directory: state.StateDirectory, controller: Controller, options: RunOptions
) -> localbootstrap.Start | None:
    """The bootstrap of the shared Envoy; None if all Envoys are those of Gateways."""
    if DEFAULT_FLEET not in controller.fleets:
        return None
    return localbootstrap.start(directory, XDS_SOCKET, controller, options.bootstrap)


_PATIENCE = 2.0
"""Seconds that the start may wait for the DNS of this machine."""
_SIGNALS = 0.01
"""Seconds for the event loop to see signals that came while everything was read."""


def _made(directory: state.StateDirectory, options: RunOptions) -> Running:
    # Envoy is our child process and has no other control plane: its connection may have any age.
    server = Server((f"unix:{directory.socket(XDS_SOCKET)}",), limits=Limits(connection_age=0))
    manifests = files.Manifests(options.paths, lenient=options.lenient)
    concerned = news.Concerned()
    changed = asyncio.Event()
    counting_ = child.Keeper(lambda: _counter(directory, controller))

    def wake() -> None:
        changed.set()
        counting_.notice()

    instance = Instance(
        server,
        concerned,
        on_fleets_changed=wake,
        logs_complaints=False,
        gives_hints=True,
        locator=manifests.locator,
        answers=directory.path / answers.FILE,
        store=Store(directory.path / "keysets"),
    )
    controller = instance.controller
    controller.use_host_ports(HostPorts(options.address, options.port_map, options.moved_ports))
    controller.use_local_backends(options.backends)
    resolver = hostdns.Resolver(controller.engine, controller.settle)
    if options.asks_dns:
        controller.notes.append(resolver.note)
        controller.engine.write(hostrows.IN_USE, (), True)
    controller.engine.write(
        ratelimitclient.SOCKET, (), str(directory.socket(ratelimitclient.SOCKET_NAME))
    )
    controller.engine.write(redisaccess.LACKING, (), given.lacking() or None)
    if options.source is not None:
        controller.follow(options.source.name, in_cluster=False)
    if options.controller_name is not None:
        controller.set_controller_name(options.controller_name)
    terminal = Terminal(writing.standard_error())
    console = news.Console(instance, concerned, terminal, manifests.locator)
    made = _keeper(options, terminal) if options.certifies else None
    revisions = RevisionFile(directory.path / REVISIONS, controller.engine)
    controller.envoy_configs.on_change = revisions.note
    found = (server, instance, manifests, made, console, revisions, resolver)
    return Running(*found, options.source, changed, counting_)


def _keeper(options: RunOptions, terminal: Terminal) -> keeper.Keeper:
    kept = authorities.Authorities(authorities.default_folder(), options.paths)
    return keeper.Keeper(kept, partial(terminal.say, "plain"))


async def _serve(
    directory: state.StateDirectory,
    options: RunOptions,
    running: Running,
    start: localbootstrap.Start | None,
    stopped: asyncio.Event,
) -> None:
    async with AsyncExitStack() as stack:
        stack.callback(running.revisions.close)
        await stack.enter_async_context(_serving(running.server))
        await stack.enter_async_context(
            server.served(
                directory.socket(rundir.INSPECTION),
                _own_pages(options),
                running.instance.walks(),
                running.instance.questions(),
            )
        )
        urls = [await stack.enter_async_context(it) for it in _dashboards(options, running)]
        notes = [f"dashboard on {it}" for it in urls if it]
        controller = running.instance.controller
        envoys = LocalEnvoys(
            directory,
            directory.socket(XDS_SOCKET),
            running.server,
            controller,
            Given(options.envoy, options.address, options.bootstrap),
            _shared(directory, options, start),
        )
        await stack.enter_async_context(envoys)
        activities = (
            envoys.run(running.fleets_turned),
            _follow(running),
            _follow_file(running),
            _renew(running),
            running.instance.asker.run(),
            _announce(envoys, running.console, controller, options, notes),
            controller.age(),
            running.instance.key_sets.run(),
            running.resolver.run(),
            running.counting.run(),
            freedports.follow(running.server.fleets.values),
        )
        await process.until(stopped, activities)


def _shared(
    directory: state.StateDirectory, options: RunOptions, start: localbootstrap.Start | None
) -> host.EnvoyProcess | None:
    if start is None:
        return None
    return host.EnvoyProcess(directory, start.text, replace(options.envoy, admin=start.admin))


def _own_pages(options: RunOptions) -> dict[str, Callable[[], object]]:
    """Pages that only `contour run` has: how it was started."""
    return {
        "manifests": lambda: _paths(options),
        "backends": lambda: localbackends.written(options.backends),
    }


def _paths(options: RunOptions) -> list[dict[str, str]]:
    """The manifests that are followed, as absolute paths: the asking command may run in another
    directory."""
    return [{"path": str(it.absolute())} for it in options.paths]


def _counter(directory: state.StateDirectory, controller: Controller) -> child.Child | None:
    """The rate limit service that should run now; None: none."""
    found = controller.engine.answer(ratelimitservice.process, ())
    if found is None:
        return None
    return child.Child(
        f"unix:{directory.socket(XDS_SOCKET)}",
        f"unix:{directory.socket(ratelimitclient.SOCKET_NAME)}",
        directory.path / "ratelimit.log",
        given.settings(found),
    )


async def _follow(running: Running) -> None:
    async for batch in running.manifests.changes():
        running.console.take(running.completed(batch))


async def _follow_file(running: Running) -> None:
    if running.source is not None:
        async for batch in running.source.changes():
            running.console.take(batch)


async def _renew(running: Running) -> None:
    """Replaces certificates that this process has made, before they expire."""
    while running.keeper is not None:
        await asyncio.sleep(_RENEWALS)
        batch = running.keeper.renewed()
        if not batch.is_empty:
            running.console.take(batch)


_RENEWALS = 3600
"""Seconds between two checks for certificates to renew."""


def _dashboards(
    options: RunOptions, running: Running
) -> Iterator[AbstractAsyncContextManager[str]]:
    if options.dashboard_port != 0:
        yield dashboard.served(running.instance, options.dashboard_port)


async def _announce(
    envoys: LocalEnvoys,
    console: news.Console,
    controller: Controller,
    options: RunOptions,
    notes: Sequence[str],
) -> None:
    await envoys.live()
    envoys.mark_ready()
    await console.greet(notes)
    if options.when_ready:
        options.when_ready(controller.listeners())
    await console.follow()


@asynccontextmanager
async def _serving(server: Server) -> AsyncGenerator[None]:
    await server.start()
    try:
        yield
    finally:
        await server.stop()


def _require_client(controller: Controller) -> None:
    """Raises NotInstalledError if requests are to be counted in a Redis that cannot be asked."""
    lacking = controller.engine.row(redisaccess.LACKING, ())
    found = controller.engine.answer(settings.settings, ())
    if lacking is not None and found is not None and found.limit_filters.redis is not None:
        raise errors.NotInstalledError(lacking)


def _require_free_ports(controller: Controller, address: str) -> None:
    for fleet in controller.fleets:
        listeners = controller.listeners(fleet)
        tcp, udp = (
            {it.port: it.bind_port for it in listeners if (it.protocol == "UDP") is is_udp}
            for is_udp in (False, True)
        )
        host_ports.require_free(address, tcp, udp)

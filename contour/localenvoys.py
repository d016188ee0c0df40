"""The Envoys of this machine: the shared one, and one for each Gateway that has Envoys of its own.

Those of Gateways start, and end, with their Gateway: each in a folder of its own, below `gateways`
in the state directory, supervised as the shared one is. While it serves, its Gateway has an
address. While it drains it hears of nothing more: a Gateway that is back by then waits for another
Envoy. What is wrong with one concerns its Gateway alone, whose status says so; one that could not
be started is tried again, ever more rarely. An Envoy keeps the bootstrap that it was started with
(`localbootstrap`); that another one is written is told.
"""

import asyncio
import hashlib
import itertools
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from contour import host, localbootstrap
from contour.controller import Controller
from contour.host import errors, installation, state
from contour.xds.server import Server
from crds.custombootstrap import CustomBootstrap
from crds.records import replace
from dag.envoyproxy.asked import OwnBootstrap
from dag.fleetnames import DEFAULT_FLEET
from dag.fleets import FleetProblem
from dag.statuses import Address
from kube import backoff

log = logging.getLogger(__name__)

FOLDER = "gateways"
_RETRY = 5.0
"""Seconds between two checks of an Envoy that keeps dying, and about the time after which one that
could not be started is tried again for the first time."""
_LONGEST_RETRY = 60.0
"""The most seconds until it is tried again, however often it failed."""
_LONGEST_NAME = 200
_REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""How clients on this machine reach a listener on all its addresses."""


_DRAINING = FleetProblem("its Envoy starts when the former one has drained", is_error=False)


class Given(NamedTuple):
    """The options of the command line for all Envoys."""

    options: host.EnvoyOptions
    address: str = "127.0.0.1"
    """The address on which they listen."""
    bootstrap: CustomBootstrap | None = None


class LocalEnvoys:
    """All Envoys, as an asynchronous context in which `shared` runs if there is one."""

    def __init__(
        self,
        directory: state.StateDirectory,
        xds: Path,
        server: Server,
        controller: Controller,
        given: Given,
        shared: host.EnvoyProcess | None,
    ) -> None:
        """`xds`: the socket of the control plane, which is `server`."""
        self._directory = directory
        self._xds = xds
        self._server = server
        self._controller = controller
        self._given = given
        self._address = Address("IPAddress", _REACHED_AT.get(given.address, given.address))
        self._shared = shared
        self._started: dict[str, tuple[OwnBootstrap | None, localbootstrap.Start]] = {}
        """The bootstrap that was asked for when the Envoy of a Gateway started, and the one it
        got."""
        self._changed = asyncio.Event()
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._ending: set[str] = set()
        self._live: set[str] = set()
        """The Gateways whose Envoy serves, or whose status says why it does not."""
        self._serving: set[str] = set()
        self._checking = asyncio.Lock()
        self._turn = asyncio.Condition()
        self._stack = AsyncExitStack()
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        """Starts the shared Envoy. Raises NotInstalledError if there is no Envoy to run."""
        installation.binary()
        await self._tasks.__aenter__()
        if self._shared is not None:
            await self._stack.enter_async_context(self._shared)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Drains and ends all Envoys at the same time."""
        self._end(self._lives)
        self._tasks.create_task(self._stack.aclose())
        # Without the error, which a task group would wrap: it is reported elsewhere.
        await self._tasks.__aexit__(None, None, None)
        self._directory.unmark_ready()

    async def run(self, changed: asyncio.Event) -> None:
        """Runs an Envoy for each Gateway that needs one, until it is cancelled; `changed` is set
        when the wanted fleets have changed."""
        self._changed = changed
        while True:
            changed.clear()
            wanted = {it for it in self._controller.fleets if it != DEFAULT_FLEET}
            for name in sorted(wanted - self._lives.keys()):
                self._lives[name] = self._tasks.create_task(self._life(name))
            self._end(self._lives.keys() - wanted)
            for name in wanted & self._ending:
                self._controller.set_fleet_problems(name, (_DRAINING,))
            for name in self._serving:
                self._tell_bootstrap(name)
            await changed.wait()

    async def live(self) -> None:
        """Waits until every wanted Envoy serves, or the status of its Gateway says why it does not.
        Raises CrashLoopError if the shared one keeps dying."""
        if self._shared is not None:
            await self._shared.live()
        async with self._turn:
            await self._turn.wait_for(self._is_live)

    def mark_ready(self) -> None:
        """Notes that all that was there at the start is served."""
        if self._shared is not None:
            self._shared.mark_ready()
        else:
            self._directory.mark_ready(os.getpid())

    def _end(self, names: Iterable[str]) -> None:
        """Drains these Envoys, once: a second cancellation would cut the drain short."""
        for name in set(names) - self._ending:
            self._ending.add(name)
            self._serving.discard(name)
            self._server.shut(name)
            self._lives[name].cancel()

    def _is_live(self) -> bool:
        return self._controller.fleets.keys() - {DEFAULT_FLEET} <= self._live

    async def _life(self, name: str) -> None:
        """Runs the Envoy of a Gateway until the Gateway is removed."""
        try:
            for failures in itertools.count(1):
                try:
                    await self._tried(name)
                except host.Error as error:
                    self._started.pop(name, None)
                    log.error("Gateway %s has no Envoy: %s", name, error)
                    await self._tell(name, f"no Envoy can be started for it: {error}")
                await asyncio.sleep(backoff.delay(failures, _RETRY, _LONGEST_RETRY))
        finally:
            self._live.discard(name)
            self._serving.discard(name)
            self._started.pop(name, None)
            self._ending.discard(name)
            self._server.reopen(name)
            del self._lives[name]
            # A new Gateway may have the same name.
            self._changed.set()

    async def _tried(self, name: str) -> None:
        """Starts an Envoy and runs it until cancelled. Raises `host.Error` if it cannot be
        started."""
        with state.claimed(self._directory.path / FOLDER / _folder(name)) as directory:
            start = await self._start(name, directory)
            options = replace(self._given.options, admin=start.admin)
            envoy = host.EnvoyProcess(directory, start.text, options)
            async with envoy:
                await self._served(name, envoy)

    async def _served(self, name: str, envoy: host.EnvoyProcess) -> None:
        while True:
            try:
                await envoy.live()
            except errors.CrashLoopError as error:
                await self._tell(name, str(error))
                await asyncio.sleep(_RETRY)
            else:
                break
        envoy.mark_ready()
        self._serving.add(name)
        self._tell_bootstrap(name)
        self._controller.set_addresses(name, (self._address,))
        await self._note(name)
        await asyncio.Event().wait()

    async def _tell(self, name: str, text: str) -> None:
        self._controller.set_fleet_problems(name, (FleetProblem(text),))
        await self._note(name)

    async def _note(self, name: str) -> None:
        async with self._turn:
            self._live.add(name)
            self._turn.notify_all()

    async def _start(self, name: str, directory: state.StateDirectory) -> localbootstrap.Start:
        async with self._checking:  # so that two do not take the same port
            written, given = self._written(name), self._given.bootstrap
            held = dict(self._held(name))
            found = await localbootstrap.of_gateway(
                directory, self._xds, name, written, given, held
            )
            self._started[name] = written, found
            return found

    def _held(self, name: str) -> Iterator[tuple[int, str]]:
        """The ports of listeners, and those of the Envoys of other Gateways."""
        for other, (_, start) in self._started.items():
            if start.admin:
                port = int(start.admin.rpartition(":")[2])
                yield port, f"the administration interface of Gateway {other}'s Envoy"
        for fleet in self._controller.fleets:
            for it in self._controller.listeners(fleet):
                yield it.bind_port, f"listener {it.name}"

    def _written(self, name: str) -> OwnBootstrap | None:
        fleet = self._controller.fleets.get(name)
        return fleet.bootstrap if fleet is not None else None

    def _tell_bootstrap(self, name: str) -> None:
        """Reports what is wrong with the bootstrap of an Envoy that serves."""
        written, start = self._started[name]
        now, told = self._written(name), ""
        if start.fault:
            told = f"{start.fault}; its Envoy runs with the usual bootstrap"
        if self._given.bootstrap is not None:
            told = "has no effect beside --bootstrap" if now is not None else ""
        elif now != written:
            told = "its Envoy has another bootstrap than is written, until contour run starts again"
        found = FleetProblem(told, concerns="bootstrap")
        self._controller.set_fleet_problems(name, (found,) if told else ())


def _folder(fleet: str) -> str:
    """A name that no other fleet has, and that every file system takes."""
    name = fleet.replace("/", ".", 1)
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}.{hashlib.sha256(name.encode()).hexdigest()[:16]}"

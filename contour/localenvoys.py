"""The Envoys of this machine: the shared one, and one for each Gateway that has Envoys of its own.

Those of Gateways start, and end, with their Gateway: each in a folder of its own, below `gateways`
in the state directory, supervised as the shared one is. While it serves, its Gateway has an
address. What is wrong with one concerns its Gateway alone, whose status says so.
"""

import asyncio
import hashlib
import logging
import os
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from contour import bootstrap, host
from contour.controller import Controller
from contour.host import errors, installation, state
from dag.fleets import FleetProblem
from dag.listeners import DEFAULT_FLEET
from dag.statuses import Address

log = logging.getLogger(__name__)

FOLDER = "gateways"
_RETRY = 5.0
"""Seconds between two looks at an Envoy that keeps dying."""
_LONGEST_NAME = 200
_REACHED_AT = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Where clients of this machine reach what listens on all its addresses."""


class LocalEnvoys:
    """Used as an asynchronous context, in which `shared` runs if there is one."""

    def __init__(
        self,
        directory: state.StateDirectory,
        xds: Path,
        controller: Controller,
        options: host.EnvoyOptions,
        address: str,
        shared: host.EnvoyProcess | None,
    ) -> None:
        """`xds`: the socket of the control plane; `address`: where all Envoys listen."""
        self._directory = directory
        self._xds = xds
        self._controller = controller
        self._options = options
        self._address = Address("IPAddress", _REACHED_AT.get(address, address))
        self._shared = shared
        self._turned = asyncio.Event()
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._ending: set[str] = set()
        self._live: set[str] = set()
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
        """All take their leave at the same time."""
        self._end(self._lives)
        self._tasks.create_task(self._stack.aclose())
        # Without the error: a task group would wrap it, and it is told by itself.
        await self._tasks.__aexit__(None, None, None)
        self._directory.unmark_ready()

    async def run(self, turned: asyncio.Event) -> None:
        """Has an Envoy for each Gateway that is to have one, until it is cancelled; `turned` is set
        when there are to be other fleets."""
        self._turned = turned
        while True:
            turned.clear()
            wanted = {it for it in self._controller.fleets if it != DEFAULT_FLEET}
            for name in sorted(wanted - self._lives.keys()):
                self._lives[name] = self._tasks.create_task(self._life(name))
            self._end(self._lives.keys() - wanted)
            await turned.wait()

    async def live(self) -> None:
        """Waits until every Envoy that is to be there serves, or its Gateway is told why it does
        not. Raises KeepsDyingError if that is the shared one."""
        if self._shared is not None:
            await self._shared.live()
        async with self._turn:
            await self._turn.wait_for(self._is_live)

    def mark_ready(self) -> None:
        """What was there at the start is served."""
        if self._shared is not None:
            self._shared.mark_ready()
        else:
            self._directory.mark_ready(os.getpid())

    def _end(self, names: Iterable[str]) -> None:
        """Their Envoys drain; to be told so twice would cut that short."""
        for name in set(names) - self._ending:
            self._ending.add(name)
            self._lives[name].cancel()

    def _is_live(self) -> bool:
        return self._controller.fleets.keys() - {DEFAULT_FLEET} <= self._live

    async def _life(self, name: str) -> None:
        """From the beginning of a Gateway to its end."""
        try:
            with state.claimed(self._directory.path / FOLDER / _folder(name)) as directory:
                envoy = host.EnvoyProcess(
                    directory, self._bootstrap(name, directory), self._options
                )
                async with envoy:
                    await self._served(name, envoy)
        except host.Error as error:
            log.error("Gateway %s has no Envoy: %s", name, error)
            await self._tell(name, f"no Envoy can be started for it: {error}")
            await asyncio.Event().wait()
        finally:
            self._live.discard(name)
            self._ending.discard(name)
            del self._lives[name]
            # It may be there again, under the same name.
            self._turned.set()

    async def _served(self, name: str, envoy: host.EnvoyProcess) -> None:
        while True:
            try:
                await envoy.live()
            except errors.KeepsDyingError as error:
                await self._tell(name, str(error))
                await asyncio.sleep(_RETRY)
            else:
                break
        envoy.mark_ready()
        self._controller.set_fleet_problems(name, ())
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

    def _bootstrap(self, name: str, directory: state.StateDirectory) -> str:
        return bootstrap.text(
            bootstrap.Settings(
                node="envoy",
                fleet=name,
                control_plane=bootstrap.Pipe(self._xds),
                admin=directory.socket(host.ADMIN),
            )
        )


def _folder(fleet: str) -> str:
    """A name that no other fleet has, and that every file system takes."""
    name = fleet.replace("/", ".", 1)
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[:_LONGEST_NAME]}.{hashlib.sha256(name.encode()).hexdigest()[:16]}"

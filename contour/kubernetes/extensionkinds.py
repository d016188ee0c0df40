"""Follows the kinds of objects of extensions, while a ContourConfiguration registers them.

Their definitions may be added and removed, and an administrator has to grant the right to read
them: a missing definition or right is reported, and affects only the routes that refer to such
objects. Listed objects stay while a kind can no longer be read, unless it is not served at all.
Objects that this program fails to read have the same effect as a missing right.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from contour.kubernetes import scope
from contour.kubernetes.objects import Objects
from crds.kinds import Kind
from kube.reflector import Reflector

log = logging.getLogger(__name__)

OnFault = Callable[[Kind, str], None]
"""Takes why objects of a kind cannot be read; empty if they can."""
Make = Callable[[scope.Source], Reflector]

PATIENCE: Final = 10.0
"""Seconds that a start may wait for the first list of these kinds."""
_LOOKS: Final = 0.25
"""Seconds between two checks of the collections."""


class _Followed(NamedTuple):
    source: scope.Source
    reflector: Reflector
    task: asyncio.Task[None]


def _nobody(_: Kind, __: str) -> None:
    """Does nothing, where there is no consumer."""


def _nothing() -> None:
    """Does nothing, where there is no consumer."""


class ExtensionKinds:
    """Must be made and used on one event loop."""

    def __init__(
        self,
        within: scope.Scope,
        objects: Objects,
        make: Make,
        changed: Callable[[], None] = _nothing,
    ) -> None:
        """`changed` is called when objects or complaints have gone with a kind."""
        self.on_fault: OnFault = _nobody
        self._within = within
        self._objects = objects
        self._make = make
        self._changed = changed
        self._followed: dict[Kind, list[_Followed]] = {}
        self._faults: dict[Kind, str] = {}

    def follow(self, kinds: Iterable[Kind]) -> None:
        """Follows exactly these kinds from now on."""
        wanted = frozenset(kinds)
        for gone in self._followed.keys() - wanted:
            for it in self._followed.pop(gone):
                it.task.cancel()
                self._objects.trouble(scope.place(it.source), "")
            if all(
                it.kind != gone.kind for it in wanted
            ):  # otherwise it is read in another version
                self._objects.forget(gone)
            self._tell(gone, "")
            self._changed()
        for new in wanted - self._followed.keys():
            self._followed[new] = [*self._begun(new)]

    async def settled(self) -> None:
        """Returns when each is listed or cannot be listed, or when that takes too long."""
        try:
            async with asyncio.timeout(PATIENCE):
                for _, it in self.collections():
                    await it.settled.wait()
        except TimeoutError:
            log.warning("objects of extensions are not listed within %g s", PATIENCE)
        self._look()

    def collections(self) -> Iterator[tuple[scope.Source, Reflector]]:
        """The collections that are followed."""
        for followed in self._followed.values():
            yield from ((it.source, it.reflector) for it in followed)

    async def run(self) -> None:
        """Reports kinds that cannot be read. Never ends."""
        try:
            while True:
                self._look()
                await asyncio.sleep(_LOOKS)
        finally:
            self.follow(())

    def _begun(self, kind: Kind) -> Iterator[_Followed]:
        for source in scope.sources(self._within, (kind,)):
            reflector = self._make(source)
            task = asyncio.get_running_loop().create_task(reflector.run())
            task.add_done_callback(_log_error)
            yield _Followed(source, reflector, task)

    def _look(self) -> None:
        for kind, followed in self._followed.items():
            found = dict.fromkeys(it for it in map(_fault, followed) if it)
            self._tell(kind, "; ".join(found))

    def _tell(self, kind: Kind, fault: str) -> None:
        if fault != self._faults.get(kind, ""):
            if fault:
                self._faults[kind] = fault
            else:
                del self._faults[kind]
            self.on_fault(kind, fault)


def _fault(of: _Followed) -> str:
    if of.task.done():
        return "reading them has failed, because of an error that the log has"
    state = of.reflector.state
    return state.reason if state.phase == "absent" else state.trouble


def _log_error(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("reading objects of extensions has failed", exc_info=error)

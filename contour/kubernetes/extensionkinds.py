"""Follows the kinds of objects that extensions bring, while a ContourConfiguration registers them.

Their definitions come and go, and the right to read them is an administrator's to give: what is
lacking is told, and concerns only who refers to such objects. What was listed stays while a kind
cannot be read any more, unless it is not served at all.
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
"""Seconds between two looks at how the collections are doing."""


class _Followed(NamedTuple):
    reflector: Reflector
    task: asyncio.Task[None]


def _nobody(_: Kind, __: str) -> None:
    """Nobody has to know."""


class ExtensionKinds:
    """Must be made and used on one event loop."""

    def __init__(self, within: scope.Scope, objects: Objects, make: Make) -> None:
        self.on_fault: OnFault = _nobody
        self._within = within
        self._objects = objects
        self._make = make
        self._followed: dict[Kind, list[_Followed]] = {}
        self._faults: dict[Kind, str] = {}

    def follow(self, kinds: Iterable[Kind]) -> None:
        """These are the kinds from now on."""
        wanted = frozenset(kinds)
        for gone in self._followed.keys() - wanted:
            for it in self._followed.pop(gone):
                it.task.cancel()
            if all(it.kind != gone.kind for it in wanted):  # else it is read in another version
                self._objects.forget(gone)
            self._tell(gone, "")
        for new in wanted - self._followed.keys():
            self._followed[new] = [*self._begun(new)]

    async def settled(self) -> None:
        """Returns when all are listed, or cannot be; or when that takes too long."""
        try:
            async with asyncio.timeout(PATIENCE):
                for it in self._reflectors():
                    await it.settled.wait()
        except TimeoutError:
            log.warning("objects of extensions are not listed within %g s", PATIENCE)
        self._look()

    async def run(self) -> None:
        """Tells of what is lacking. Never ends."""
        try:
            while True:
                self._look()
                await asyncio.sleep(_LOOKS)
        finally:
            self.follow(())

    def _begun(self, kind: Kind) -> Iterator[_Followed]:
        for source in scope.sources(self._within, (kind,)):
            reflector = self._make(source)
            yield _Followed(reflector, asyncio.get_running_loop().create_task(reflector.run()))

    def _reflectors(self) -> Iterator[Reflector]:
        for followed in self._followed.values():
            yield from (it.reflector for it in followed)

    def _look(self) -> None:
        for kind, followed in self._followed.items():
            found = dict.fromkeys(filter(None, (_fault(it.reflector) for it in followed)))
            self._tell(kind, "; ".join(found))

    def _tell(self, kind: Kind, fault: str) -> None:
        if fault != self._faults.get(kind, ""):
            self._faults[kind] = fault
            self.on_fault(kind, fault)


def _fault(of: Reflector) -> str:
    return of.state.reason if of.state.phase == "absent" else of.state.trouble

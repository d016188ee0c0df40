"""The rows of what Envoys refuse of objects. The parts of one object may be served by several
fleets; its rows are made of what the Envoys of all of these report."""

from collections import Counter, defaultdict
from collections.abc import Collection
from typing import NamedTuple

from crds.meta import ObjectRef
from dag import refusals, releases
from dag.engine.incremental import Engine


class RefusedByFleet(NamedTuple):
    """What the Envoys of one fleet refuse of an object."""

    words: frozenset[str]
    """Envoy's messages."""
    by: Counter[str]
    """How many Envoys refuse something of it, by release."""
    envoys: int
    """How many Envoys of the fleet are connected."""


class RefusedObjects:
    """What is refused of each object, by fleet."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        """Where the rows are written."""
        self._found: defaultdict[ObjectRef, dict[str, RefusedByFleet]] = defaultdict(dict)

    def write(self, fleet: str, origin: ObjectRef, refused: RefusedByFleet) -> None:
        """Writes the rows of an object after what a fleet refuses of it has changed."""
        found = self._found[origin]
        if refused.words:
            found[fleet] = refused
        else:
            found.pop(fleet, None)
        if not found:
            del self._found[origin]
        words = frozenset[str]().union(*(it.words for it in found.values()))
        self.engine.write(refusals.REFUSERS, origin, _refusers(found.values()))
        self.engine.write(refusals.REFUSALS, origin, tuple(sorted(words)) or None)


def _refusers(found: Collection[RefusedByFleet]) -> tuple[releases.Counted, int] | None:
    """The Envoys that refuse something, by release, and how many there are in these fleets; None
    if all of them refuse it, or no Envoy is connected."""
    by = sum((it.by for it in found), Counter[str]())
    connected = sum(it.envoys for it in found)
    return (tuple(sorted(by.items())), connected) if 0 < by.total() < connected else None

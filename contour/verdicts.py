"""What Envoys say of a fleet's configuration, as rows of the graph, so that statuses tell it.

The xDS server calls in the middle of things; so the calls are only noted here, and the graph
settles soon after. An object's row holds Envoy's words about each of its parts that is refused,
and goes when the last of them has recovered.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from contour.xds.resources import LISTENER, Name
from crds.meta import ObjectRef
from dag import refusals
from dag.incremental import Engine

Place = tuple[Name, str]


@dataclass(slots=True)
class Verdicts:
    """Those of one fleet; a witness for `contour.xds.fleet`."""

    fleet: str
    engine: Engine
    settle_soon: Callable[[], None]
    is_accepted: Callable[[Name], bool]
    _refused: dict[Place, tuple[tuple[ObjectRef, ...], str]] = field(default_factory=dict)
    _of: dict[ObjectRef, set[Place]] = field(default_factory=dict)
    _pending: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.engine.write(refusals.ENVOYS, self.fleet, 0)

    def refused(self, name: Name, part: str, origins: tuple[ObjectRef, ...], words: str) -> None:
        """An Envoy refuses a part; what was accepted last keeps serving."""
        self._forget((name, part))
        self._refused[name, part] = origins, words
        for origin in origins:
            self._of.setdefault(origin, set()).add((name, part))
            self._write(origin)
        self.settle_soon()

    def recovered(self, name: Name, part: str) -> None:
        """A part that was refused has been accepted in a newer version."""
        self._forget((name, part))
        self.settle_soon()

    def changed(self, name: Name) -> None:
        """A listener is on its way, or has been accepted; nobody's status tells of the others."""
        if name.type_url != LISTENER:
            return
        (self._pending.discard if self.is_accepted(name) else self._pending.add)(name.name)
        pending = tuple(sorted(self._pending)) or None
        self.engine.write(refusals.PENDING, self.fleet, pending)
        self.settle_soon()

    def connected(self, envoys: int) -> None:
        """So many Envoys are connected."""
        self.engine.write(refusals.ENVOYS, self.fleet, envoys)
        self.settle_soon()

    def _forget(self, place: Place) -> None:
        origins, _ = self._refused.pop(place, ((), ""))
        for origin in origins:
            self._of[origin].discard(place)
            self._write(origin)

    def _write(self, origin: ObjectRef) -> None:
        words = sorted({self._refused[place][1] for place in self._of[origin]})
        if not words:
            del self._of[origin]
        self.engine.write(refusals.REFUSALS, origin, tuple(words) or None)

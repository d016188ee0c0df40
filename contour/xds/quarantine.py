"""Parts that Envoy refuses: kept out of what is served until they change.

The part that was accepted last stays, also for Envoys that connect later. Where none ever was, a
stand-in (if there is one) keeps others from taking its place. What some Envoys accept is served on
to them; those that refuse it (an older build, say) keep what they have. The search for the part to
blame is in `bisection`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from contour.xds.resources import Change, Name, Origin, Part, PartKey, Resource, is_same

StandIn = Callable[[Name, str], Part | None]
"""What is served of a part that is refused, where none was ever accepted; perhaps nothing."""


def _nothing(_: Name, __: str) -> Part | None:
    return None


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was refused, and the words it was refused with."""

    part: Part | None
    words: str
    is_partial: bool = False  # others have accepted it and go on with it
    is_whole: bool = False  # it stands for its resource, of which nothing more is known
    stand_in: Part | None = None  # what is served where nothing was accepted before it
    origins: tuple[Origin, ...] = ()  # who is told, if not all that the part and its users are of

    def is_met_by(self, served: Part | None) -> bool:
        """Whether nothing of the part is served, or no more than what stands in for it."""
        return served is None or (self.stand_in is not None and is_same(served, self.stand_in))


def _is_below(part: Part | None, above: Part | None) -> bool:
    """Whether a part is served in the place of another one where that is refused."""
    while above is not None and (above := above.without) is not None:
        if is_same(part, above):
            return True
    return False


class Quarantine:
    """The refused parts of one fleet."""

    def __init__(self) -> None:
        self.stand_in: StandIn = _nothing
        self._refused: defaultdict[Name, dict[str, Refusal]] = defaultdict(dict)
        self._released: defaultdict[Name, set[str]] = defaultdict(set)  # changed, not yet accepted

    def __iter__(self) -> Iterator[tuple[Name, str, Refusal]]:
        for name, parts in self._refused.items():
            for part, refusal in parts.items():
                yield name, part, refusal

    def refusal(self, name: Name, part: str) -> Refusal | None:
        return self._refused[name].get(part) if name in self._refused else None

    def refused(self, name: Name) -> dict[str, Part | None]:
        """The refused parts of a resource, as they were published."""
        found = self._refused.get(name, {})
        return {part: it.part for part, it in found.items() if not it.is_whole}

    def lacking(self, name: Name, resource: Resource | None) -> str:
        """The words about a refused part of which nothing is served; empty if there is none."""
        refused = self._refused.get(name, {})
        parts = resource.parts if resource else {}
        found = ((it, parts.get(part)) for part, it in refused.items() if part)
        return next((it.words for it, served in found if it.is_met_by(served)), "")

    def admitted(self, changes: Iterable[Change]) -> Iterator[Change]:
        """The changes without those that would serve again what was refused."""
        for change in changes:
            refused = self._refused.get(change.name)
            if refused:
                refusal = refused.get(change.part)
                if refusal is not None and is_same(refusal.part, change.value):
                    if (below := self._changed_below(refusal, change)) is not None:
                        yield change._replace(value=below)
                    continue
                self._release(change, refused)
            yield change

    def _changed_below(self, refusal: Refusal, change: Change) -> Part | None:
        """What is served without what is refused, if that is different now."""
        was, now = refusal.part and refusal.part.without, change.value and change.value.without
        if now is None or is_same(was, now):
            return None
        self._refused[change.name][change.part] = replace(refusal, part=change.value)
        return now

    def add(self, name: Name, part: str, refusal: Refusal) -> None:
        """Of a part that says what is served without it, its own origins are told: nobody else
        loses anything. Where that is refused as well, the refusal is of what was above it, too."""
        if refusal.part is not None and refusal.part.without is not None:
            refusal = replace(refusal, origins=refusal.part.origins)
        above = self.refusal(name, part)
        if above is not None and _is_below(refusal.part, above.part):
            words = "; ".join(dict.fromkeys((above.words, refusal.words)))
            origins = tuple(sorted({*above.origins, *refusal.origins})) if refusal.origins else ()
            refusal = replace(refusal, part=above.part, words=words, origins=origins)
        self._refused[name][part] = refusal
        self._released[name].discard(part)

    def remove(self, name: Name, part: str) -> None:
        """Nobody refuses the part any more."""
        refused = self._refused[name]
        refused.pop(part, None)
        if not refused:
            del self._refused[name]

    def recovered(
        self, names: Iterable[Name], is_good: Callable[[Name, str], bool]
    ) -> list[PartKey]:
        """The parts whose change was accepted, which had been refused before it."""
        if not self._released:
            return []
        found = [(it, part) for it in names for part in self._released.get(it, ())]
        good = [it for it in found if is_good(*it)]
        for name, part in good:
            self._released[name].discard(part)
        for name in [it for it, parts in self._released.items() if not parts]:
            del self._released[name]
        return good

    @property
    def has_released(self) -> bool:
        """Whether any part has changed since it was refused, and was not accepted since."""
        return bool(self._released)

    def released(self) -> list[PartKey]:
        """The parts that have changed since they were refused, and were not accepted since."""
        return [(name, part) for name, parts in self._released.items() for part in parts]

    def _release(self, change: Change, refused: dict[str, Refusal]) -> None:
        wholes = [part for part, it in refused.items() if it.is_whole]
        for part in {change.part, *wholes} & refused.keys():
            self._released[change.name].add(part)
            self.remove(change.name, part)

"""Parts that Envoy refuses, which are not served until they change.

The value that was accepted last stays, also for Envoys that connect later. If none was ever
accepted, a stand-in (if there is one) keeps other parts from taking its requests. Envoys that
accept a part are still served it; those that refuse it (such as older releases) keep what they
have. Elsewhere: the search for the part to blame (`bisection`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from contour.xds.resources import Change, Name, Origin, Part, PartKey, Resource, is_same

StandIn = Callable[[Name, str], Part | None]
"""What is served instead of a refused part of which no value was ever accepted; None: nothing."""


def _nothing(_: Name, __: str) -> Part | None:
    return None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused part, and the message of the refusal."""

    part: Part | None
    words: str
    is_partial: bool = False  # others have accepted it and keep it, or it was removed
    is_whole: bool = False  # it stands for its whole resource, since the part is not known
    stand_in: Part | None = None  # what is served if no value was ever accepted
    origins: tuple[
        Origin, ...
    ] = ()  # whose statuses show it, if not those of the part and its users

    def is_met_by(self, served: Part | None) -> bool:
        """Whether nothing is served for the part, or only its stand-in."""
        return served is None or (self.stand_in is not None and is_same(served, self.stand_in))


def _is_below(part: Part | None, above: Part | None) -> bool:
    """Whether a part is one of the replacements for another one that is refused."""
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
        """The message about a refused part for which nothing is served; empty if there is none."""
        refused = self._refused.get(name, {})
        parts = resource.parts if resource else {}
        found = ((it, parts.get(part)) for part, it in refused.items() if part)
        return next((it.words for it, served in found if it.is_met_by(served)), "")

    def admitted(self, changes: Iterable[Change]) -> Iterator[Change]:
        """The changes without those that would publish a refused value again."""
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
        """The replacement of a refused part, if it has changed."""
        was, now = refusal.part and refusal.part.without, change.value and change.value.without
        if now is None or is_same(was, now):
            return None
        self._refused[change.name][change.part] = replace(refusal, part=change.value)
        return now

    def add(self, name: Name, part: str, refusal: Refusal) -> None:
        """Adds a refusal. If the part names its replacement, only its own origins show the refusal,
        because nothing else is lost. If the replacement is refused, too, the refusal also covers
        the parts above it."""
        if refusal.part is not None and refusal.part.without is not None:
            refusal = replace(refusal, origins=refusal.part.origins)
        above = self.refusal(name, part)
        if above is not None and _is_below(refusal.part, above.part):
            words = "; ".join(dict.fromkeys((above.words, refusal.words)))
            origins = tuple(sorted({*above.origins, *refusal.origins})) if refusal.origins else ()
            refusal = replace(refusal, part=above.part, words=words, origins=origins)
        self._refused[name][part] = refusal
        self._released[name].discard(part)

    def lift(self, name: Name) -> list[Change]:
        """Lets the refused parts of a resource pass once more; returns them as published."""
        refused = self._refused.pop(name, {})
        for part in refused:
            self._released[name].add(part)
        return [Change(name, part, it.part) for part, it in refused.items() if it.part]

    def remove(self, name: Name, part: str) -> None:
        """Removes a refusal."""
        refused = self._refused[name]
        refused.pop(part, None)
        if not refused:
            del self._refused[name]

    def lose(self, name: Name) -> list[str]:
        """A resource is not served any more. Removes the refusals of parts that others had
        accepted: nobody has them now. Returns these parts."""
        lost = [part for part, it in self._refused.get(name, {}).items() if it.is_partial]
        for part in lost:
            self.remove(name, part)
        return lost

    def recovered(
        self, names: Iterable[Name], is_good: Callable[[Name, str], bool]
    ) -> list[PartKey]:
        """The parts that were refused before they changed, and are accepted now."""
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
        """Whether any part has changed since its refusal, without being accepted yet."""
        return bool(self._released)

    def released(self) -> list[PartKey]:
        """The parts that have changed since their refusal, and are not accepted yet."""
        return [(name, part) for name, parts in self._released.items() for part in parts]

    def _release(self, change: Change, refused: dict[str, Refusal]) -> None:
        wholes = [part for part, it in refused.items() if it.is_whole]
        for part in {change.part, *wholes} & refused.keys():
            self._released[change.name].add(part)
            self.remove(change.name, part)

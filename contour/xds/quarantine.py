"""Parts that Envoy refuses: kept out of what is served until they change.

The part that was accepted last stays, also for Envoys that connect later. What some Envoys accept
is served on to them; those that refuse it (an older build, say) keep what they have. The search
for the part to blame is in `narrowing`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from contour.xds.resources import Change, Name, Part, is_same
from contour.xds.store import User


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was refused, and the words it was refused with."""

    part: Part
    words: str


class Quarantine:
    """The refused parts of one fleet."""

    def __init__(self) -> None:
        self.refusals: dict[User, Refusal] = {}
        self._released: dict[User, Refusal] = {}  # replaced, but nothing was accepted since

    def admitted(self, changes: Iterable[Change]) -> Iterator[Change]:
        """The changes without those that would serve again what was refused."""
        for change in changes:
            user = (change.name, change.part)
            refusal = self.refusals.get(user)
            if refusal is not None and is_same(refusal.part, change.value):
                continue
            if refusal is not None:
                self._released[user] = self.refusals.pop(user)
            yield change

    def add(self, name: Name, part: str, refusal: Refusal) -> None:
        self.refusals[name, part] = refusal
        self._released.pop((name, part), None)

    def has_recovered(self, name: Name, part: str) -> bool:
        """Whether what was just accepted replaces something that was refused."""
        return self._released.pop((name, part), None) is not None

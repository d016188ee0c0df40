"""Which Envoys have accepted what: the truth behind `Programmed`.

An Envoy has accepted the newest state of a part unless something of it is still to be sent,
unanswered, held back or refused. So only exceptions are kept, and one change costs one entry per
Envoy that was asked. Who wants to know is told the names; the answer is given when it is asked
for.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from contour.xds.quarantine import Quarantine
from contour.xds.resources import Name, Resource
from contour.xds.subscription import Subscription
from crds.meta import ObjectRef

if TYPE_CHECKING:
    from contour.xds.fleet import Fleet

NO_RELEASES: Mapping[str, int] = MappingProxyType({})


class State(Enum):
    """What the Envoys of a fleet make of one part."""

    UNSEEN = "unseen"  # no Envoy is connected that asked for it
    PENDING = "pending"
    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Answer:
    """The state of one part, of how many Envoys, and the words of a refusal."""

    state: State
    asked: int = 0
    pending: int = 0
    words: str = ""


class Witness(Protocol):
    """Who is told what Envoys say. Calls come in the middle of things: note them, act later."""

    def refused(
        self,
        name: Name,
        part: str,
        origins: tuple[ObjectRef, ...],
        words: str,
        by: Mapping[str, int] = NO_RELEASES,
    ) -> None:
        """A part is refused, by Envoys of these releases if others have it, else for all."""

    def recovered(self, name: Name, part: str) -> None: ...

    def changed(self, name: Name) -> None:
        """The answer about parts of this resource may be another one now, or the resource is."""

    def connected(self, envoys: int, releases: Mapping[str, int] = NO_RELEASES) -> None:
        """So many Envoys are connected that take listeners, of these releases; "": unknown."""


class Nobody:
    """A witness that does not care."""

    def refused(
        self,
        name: Name,
        part: str,
        origins: tuple[ObjectRef, ...],
        words: str,
        by: Mapping[str, int] = NO_RELEASES,
    ) -> None: ...

    def recovered(self, name: Name, part: str) -> None: ...

    def changed(self, name: Name) -> None: ...

    def connected(self, envoys: int, releases: Mapping[str, int] = NO_RELEASES) -> None: ...


class Acceptance:
    """What is not accepted yet in one fleet, by whom."""

    def __init__(self, fleet: "Fleet", quarantine: Quarantine) -> None:
        self._fleet = fleet
        self._quarantine = quarantine
        self.pending: defaultdict[Name, set[Subscription]] = defaultdict(set)

    def expect(self, by: Subscription, name: str) -> None:
        """Something of a resource is on its way to a stream."""
        key = Name(by.type_url, name)
        pending = self.pending[key]
        if not pending:
            self._fleet.witness.changed(key)
        pending.add(by)

    def settled(self, by: Subscription, name: str) -> None:
        """Nothing of a resource is pending on a stream."""
        key = Name(by.type_url, name)
        pending = self.pending.get(key)
        if pending is None:
            return
        pending.discard(by)
        if not pending:
            del self.pending[key]
            self._fleet.witness.changed(key)

    def closed(self, by: Subscription) -> None:
        """A stream has ended: nothing is expected of it any more."""
        for key in [it for it, pending in self.pending.items() if by in pending]:
            self.settled(by, key.name)

    def answer(self, name: Name, part: str) -> Answer:
        """What the connected Envoys say of the newest state of a part."""
        refusal = self._quarantine.refusal(name, part)
        asked = list(self._fleet.interested(name))
        if refusal is not None:
            return Answer(State.REFUSED, len(asked), words=refusal.words)
        if not asked:
            return Answer(State.UNSEEN)
        pending = sum(not it.is_current(name.name, part) for it in self.pending.get(name, ()))
        return Answer(State.PENDING if pending else State.ACCEPTED, len(asked), pending)

    def names(self, type_url: str) -> Iterable[str]:
        """What was published of a type, also if it is refused as a whole."""
        refused = {name.name for name, _, _ in self._quarantine if name.type_url == type_url}
        return refused.union(self._fleet.store.types[type_url])

    def version(self, name: Name) -> str | None:
        """The version of what was published, refused parts included; None if nothing was.

        Equal on all replicas, whatever the Envoys of each have refused.
        """
        refused = self._quarantine.refused(name)
        resource = self._fleet.store.resource(name)
        if resource is None and not any(refused.values()):
            return None
        return (resource or Resource(name)).version(refused)

    def digest(self, name: Name, part: str) -> str:
        """The content of a part as it was published, also if it is refused; empty if it is not."""
        refused = self._quarantine.refused(name)
        resource = self._fleet.store.resource(name)
        found = refused[part] if part in refused else resource and resource.parts.get(part)
        return found.digest.hex() if found else ""

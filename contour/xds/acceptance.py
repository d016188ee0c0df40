"""Which Envoys have accepted what: the truth behind `Programmed`.

An Envoy has accepted the newest state of a part unless something of it is still to be sent,
unanswered, held back or refused. So only exceptions are kept, and one change costs one entry per
Envoy that was asked. The observer is told the names; the answer is given when it is asked for.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from contour.xds.interest import Interest
from contour.xds.quarantine import Quarantine
from contour.xds.resources import Name, Part, Resource, is_same
from contour.xds.state import Baseline
from contour.xds.store import Store
from contour.xds.subscription import Subscription


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


class Acceptance:
    """What is not accepted yet in one fleet, by whom. The names that methods return are those of
    which the answer may be another one now."""

    def __init__(self, store: Store, quarantine: Quarantine, interest: Interest) -> None:
        self._store = store
        self._quarantine = quarantine
        self._interest = interest
        self.pending: defaultdict[Name, set[Subscription]] = defaultdict(set)
        # The Envoy that noted it had the newest of these already; accepted with the next answer.
        self._unchanged: list[tuple[Name, str, Part | None]] = []

    def expect(self, by: Subscription, name: str) -> list[Name]:
        """Something of a resource is on its way to a stream."""
        key = Name(by.type_url, name)
        pending = self.pending[key]
        is_first = not pending
        pending.add(by)
        return [key] if is_first else []

    def settled(self, by: Subscription, name: str) -> list[Name]:
        """All of a resource that was pending on a stream was accepted, or is refused for good."""
        key = Name(by.type_url, name)
        if not by.is_held_whole(name):
            for part in self._store.last_accepted.get(key, ()):
                if part not in by.overrides_of(name):
                    self.unchanged(key, part)
        return self.dropped(by, name)

    def dropped(self, by: Subscription, name: str) -> list[Name]:
        """Nothing of a resource is pending on a stream, for whatever reason."""
        key = Name(by.type_url, name)
        pending = self.pending.get(key)
        if pending is None:
            return []
        pending.discard(by)
        if pending:
            return []
        del self.pending[key]
        return [key]

    def unchanged(self, name: Name, part: str) -> None:
        """An Envoy has the part as it is now."""
        resource = self._store.resource(name)
        self._unchanged.append((name, part, resource.parts.get(part) if resource else None))

    def accepted(self, by: Subscription, before: Mapping[str, Baseline]) -> None:
        """An Envoy has accepted what a response brought."""
        self._accept_unchanged()
        for it, had in before.items():
            name = Name(by.type_url, it)
            for part in list(self._store.last_accepted.get(name, ())):
                if (had.is_unknown or had.tells(part)) and by.is_current(it, part):
                    self._store.mark_accepted(name, part)

    def closed(self, by: Subscription) -> list[Name]:
        """A stream has ended: nothing is expected of it any more."""
        pending = [it for it, them in self.pending.items() if by in them]
        return [name for it in pending for name in self.dropped(by, it.name)]

    def _accept_unchanged(self) -> None:
        unchanged, self._unchanged = self._unchanged, []
        for name, part, accepted in unchanged:
            resource = self._store.resource(name)
            newest = resource.parts.get(part) if resource else None
            if part in self._store.last_accepted.get(name, ()) and is_same(newest, accepted):
                self._store.mark_accepted(name, part)

    def answer(self, name: Name, part: str) -> Answer:
        """What the connected Envoys say of the newest state of a part."""
        refusal = self._quarantine.refusal(name, part)
        asked = list(self._interest.of(name))
        if refusal is not None:
            return Answer(State.REFUSED, len(asked), words=refusal.words)
        if not asked:
            return Answer(State.UNSEEN)
        pending = sum(not it.is_current(name.name, part) for it in self.pending.get(name, ()))
        return Answer(State.PENDING if pending else State.ACCEPTED, len(asked), pending)

    def names(self, type_url: str) -> Iterable[str]:
        """What was published of a type, also if it is refused as a whole."""
        refused = {name.name for name, _, _ in self._quarantine if name.type_url == type_url}
        return refused.union(self._store.types[type_url])

    def version(self, name: Name) -> str | None:
        """The version of what was published, refused parts included; None if nothing was.

        Equal on all replicas, whatever the Envoys of each have refused.
        """
        refused = self._quarantine.refused(name)
        resource = self._store.resource(name)
        if resource is None and not any(refused.values()):
            return None
        return (resource or Resource(name)).version(refused)

    def digest(self, name: Name, part: str) -> str:
        """The content of a part as it was published, also if it is refused; empty if it is not."""
        refused = self._quarantine.refused(name)
        resource = self._store.resource(name)
        found = refused[part] if part in refused else resource and resource.parts.get(part)
        return found.digest.hex() if found else ""

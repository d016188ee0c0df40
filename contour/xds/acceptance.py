"""Which Envoys have accepted what: the basis of the condition `Programmed`.

An Envoy has accepted the newest state of a part unless something of it is still to be sent,
unanswered, held back or refused. So only exceptions are stored, and a change costs one entry for
each Envoy that subscribes to it. Resources that are pending on the same streams share one set of
these. The observer is notified with names, and asks for their state when it needs it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from contour.xds.interest import Interest
from contour.xds.quarantine import Quarantine
from contour.xds.resources import Name, Part, Resource, is_same
from contour.xds.state import Baseline
from contour.xds.store import Store
from contour.xds.subscription import Subscription


class State(Enum):
    """The state of one part on the Envoys of a fleet."""

    UNSEEN = "unseen"  # no connected Envoy subscribes to it
    PENDING = "pending"
    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Answer:
    """The state of one part, on how many Envoys, and the message of a refusal."""

    state: State
    asked: int = 0
    pending: int = 0
    words: str = ""


class Acceptance:
    """What is not accepted yet in one fleet, and by which streams. Methods return the names whose
    answer may have changed."""

    def __init__(self, store: Store, quarantine: Quarantine, interest: Interest) -> None:
        self._store = store
        self._quarantine = quarantine
        self._interest = interest
        # The streams on which a resource is pending, by type and name.
        self._pending: defaultdict[str, dict[str, frozenset[Subscription]]] = defaultdict(dict)
        # The noting Envoy already had the newest state of these; it counts as accepted with the
        # next answer.
        self._unchanged: list[tuple[Name, str, Part | None]] = []

    @property
    def is_settled(self) -> bool:
        """Whether nothing is pending on any stream."""
        return not any(self._pending.values())

    def is_pending(self, name: Name) -> bool:
        """Whether something of a resource is pending on any stream."""
        return name.name in self._pending[name.type_url]

    def pending_parts(self, name: Name) -> set[str]:
        """The parts of a resource that are pending on some stream."""
        streams = self._pending[name.type_url].get(name.name, ())
        return {part for it in streams for part in it.pending_parts(name.name)}

    def expect(self, by: Subscription, names: Collection[str]) -> list[str]:
        """Something of these resources is on its way to a stream."""
        pending = self._pending[by.type_url]
        first = [it for it in names if it not in pending]
        if len(first) < len(names):
            joined: dict[frozenset[Subscription], frozenset[Subscription]] = {}
            for name in names:
                streams = pending.get(name)
                if streams is not None and by not in streams:
                    if streams not in joined:
                        joined[streams] = streams | {by}
                    pending[name] = joined[streams]
        pending.update(dict.fromkeys(first, frozenset((by,))))
        return first

    def settled(self, by: Subscription, names: Collection[str]) -> list[str]:
        """Everything of these resources that was pending on a stream was accepted, or is refused
        for good."""
        for key in self._unaccepted(by.type_url, names):
            if not by.is_held_whole(key.name):
                for part in self._store.last_accepted[key]:
                    if part not in by.overrides_of(key.name):
                        self.unchanged(key, part)
        return self.dropped(by, names)

    def dropped(self, by: Subscription, names: Iterable[str]) -> list[str]:
        """Nothing of these resources is pending on a stream, for whatever reason."""
        pending = self._pending[by.type_url]
        left: dict[frozenset[Subscription], frozenset[Subscription]] = {}
        done: list[str] = []
        for name in names:
            streams = pending.get(name)
            if streams is None or by not in streams:
                continue
            others = left.get(streams)
            if others is None:
                others = left[streams] = streams - {by}
            if others:
                pending[name] = others
            else:
                del pending[name]
                done.append(name)
        return done

    def _unaccepted(self, type_url: str, names: Collection[str]) -> list[Name]:
        """Those of these resources that have a part which no Envoy has accepted yet."""
        last = self._store.last_accepted
        if not last:
            return []
        if len(last) < len(names):
            wanted = set(names)
            return [it for it in last if it.type_url == type_url and it.name in wanted]
        return [it for it in (Name(type_url, name) for name in names) if it in last]

    def unchanged(self, name: Name, part: str) -> None:
        """An Envoy has the present value of a part."""
        resource = self._store.resource(name)
        self._unchanged.append((name, part, resource.parts.get(part) if resource else None))

    def accepted(self, by: Subscription, before: Mapping[str, Baseline]) -> None:
        """An Envoy has accepted the content of a response."""
        self._accept_unchanged()
        for name in self._unaccepted(by.type_url, before):
            had = before[name.name]
            for part in list(self._store.last_accepted[name]):
                if (had.is_unknown or had.tells(part)) and by.is_current(name.name, part):
                    self._store.mark_accepted(name, part)

    def closed(self, by: Subscription) -> list[str]:
        """A stream has ended: nothing is expected of it any more."""
        return self.dropped(by, list(self._pending[by.type_url]))

    def _accept_unchanged(self) -> None:
        unchanged, self._unchanged = self._unchanged, []
        for name, part, accepted in unchanged:
            resource = self._store.resource(name)
            newest = resource.parts.get(part) if resource else None
            if part in self._store.last_accepted.get(name, ()) and is_same(newest, accepted):
                self._store.mark_accepted(name, part)

    def answer(self, name: Name, part: str) -> Answer:
        """The state of a part on the connected Envoys, for its newest value."""
        refusal = self._quarantine.refusal(name, part)
        asked = list(self._interest.of(name))
        if refusal is not None:
            return Answer(State.REFUSED, len(asked), words=refusal.words)
        if not asked:
            return Answer(State.UNSEEN)
        streams = self._pending[name.type_url].get(name.name, ())
        pending = sum(not it.is_current(name.name, part) for it in streams)
        return Answer(State.PENDING if pending else State.ACCEPTED, len(asked), pending)

    def names(self, type_url: str) -> Iterable[str]:
        """The published resources of a type, including refused ones."""
        refused = {name.name for name, _, _ in self._quarantine if name.type_url == type_url}
        return refused.union(self._store.types[type_url])

    def parts(self, name: Name) -> set[str]:
        """The published parts of a resource, including refused ones."""
        resource, refused = self._store.resource(name), self._quarantine.refused(name)
        there = {part for part, it in refused.items() if it is not None}
        return there.union(resource.parts if resource else ())

    def version(self, name: Name) -> str | None:
        """The version of what was published, including refused parts; None if nothing was.

        It is equal on all replicas, whatever the Envoys of each have refused.
        """
        refused = self._quarantine.refused(name)
        resource = self._store.resource(name)
        if resource is None and not any(refused.values()):
            return None
        return (resource or Resource(name)).version(refused)

    def digest(self, name: Name, part: str) -> str:
        """The content of a part as it was published, even if it is refused; empty if it was not
        published."""
        refused = self._quarantine.refused(name)
        resource = self._store.resource(name)
        found = refused[part] if part in refused else resource and resource.parts.get(part)
        return found.digest.hex() if found else ""

"""One truth of what the Envoys of all replicas say of a fleet, as rows that statuses are made of.

The xDS server calls in the middle of things; so the calls are only noted here, and the graph
settles soon after. An object's row holds Envoy's words about each of its parts that is refused on
any replica, and goes when the last of them has recovered.

Replicas are not equally far at every moment. A listener is pending until every replica with
Envoys has got the version accepted that *we* serve: one that is behind, or ahead, is not done.
A refusal holds once we serve, or have served since it was told, the very part that was refused,
and until its replica takes it back: what is told of a newer version than ours waits for it.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from contour.verdicts.testimony import Listening, News, Place, Refusal, Testimony
from contour.xds.acceptance import NO_RELEASES
from contour.xds.resources import LISTENER, Name
from crds.meta import ObjectRef
from dag import refusals, releases
from dag.engine.incremental import Engine

OWN = ""
"""The source of what our own Envoys say; other replicas have names."""


class Standing(Protocol):
    """What we publish ourselves; `contour.xds.acceptance`."""

    def names(self, type_url: str) -> Iterable[str]: ...

    def version(self, name: Name) -> str | None: ...

    def digest(self, name: Name, part: str) -> str: ...


@dataclass(slots=True)
class Verdicts:
    """Those of one fleet; a witness for `contour.xds.fleet`."""

    fleet: str
    engine: Engine
    settle_soon: Callable[[], None]
    is_accepted: Callable[[Name], bool]
    standing: Standing | None = None  # needed where there are other replicas
    tell: Callable[[News], None] = lambda _: None  # of what our own Envoys say
    _said: dict[str, Testimony] = field(default_factory=lambda: {OWN: Testimony()})
    _of: defaultdict[ObjectRef, set[tuple[str, Place]]] = field(
        default_factory=lambda: defaultdict(set)
    )
    # Refused by others, of something newer than what we serve.
    _early: defaultdict[Name, set[tuple[str, str]]] = field(
        default_factory=lambda: defaultdict(set)
    )
    _pending: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.engine.write(refusals.ENVOYS, self.fleet, 0)

    @property
    def own(self) -> Testimony:
        """What our own Envoys say."""
        return self._said[OWN]

    @property
    def replicas(self) -> dict[str, Testimony]:
        """What the Envoys of the others say, by replica."""
        return {source: said for source, said in self._said.items() if source != OWN}

    def refused(
        self,
        name: Name,
        part: str,
        origins: tuple[ObjectRef, ...],
        words: str,
        by: Mapping[str, int] = NO_RELEASES,
    ) -> None:
        """Envoys of ours refuse a part; what was accepted last keeps serving. `by`: their releases,
        if others have it."""
        digest = self.standing.digest(name, part) if self.standing else ""
        refusal = Refusal(origins, words, digest, tuple(sorted(by.items())))
        self._say(News(refusals={(name, part): refusal}))

    def recovered(self, name: Name, part: str) -> None:
        """A part that was refused has been accepted in a newer version."""
        self._say(News(refusals={(name, part): None}))

    def changed(self, name: Name) -> None:
        """A resource is another one now, is on its way, or has been accepted."""
        if name in self._early:
            self._meet(name)
        if name.type_url == LISTENER:
            self._say(News(listeners={name.name: self._listening(name)}))

    def connected(self, envoys: int, releases: Mapping[str, int] = NO_RELEASES) -> None:
        """So many Envoys of ours take listeners; they may have had some before they came."""
        names = (Name(LISTENER, it) for it in self._served_listeners())
        listeners = {it.name: self._listening(it) for it in names}
        self._say(News(envoys, listeners, releases=dict(releases)))

    def take(self, source: str, news: News) -> None:
        """What the Envoys of a replica say."""
        said = self._said.setdefault(source, Testimony())
        news, had_envoys, had = news.against(said), bool(said.envoys), said.releases
        moved = [it for it, found in news.refusals.items() if said.refusals.get(it) != found]
        concerned = {it for place in moved for it in self._forget(source, place)}
        said.take(news)
        concerned |= {it for place in moved for it in self._note(source, place)}
        if said.releases != had:
            concerned |= self._of.keys()
        for origin in concerned:
            self._write(origin)
        moved_envoys = bool(said.envoys) != had_envoys
        self._weigh(self._all_listeners() if moved_envoys else news.listeners)
        self.engine.write(refusals.ENVOYS, self.fleet, sum(it.envoys for it in self._said.values()))
        self.engine.write(releases.CONNECTED, self.fleet, self._connected() or None)
        self.settle_soon()

    def drop(self, source: str) -> None:
        """A replica is gone, and its Envoys will be heard elsewhere."""
        if source in self._said:
            self.take(source, News(is_whole=True))
            del self._said[source]

    def _say(self, news: News) -> None:
        self.take(OWN, news)
        self.tell(news)

    def _listening(self, name: Name) -> Listening | None:
        """Where a listener stands with our own Envoys; None once nothing is left to say."""
        is_pending = not self.is_accepted(name)
        version = self.standing.version(name) if self.standing else None
        return Listening(version or "", is_pending) if version or is_pending else None

    def _served_listeners(self) -> set[str]:
        return set(self.standing.names(LISTENER)) if self.standing else set()

    def _all_listeners(self) -> set[str]:
        """Those that we serve, and those that anybody speaks of, or spoke of until now."""
        spoken_of = (name for said in self._said.values() for name in said.listeners)
        return self._served_listeners().union(self._pending, spoken_of)

    def _weigh(self, listeners: Iterable[str]) -> None:
        """Which of these are not yet accepted everywhere."""
        before = set(self._pending)
        for name in listeners:
            (self._pending.add if self._is_pending(name) else self._pending.discard)(name)
        if self._pending != before:
            found = tuple(sorted(self._pending)) or None
            self.engine.write(refusals.PENDING, self.fleet, found)

    def _is_pending(self, name: str) -> bool:
        ours = self.standing.version(Name(LISTENER, name)) if self.standing else None
        return any(_lacks(said, name, ours) for said in self._said.values() if said.envoys)

    def _meet(self, name: Name) -> None:
        """Whether we have come to serve what others have been refused already."""
        assert self.standing is not None
        for source, part in list(self._early[name]):
            found = self._said[source].refusals[name, part]
            if self._is_met(name, part, found):
                self._lift(name, source, part)
                for origin in found.origins:
                    self._write(origin)
                self.settle_soon()

    def _is_met(self, name: Name, part: str, found: Refusal) -> bool:
        if self.standing is None or not found.digest:
            return True
        return self.standing.digest(name, part) == found.digest

    def _lift(self, name: Name, source: str, part: str) -> None:
        self._early[name].discard((source, part))
        if not self._early[name]:
            del self._early[name]

    def _note(self, source: str, place: Place) -> tuple[ObjectRef, ...]:
        """Whose status tells a refusal; if it is of something we do not serve yet, nobody's."""
        found = self._said[source].refusals.get(place)
        if found is None:
            return ()
        for origin in found.origins:
            self._of[origin].add((source, place))
        if source != OWN and not self._is_met(*place, found):
            self._early[place[0]].add((source, place[1]))
        return found.origins

    def _forget(self, source: str, place: Place) -> tuple[ObjectRef, ...]:
        """Whose status told of a refusal until now."""
        found = self._said[source].refusals.get(place)
        for origin in found.origins if found else ():
            self._of[origin].discard((source, place))
        if place[0] in self._early:
            self._lift(place[0], source, place[1])
        return found.origins if found else ()

    def _write(self, origin: ObjectRef) -> None:
        """The words about an object that hold."""
        words = {
            self._said[source].refusals[name, part].words
            for source, (name, part) in self._of[origin]
            if (source, part) not in self._early.get(name, ())
        }
        self.engine.write(refusals.REFUSERS, origin, self._refusers(self._of[origin]))
        if not self._of[origin]:
            del self._of[origin]
        self.engine.write(refusals.REFUSALS, origin, tuple(sorted(words)) or None)

    def _connected(self) -> releases.Counted:
        found = sum((Counter(it.releases) for it in self._said.values()), Counter[str]())
        return tuple(sorted(found.items()))

    def _refusers(self, places: Iterable[tuple[str, Place]]) -> tuple[releases.Counted, int] | None:
        """The Envoys that go without something that others have; None if there are no others.

        One that refuses two parts is one: of each release, the most that refuse the same part.
        """
        by_place: defaultdict[Place, Counter[str]] = defaultdict(Counter)
        for source, place in places:
            said = self._said[source]
            # Where nobody has it, all go without.
            by_place[place].update(dict(said.refusals[place].by) or said.releases)
        found: Counter[str] = Counter()
        for counted in by_place.values():
            found |= counted
        connected = sum(it.envoys for it in self._said.values())
        some = tuple(sorted(found.items()))
        return (some, connected) if 0 < found.total() < connected else None


def _lacks(said: Testimony, name: str, ours: str | None) -> bool:
    """Whether Envoys that say this have yet to accept what we serve."""
    found = said.listeners.get(name)
    if found is None:
        return ours is not None
    return found.is_pending or bool(ours and found.version and found.version != ours)

"""Combines what the Envoys of all replicas report about a fleet into rows for the statuses.

The xDS server calls in the middle of its own work, so a call only writes rows; the graph settles
soon after. The row of an object holds Envoy's message about each of its parts that is refused on
any replica, and is removed when the last of these parts has recovered.

Replicas do not serve the same version at every moment. A listener (of rate limit services: a limit)
is pending until every replica with Envoys reports that the version *this* replica serves is
accepted; a replica that is behind or ahead counts as pending. A refusal counts once this replica
serves the refused part, or has served it since the report, and until the reporting replica
withdraws it: a refusal of a version that is newer than ours waits for that version.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from contour.envoyreports.objects import RefusedByFleet, RefusedObjects
from contour.envoyreports.pending import Awaited, Limits, Listeners, PublishedState
from contour.envoyreports.report import MOST_WORDS, EnvoyReport, Refusal, ReportDelta
from contour.xds.observer import NO_RELEASES, AckObserver, RefusedPart
from contour.xds.resources import Name, PartKey
from crds.meta import ObjectRef
from dag import ratelimitclient, refusals, releases
from dag.engine.incremental import Engine
from dag.refusals import Application, Declined

OWN = ""
"""The source of the reports of our own Envoys; other replicas have names."""


@dataclass(slots=True)
class FleetReports(AckObserver):
    """The reports of one fleet; the observer of a `contour.xds.fleet.Fleet`."""

    fleet: str
    objects: RefusedObjects  # of all fleets
    settle_soon: Callable[[], None]
    is_accepted: Callable[[Name], bool]
    published: PublishedState | None = None  # needed where there are other replicas
    # Who asks for a resource, in a fleet whose clients each refuse for themselves.
    asked_by: Callable[[Name], Application] | None = None
    tell: Callable[[ReportDelta], None] = lambda _: None  # the changes that our own Envoys report
    _said: dict[str, EnvoyReport] = field(default_factory=lambda: {OWN: EnvoyReport()})
    _of: defaultdict[ObjectRef, set[tuple[str, PartKey]]] = field(
        default_factory=lambda: defaultdict(set)
    )
    # Refused on other replicas, in a version newer than the one we serve.
    _early: defaultdict[Name, set[tuple[str, str]]] = field(
        default_factory=lambda: defaultdict(set)
    )
    _pending: set[str] = field(default_factory=set)
    _awaited: Awaited = field(init=False)

    def __post_init__(self) -> None:
        self.engine.write(refusals.ENVOYS, self.fleet, 0)
        if self.fleet == ratelimitclient.FLEET and self.published is not None:
            self._awaited = Limits(self.engine, self.published)
        else:
            served = (self.is_accepted, self.published)
            self._awaited = Listeners(self.fleet, self.engine, *served)

    @property
    def engine(self) -> Engine:
        """The engine into which rows are written."""
        return self.objects.engine

    @property
    def own(self) -> EnvoyReport:
        """What our own Envoys report."""
        return self._said[OWN]

    @property
    def replicas(self) -> dict[str, EnvoyReport]:
        """What the Envoys of the other replicas report, by replica."""
        return {source: said for source, said in self._said.items() if source != OWN}

    def report_to(self, tell: Callable[[ReportDelta], None]) -> None:
        """Who is told the changes of what our own Envoys report."""
        self.tell = tell

    def refused(self, refused: RefusedPart) -> None:
        """Our Envoys refuse a part."""
        name, part, origins, words, by = refused
        digest = self.published.digest(name, part) if self.published else ""
        objects = tuple(ObjectRef(*it) for it in origins)
        refusal = Refusal(objects, words[:MOST_WORDS], digest, tuple(sorted(by.items())))
        self._say(ReportDelta(refusals={(name, part): refusal}))

    def recovered(self, name: Name, part: str) -> None:
        """A newer version of a refused part was accepted."""
        self._say(ReportDelta(refusals={(name, part): None}))

    def replaced(self, name: Name, parts: Collection[str]) -> None:
        """Parts of a resource were published anew, or withdrawn."""
        if name.type_url == self._awaited.type_url:
            self._awaited.replaced(parts)

    def changed(self, type_url: str, names: Collection[str]) -> None:
        """Resources of a type were changed, sent or accepted."""
        if self._early:
            for name in self._early.keys() & {Name(type_url, it) for it in names}:
                self._meet(name)
        if type_url == self._awaited.type_url:
            concerned = self._awaited.concerned(names)
            self._say(ReportDelta(listeners={it: self._awaited.state(it) for it in concerned}))

    def connected(self, envoys: int, releases: Mapping[str, int] = NO_RELEASES) -> None:
        """`envoys` of this replica subscribe to listeners; they may already hold some."""
        listeners = {it: self._awaited.state(it) for it in self._awaited.names()}
        self._say(ReportDelta(envoys, listeners, releases=dict(releases)))

    def take(self, source: str, delta: ReportDelta) -> None:
        """Applies what the Envoys of a replica report."""
        said = self._said.setdefault(source, EnvoyReport())
        delta, had_envoys, had = delta.against(said), bool(said.envoys), said.releases
        moved = [it for it, found in delta.refusals.items() if said.refusals.get(it) != found]
        concerned = {it for place in moved for it in self._forget(source, place)}
        said.take(delta)
        concerned |= {it for place in moved for it in self._note(source, place)}
        if said.releases != had:
            concerned |= self._of.keys()
        for origin in concerned:
            self._write(origin)
        moved_envoys = bool(said.envoys) != had_envoys
        self._weigh(self._all_listeners() if moved_envoys else delta.listeners)
        self.engine.write(refusals.ENVOYS, self.fleet, sum(it.envoys for it in self._said.values()))
        self.engine.write(releases.CONNECTED, self.fleet, self._connected() or None)
        self.settle_soon()

    def drop(self, source: str) -> None:
        """Removes a replica; its Envoys reconnect to others."""
        if source in self._said:
            self.take(source, ReportDelta(is_whole=True))
            del self._said[source]

    def forget(self) -> None:
        """Removes all reports: the fleet is gone."""
        for source in tuple(self._said):
            self.take(source, ReportDelta(is_whole=True))
        self.engine.write(refusals.ENVOYS, self.fleet, None)

    def _say(self, delta: ReportDelta) -> None:
        self.take(OWN, delta)
        self.tell(delta)

    def _all_listeners(self) -> set[str]:
        """The listeners that we serve, that any replica reports, or that were pending until now."""
        spoken_of = (name for said in self._said.values() for name in said.listeners)
        return {*self._awaited.names(), *self._pending, *spoken_of}

    def _weigh(self, listeners: Iterable[str]) -> None:
        """Updates which of these listeners are not yet accepted on every replica."""
        moved = [it for it in listeners if self._is_pending(it) != (it in self._pending)]
        self._pending.symmetric_difference_update(moved)
        self._awaited.tell(self._pending, moved)

    def _is_pending(self, name: str) -> bool:
        ours = self._awaited.version(name)
        return any(_lacks(said, name, ours) for said in self._said.values() if said.envoys)

    def _meet(self, name: Name) -> None:
        """Counts the refusals by other replicas of the version that we serve now."""
        assert self.published is not None
        for source, part in list(self._early[name]):
            found = self._said[source].refusals[name, part]
            if self._is_met(name, part, found):
                self._lift(name, source, part)
                for origin in found.origins:
                    self._write(origin)
                self.settle_soon()

    def _is_met(self, name: Name, part: str, found: Refusal) -> bool:
        if self.published is None or not found.digest:
            return True
        return self.published.digest(name, part) == found.digest

    def _lift(self, name: Name, source: str, part: str) -> None:
        self._early[name].discard((source, part))
        if not self._early[name]:
            del self._early[name]

    def _note(self, source: str, place: PartKey) -> tuple[ObjectRef, ...]:
        """Notes the objects whose statuses show a refusal, which they do once we serve the refused
        value."""
        found = self._said[source].refusals.get(place)
        if found is None:
            return ()
        for origin in found.origins:
            self._of[origin].add((source, place))
        if source != OWN and not self._is_met(*place, found):
            self._early[place[0]].add((source, place[1]))
        return found.origins

    def _forget(self, source: str, place: PartKey) -> tuple[ObjectRef, ...]:
        """Forgets which objects' statuses show a refusal, and returns these."""
        found = self._said[source].refusals.get(place)
        for origin in found.origins if found else ():
            self._of[origin].discard((source, place))
        if place[0] in self._early:
            self._lift(place[0], source, place[1])
        return found.origins if found else ()

    def _write(self, origin: ObjectRef) -> None:
        """Writes the messages that count about an object."""
        words = {
            (name, self._said[source].refusals[name, part].words)
            for source, (name, part) in self._of[origin]
            if (source, part) not in self._early.get(name, ())
        }
        by = self._refusers(self._of[origin])
        if not self._of[origin]:
            del self._of[origin]
        if self.asked_by is not None:
            declined = {Declined(self.asked_by(name), said) for name, said in words}
            self.engine.write(refusals.DECLINED, origin, tuple(sorted(declined)) or None)
            return
        envoys = sum(it.envoys for it in self._said.values())
        refused = RefusedByFleet(frozenset(said for _, said in words), by, envoys)
        self.objects.write(self.fleet, origin, refused)

    def _connected(self) -> releases.Counted:
        found = sum((Counter(it.releases) for it in self._said.values()), Counter[str]())
        return tuple(sorted(found.items()))

    def _refusers(self, places: Iterable[tuple[str, PartKey]]) -> Counter[str]:
        """The Envoys that lack some of these parts, by release.

        An Envoy that refuses two parts counts once: per release, the largest count of one part.
        """
        by_place: defaultdict[PartKey, Counter[str]] = defaultdict(Counter)
        for source, place in places:
            said = self._said[source]
            # Where no Envoy accepts the part, all of them lack it.
            by_place[place].update(dict(said.refusals[place].by) or said.releases)
        found: Counter[str] = Counter()
        for counted in by_place.values():
            found |= counted
        return found


def _lacks(said: EnvoyReport, name: str, ours: str | None) -> bool:
    """True if the Envoys of this report have yet to accept the version that we serve."""
    found = said.listeners.get(name)
    if found is None:
        return ours is not None
    return found.is_pending or bool(ours and found.version and found.version != ours)

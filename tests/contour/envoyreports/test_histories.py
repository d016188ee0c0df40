"""After any history of what replicas say and what we publish, the rows are as if read afresh.

The judge knows nothing of increments: it keeps who says what, and of each refusal of another
replica whether we have served the refused part at any time since it was told.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some

from contour.envoyreports import FleetReports, RefusedObjects, report
from contour.envoyreports.report import ListenerState, Refusal, ReportDelta
from contour.xds.fleet import Fleet
from contour.xds.resources import LISTENER, ROUTE, Change, Name, PartKey
from crds.meta import ObjectRef
from dag import refusals
from dag.engine.incremental import Engine
from dag.engine.view import Plan
from tests.contour.xds import world

SOURCES = ("one", "two", "three")
OBJECTS = [ObjectRef("HTTPProxy", "default", it) for it in "abc"]
LISTENERS = ("http", "https")
HOSTS = ("a.test", "b.test")
VERSIONS = (0, 1, 2)  # of a host, or of a listener; 0: gone


def host(name: str, version: int) -> Change:
    made = world.host("web", name, f"to-{version}")
    return made if version else made._replace(value=None)


def listener(name: str, version: int) -> Change:
    made = world.listener(name, 80 + version, "web")
    return made if version else made._replace(value=None)


def digest(name: str, version: int) -> str:
    value = host(name, version).value
    return value.digest.hex() if value else ""


def listener_version(name: str, version: int) -> str:
    fleet = Fleet("web")
    fleet.publish([listener(name, version)])
    return fleet.acceptance.version(Name(LISTENER, name)) or ""


places = some.sampled_from([(Name(ROUTE, "web"), it) for it in HOSTS])
origins = some.lists(some.sampled_from(OBJECTS), min_size=1, unique=True).map(tuple)
versions = some.sampled_from(VERSIONS)


@some.composite
def refusals_of(draw: Any) -> tuple[PartKey, Refusal | None]:
    place: PartKey = draw(places)
    if draw(some.integers(0, 3)) == 0:
        return place, None
    refused = digest(place[1], draw(versions))
    return place, Refusal(draw(origins), draw(some.sampled_from(["bad", "worse"])), refused)


@some.composite
def listenings(draw: Any) -> tuple[str, ListenerState | None]:
    name = draw(some.sampled_from(LISTENERS))
    version = listener_version(name, draw(versions))
    is_nothing = draw(some.integers(0, 3)) == 0
    return name, None if is_nothing else ListenerState(version, draw(some.booleans()))


@some.composite
def delta(draw: Any) -> ReportDelta:
    is_whole = draw(some.booleans())
    found = dict(draw(some.lists(refusals_of(), max_size=3)))
    heard = dict(draw(some.lists(listenings(), max_size=3)))
    if is_whole:
        found = {it: value for it, value in found.items() if value}
        heard = {it: value for it, value in heard.items() if value}
    return ReportDelta(draw(some.sampled_from([None, 0, 1, 2])), heard, found, is_whole=is_whole)


steps = some.one_of(
    some.tuples(some.just("take"), some.sampled_from(SOURCES), delta()),
    some.tuples(some.just("drop"), some.sampled_from(SOURCES), some.none()),
    some.tuples(some.just("host"), some.sampled_from(HOSTS), versions),
    some.tuples(some.just("listener"), some.sampled_from(LISTENERS), versions),
)


@dataclass
class Judge:
    """What ought to be told."""

    fleet: Fleet
    said: dict[str, report.EnvoyReport] = field(default_factory=dict)
    met: set[tuple[str, PartKey, Refusal]] = field(default_factory=set)

    def take(self, source: str, it: ReportDelta) -> None:
        before = self.said.get(source, report.EnvoyReport())
        after = report.EnvoyReport() if it.is_whole else before
        old = dict(before.refusals)
        after.take(it)
        self.said[source] = after
        for place, found in old.items():
            if after.refusals.get(place) != found:
                self.met.discard((source, place, found))

    def look(self) -> None:
        for source, said in self.said.items():
            for place, found in said.refusals.items():
                if not found.digest or self.fleet.acceptance.digest(*place) == found.digest:
                    self.met.add((source, place, found))

    def refusals(self, origin: ObjectRef) -> Any:
        words = {found.words for _, _, found in self.met if origin in found.origins}
        return tuple(sorted(words)) or None

    def pending(self) -> Any:
        return tuple(it for it in LISTENERS if self._is_pending(it)) or None

    def _is_pending(self, name: str) -> bool:
        ours = self.fleet.acceptance.version(Name(LISTENER, name))
        for said in self.said.values():
            it = said.listeners.get(name)
            if said.envoys and (it.is_pending if it else ours is not None):
                return True
            if said.envoys and it and ours and it.version and it.version != ours:
                return True
        return False


@settings(max_examples=200, deadline=None)
@given(some.lists(steps, max_size=14))
def test_the_rows_are_those_of_a_fresh_reading(history: list[tuple[str, str, Any]]) -> None:
    play(history)


def play(history: list[tuple[str, str, Any]]) -> None:
    fleet = Fleet("web")
    fleet.publish([world.route_head("web")])
    reports = FleetReports(
        "web", RefusedObjects(Engine(Plan())), lambda: None, lambda _: True, fleet.acceptance
    )
    fleet.observer = reports
    judge = Judge(fleet)
    for what, who, it in history:
        if what == "take":
            reports.take(who, it)
            judge.take(who, it)
        elif what == "drop":
            reports.drop(who)
            judge.take(who, ReportDelta(is_whole=True))
        else:
            fleet.publish([(host if what == "host" else listener)(who, it)])
        judge.look()
        row = reports.engine.row
        assert [row(refusals.REFUSALS, it) for it in OBJECTS] == [*map(judge.refusals, OBJECTS)]
        assert row(refusals.PENDING, "web") == judge.pending()
        assert row(refusals.ENVOYS, "web") == sum(it.envoys for it in judge.said.values())


@settings(max_examples=100, deadline=None)
@given(some.lists(delta(), max_size=6))
def test_news_put_together_say_the_same_as_one_after_the_other(several: list[ReportDelta]) -> None:
    """What a reporter gathers while the leader is slow."""
    one, other = report.EnvoyReport(), report.EnvoyReport()
    together = ReportDelta()
    for it in several:
        one.take(it.against(one))
        together = together.then(replace(it, listeners={**it.listeners}, refusals={**it.refusals}))
    other.take(together.against(other))
    assert one == other

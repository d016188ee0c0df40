"""What the Envoys of a node ID accept and refuse, on any replica, as rows.

`NodeReports` get the results of the Envoys of this replica and report them to the leader
(`contour.envoyreports`); on the leader they also get those of the other replicas. A report about
editions has the same form as one about parts: a version is accepted like a listener, and refused
like a part, once for each error message.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from itertools import chain

from contour.envoyreports import report
from contour.envoyreports.report import EnvoyReport, ListenerState, Refusal, ReportDelta
from contour.xds.fleet import Fleet
from contour.xds.identities import NodeIdentity
from contour.xds.observer import NO_RELEASES, AckObserver, RefusedWhole
from contour.xds.resources import Name, PartKey
from dag.engine.incremental import Engine
from dag.rawconfig import revisions
from dag.rawconfig.claims import NodeKey
from dag.rawconfig.revisions import Acknowledgements, EditionKey

_OWN = ""
_EDITION = "edition"
"""The type of resource that stands for editions in reports."""

_REMEMBERED = 16
"""The number of versions of a fleet whose refusals are remembered here; taints are stored
elsewhere."""
_MESSAGES = 16
"""The number of messages of Envoys that are gone that are remembered of a version."""


class _Refusals:
    """The messages of the Envoys that refuse a version."""

    def __init__(self) -> None:
        self._by: dict[object, str] = {}
        self._of_others: dict[str, None] = {}
        """The messages of Envoys that are gone, the newest last."""

    def add(self, envoy: object, words: str) -> None:
        """An Envoy refuses the version."""
        self._by[envoy] = words

    def counted(self, envoys: AbstractSet[object]) -> Mapping[str, int]:
        """How many of these Envoys, which are all that are connected, have sent each message."""
        for it in [*self._by]:
            if it not in envoys:
                words = self._by.pop(it)
                self._of_others.pop(words, None)
                self._of_others[words] = None
        for it in [*self._of_others][:-_MESSAGES]:
            del self._of_others[it]
        return {**dict.fromkeys(self._of_others, 0), **Counter(self._by.values())}


class NodeReports(AckObserver):
    """The reports of the Envoys of one node ID; `contour.envoyreports.report.Reports`."""

    def __init__(
        self, key: NodeKey, fleet: Fleet, engine: Engine, settle_soon: Callable[[], None]
    ) -> None:
        self.fleet = str(NodeIdentity(*key))
        self._tell: Callable[[ReportDelta], None] = lambda _: None
        self.is_everyone: Callable[[], bool] = lambda: True
        """Whether the reports of all replicas arrive here."""
        self._key = key
        self._served = fleet
        self._engine = engine
        self._settle_soon = settle_soon
        self._refusers: OrderedDict[str, _Refusals] = OrderedDict()
        self._taken: set[str] = set()
        self._said: dict[str, EnvoyReport] = {_OWN: EnvoyReport()}
        self._written: set[str] = set()

    @property
    def own(self) -> EnvoyReport:
        """What the Envoys of this replica report."""
        return self._said[_OWN]

    @property
    def replicas(self) -> dict[str, EnvoyReport]:
        """What the Envoys of the other replicas report, by replica."""
        return {source: said for source, said in self._said.items() if source != _OWN}

    def report_to(self, tell: Callable[[ReportDelta], None]) -> None:
        """Who is told the changes of what our own Envoys report."""
        self._tell = tell

    def edition_refused(self, refused: RefusedWhole) -> None:
        """An Envoy refuses an edition."""
        version = _version(refused.edition)
        self._note(version)
        self._refusers[version].add(refused.envoy, refused.words[: report.MOST_WORDS])
        self._say()

    def edition_taken(self, edition: str) -> None:
        """An Envoy has accepted the newest edition: all of it that it uses."""
        version = _version(edition)
        if version not in self._taken:
            self._note(version)
            self._taken.add(version)
            self._say()

    def connected(self, envoys: int, releases: Mapping[str, int] = NO_RELEASES) -> None:
        """Takes the number of Envoys that are connected to this replica."""
        self._say()

    def take(self, source: str, delta: ReportDelta) -> None:
        """Applies what the Envoys of a replica report."""
        said = self._said.setdefault(source, EnvoyReport())
        said.take(delta.against(said))
        self.refresh()

    def drop(self, source: str) -> None:
        """Removes a replica; its Envoys reconnect to others."""
        if self._said.pop(source, None) is not None:
            self.refresh()

    def refresh(self) -> None:
        """Writes the rows for the present reports."""
        acks = self._acknowledgements()
        for version in acks.keys() | self._written:
            row = acks.get(version)
            self._engine.write(revisions.ACKNOWLEDGEMENTS, EditionKey(*self._key, version), row)
        self._written = set(acks)
        self._settle_soon()

    def forget_version(self, version: str) -> None:
        """Forgets a version, as if it had never been served."""
        self._refusers.pop(version, None)
        self._taken.discard(version)
        for said in self._said.values():
            said.take(_without(said, version))
        self._say()

    def forget(self) -> None:
        """Forgets all reports: the fleet is gone."""
        for version in self._written:
            self._engine.write(revisions.ACKNOWLEDGEMENTS, EditionKey(*self._key, version), None)

    def _note(self, version: str) -> None:
        self._refusers.setdefault(version, _Refusals())
        self._refusers.move_to_end(version)
        while len(self._refusers) > _REMEMBERED:
            oldest, _ = self._refusers.popitem(last=False)
            self._taken.discard(oldest)

    def _say(self) -> None:
        whole = report.whole(self._report())
        self._tell(whole)
        self.take(_OWN, whole)

    def _report(self) -> EnvoyReport:
        envoys = self._served.envoys
        refusals: dict[PartKey, Refusal] = {}
        for version, refusals_of in self._refusers.items():
            for said, count in refusals_of.counted(envoys).items():
                part = blake2b(said.encode(), digest_size=8).hexdigest()
                refusals[Name(_EDITION, version), part] = Refusal((), said, by=(("", count),))
        taken = {it: ListenerState(it, is_pending=False) for it in self._taken}
        return EnvoyReport(len(envoys), taken, refusals)

    def _acknowledgements(self) -> dict[str, Acknowledgements]:
        every = self._said.values()
        connected, is_everyone = sum(it.envoys for it in every), self.is_everyone()
        taken = {version for it in every for version in it.listeners}
        words: dict[str, set[str]] = {version: set() for version in taken}
        refusing = Counter[str]()
        for (name, _), it in chain.from_iterable(said.refusals.items() for said in every):
            words.setdefault(name.name, set()).add(it.words)
            refusing[name.name] += sum(count for _, count in it.by)
        return {
            version: Acknowledgements(
                tuple(sorted(found)), refusing[version], connected, version in taken, is_everyone
            )
            for version, found in words.items()
        }


def _without(said: EnvoyReport, version: str) -> ReportDelta:
    refusals = {place: None for place in said.refusals if place[0].name == version}
    return ReportDelta(listeners={version: None}, refusals=dict(refusals))


def _version(edition: str) -> str:
    return edition.partition("-")[0]

"""What the Envoys of one replica report about one fleet: their number, the listeners that they have
yet to accept (rate limit services: the limits, `pending`), and the parts that they refuse.

Replicas compute the same configuration and versions are content hashes, so a report means the same
on another replica as soon as that replica serves the same version. A delta holds one entry for each
listener or part that changed, the newest.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from contour.xds.resources import PartKey
from crds.meta import ObjectRef
from dag.releases import Counted

MOST_WORDS = 2048  # characters of one message; a condition cannot tell more of many of them


class ListenerState(NamedTuple):
    """Whether the Envoys of a replica have accepted a listener, or rate limit services a limit."""

    version: str  # what they are to accept, or have accepted; empty if it cannot be compared
    is_pending: bool


class Refusal(NamedTuple):
    """Envoy's error message about a part, and the objects whose statuses show it."""

    origins: tuple[ObjectRef, ...]
    words: str  # no more than MOST_WORDS, also of our own: equal ones are told once
    digest: str = ""  # of the part; empty if it cannot be compared
    by: Counted = ()  # the Envoys that refuse it while others have it; empty: none has it


@dataclass(slots=True)
class EnvoyReport:
    """What the Envoys of one replica report right now."""

    envoys: int = 0
    listeners: dict[str, ListenerState] = field(default_factory=dict)
    refusals: dict[PartKey, Refusal] = field(default_factory=dict)
    releases: dict[str, int] = field(default_factory=dict)  # of these Envoys; "": unknown

    def copy(self) -> "EnvoyReport":
        """Another report that says the same."""
        made = EnvoyReport()
        made.take(whole(self))
        return made

    def take(self, delta: "ReportDelta") -> None:
        """Applies a delta."""
        if delta.envoys is not None:
            self.envoys, self.releases = delta.envoys, delta.releases
        for name, state in delta.listeners.items():
            if state is None:
                self.listeners.pop(name, None)
            else:
                self.listeners[name] = state
        for place, refusal in delta.refusals.items():
            if refusal is None:
                self.refusals.pop(place, None)
            else:
                self.refusals[place] = refusal


@dataclass(slots=True)
class ReportDelta:
    """What changed in a report; the value None removes an entry."""

    envoys: int | None = None
    listeners: dict[str, ListenerState | None] = field(default_factory=dict)
    refusals: dict[PartKey, Refusal | None] = field(default_factory=dict)
    releases: dict[str, int] = field(default_factory=dict)  # of the Envoys, if they are told
    is_whole: bool = False  # the whole report: entries that are not in it are removed

    def then(self, later: "ReportDelta") -> "ReportDelta":
        """Both as one delta; the later entry of a key wins."""
        if later.is_whole:
            return later
        if later.envoys is not None:
            self.envoys, self.releases = later.envoys, later.releases
        self.listeners |= later.listeners
        self.refusals |= later.refusals
        if self.is_whole:
            self._drop_nothings()
        return self

    def against(self, before: EnvoyReport) -> "ReportDelta":
        """The same delta with a removal for each entry that a whole report leaves out."""
        if not self.is_whole:
            return self
        return ReportDelta(
            self.envoys or 0,
            listeners=dict.fromkeys(before.listeners) | self.listeners,
            refusals=dict.fromkeys(before.refusals) | self.refusals,
            releases=self.releases,
        )

    def _drop_nothings(self) -> None:
        self.listeners = {it: value for it, value in self.listeners.items() if value}
        self.refusals = {it: value for it, value in self.refusals.items() if value}


def whole(of: EnvoyReport) -> ReportDelta:
    """A whole report as a delta."""
    return ReportDelta(
        of.envoys,
        releases=dict(of.releases),
        listeners=dict(of.listeners),
        refusals=dict(of.refusals),
        is_whole=True,
    )


class Reports(Protocol):
    """What the Envoys of all replicas report about one fleet."""

    fleet: str

    def report_to(self, tell: Callable[[ReportDelta], None]) -> None:
        """Who is told the changes of what our own Envoys report."""
        ...

    @property
    def own(self) -> EnvoyReport:
        """What our own Envoys report."""
        ...

    @property
    def replicas(self) -> dict[str, EnvoyReport]:
        """What the Envoys of the other replicas report, by replica."""
        ...

    def take(self, source: str, delta: ReportDelta) -> None:
        """Applies what the Envoys of a replica report."""
        ...

    def drop(self, source: str) -> None:
        """Removes a replica."""
        ...

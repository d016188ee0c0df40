"""What a stream had, what it gets instead of the newest state, and the search for a part to blame.

Plain values, without references to other objects. `subscription` holds them for one type on one
stream.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from contour.xds import resources, wire
from contour.xds.resources import Name, Part, Resource


@dataclass(slots=True)
class Baseline:
    """What a stream had of a resource before the newest state: all of its parts, or some."""

    parts: dict[str, Part | None]
    is_whole: bool = False  # unlisted parts were absent; otherwise they were the same as now
    is_unknown: bool = False  # sent by an earlier control plane: it has an unknown version

    def tells(self, part: str) -> bool:
        return self.is_whole or part in self.parts

    def then(self, later: "Baseline") -> "Baseline":
        """This baseline combined with a later one of the same resource."""
        if self.is_whole:
            return self
        if later.is_whole:
            parts = {**later.parts, **self.parts}
            return Baseline(parts, is_whole=True, is_unknown=self.is_unknown)
        for part, value in later.parts.items():
            self.parts.setdefault(part, value)
        self.is_unknown |= later.is_unknown
        return self


_ABSENT = Baseline({}, is_whole=True)


def absent() -> Baseline:
    """One object is shared by all, since a whole baseline never changes (see `Baseline.then`)."""
    return _ABSENT


def unknown() -> Baseline:
    return Baseline({}, is_unknown=True)


def same() -> Baseline:
    """The baseline of a resource that is sent again although it did not change."""
    return Baseline({})


def had(resource: Resource, version: str | None) -> Baseline:
    """The baseline of a stream that reports this version, as far as the version tells."""
    if version is None:
        return absent()
    parts = resource.since(version)
    return unknown() if parts is None else Baseline(parts)


def empty_endpoints(name: str) -> Resource:
    """A ClusterLoadAssignment without endpoints: Envoy would go on using endpoints that are only
    removed."""
    resource = Resource(Name(resources.ENDPOINTS, name))
    resource.put("", resources.part(wire.field(1, name.encode())))
    return resource


@dataclass(slots=True)
class InFlightResponse:
    """A response that was sent and not yet answered."""

    nonce: str
    number: int  # responses to one Envoy are numbered in the order in which they were sent
    before: dict[str, Baseline]  # what the stream had of each resource in it


@dataclass(slots=True)
class Override:
    """What a stream gets instead of the newest value of a part, and why."""

    value: Part | None
    awaits: frozenset[Name] = frozenset()  # held until these are ready
    refusal: str = ""  # Envoy's message about the newest, which it refuses
    # Holds back the whole resource, because it is not known which of its parts the other side has.
    is_whole: bool = False

    @property
    def is_suspect(self) -> bool:
        return not self.awaits and not self.refusal


class Suspect(NamedTuple):
    """A part that may be to blame; the head stands for a resource that itself did not change."""

    name: str
    part: str


@dataclass(slots=True)
class Search:
    """The search for the part of a refused response that is to blame (`bisection`)."""

    queue: deque[list[Suspect]] = field(default_factory=deque)
    wholes: dict[str, Baseline] = field(default_factory=dict)  # of suspects without a part
    blamed: dict[Suspect, str] = field(default_factory=dict)  # refused alone, with this message
    again: set[Suspect] = field(default_factory=set)  # blamed, but there was progress since
    retried: set[Suspect] = field(default_factory=set)
    trial: list[str] = field(default_factory=list)  # the names that are to be sent next, alone
    was_trial: bool = False
    alone: Suspect | None = None  # the only one on trial

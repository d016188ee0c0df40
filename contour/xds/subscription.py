"""What one stream asked for of one type, what is on its way to it, and what it has instead.

No queue of messages: `dirty` names what differs from what the stream was last sent, and is
rendered when the stream can take it, so a slow reader skips versions and costs nobody anything.
Which parts may go out is decided in `envoy` and `gates`; how names become messages, in `delta`
and `sotw`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contour.xds import resources, wire
from contour.xds.resources import Name, Part, Parts, Resource

if TYPE_CHECKING:
    from contour.xds.envoy import Envoy


@dataclass(slots=True)
class Before:
    """What a stream had of a resource before the newest state: of all of its parts, or of some."""

    parts: dict[str, Part | None]
    is_whole: bool = False  # parts that are not listed were absent; otherwise: were the same as now
    is_unknown: bool = False  # sent by an earlier control plane: it has some version of it

    def tells(self, part: str) -> bool:
        return self.is_whole or part in self.parts

    def then(self, later: "Before") -> "Before":
        """This, if something else was noted of the same resource later on."""
        if self.is_whole:
            return self
        if later.is_whole:
            return Before({**later.parts, **self.parts}, is_whole=True, is_unknown=self.is_unknown)
        for part, value in later.parts.items():
            self.parts.setdefault(part, value)
        self.is_unknown |= later.is_unknown
        return self


def absent() -> Before:
    return Before({}, is_whole=True)


def unknown() -> Before:
    return Before({}, is_unknown=True)


def same() -> Before:
    """For what is sent again although it did not change."""
    return Before({})


def empty_endpoints(name: str) -> Resource:
    """A ClusterLoadAssignment without endpoints: Envoy would go on using what is merely removed."""
    resource = Resource(Name(resources.ENDPOINTS, name))
    resource.put("", resources.part(wire.field(1, name.encode())))
    return resource


@dataclass(slots=True)
class Flight:
    """A response that was sent and not yet answered."""

    nonce: str
    number: int
    before: dict[str, Before]


@dataclass(slots=True)
class Override:
    """What a stream gets of one part instead of the newest, and why."""

    value: Part | None
    awaits: frozenset[Name] = frozenset()  # held until these are ready; if empty: not by a gate
    is_whole: bool = (
        False  # holds back the resource, whatever its parts: we cannot tell what is there
    )
    refusal: str = ""  # the words with which it was refused, once it is certain that it is to blame


@dataclass(slots=True, eq=False)
class Subscription:
    """One type on one stream."""

    envoy: "Envoy"
    type_url: str
    wake: Callable[[], None]  # tells the stream that it has something to send
    is_wildcard: bool = False
    names: set[str] = field(default_factory=set)
    dirty: dict[str, Before] = field(default_factory=dict)
    flights: list[Flight] = field(default_factory=list)
    overrides: dict[str, dict[str, Override]] = field(default_factory=dict)
    leaving: dict[str, Resource] = field(default_factory=dict)  # to be removed when it is safe
    last_nonce: str = ""

    def wants(self, name: str) -> bool:
        return self.is_wildcard or name in self.names

    def resource(self, name: str) -> Resource | None:
        """What this stream is served under a name: the newest, or what it has yet to give up."""
        return self.envoy.store.types[self.type_url].get(name) or self.leaving.get(name)

    def instead(self, name: str) -> Parts:
        return {part: it.value for part, it in self.overrides.get(name, {}).items()}

    def is_absent(self, name: str) -> bool:
        """Whether nothing of the resource may be sent: it is not there, or held back whole."""
        resource = self.resource(name)
        if resource is None:
            return True
        instead = self.overrides.get(name)
        # A resource without its head is not a message.
        return instead is not None and "" in instead and instead[""].value is None

    def mark(self, name: str, before: Before) -> None:
        """Notes that the stream is to be sent a resource, and what it had of it."""
        known = self.dirty.get(name)
        self.dirty[name] = before if known is None else known.then(before)
        self.wake()

    def accepted(self, name: str, part: str) -> Part | None:
        """The part as the other side has it, as far as it has told."""
        for flight in self.flights:
            if name in flight.before and flight.before[name].tells(part):
                return flight.before[name].parts.get(part)
        if name in self.dirty and self.dirty[name].tells(part):
            return self.dirty[name].parts.get(part)
        resource = self.resource(name)
        newest = resource.parts.get(part) if resource else None
        return self.instead(name).get(part, newest)

    def is_unsent(self, name: str) -> bool:
        """Whether nothing of the resource has ever gone out."""
        waiting = self.dirty.get(name)
        if waiting is None:
            return name in self.overrides and self.is_absent(name)
        in_flight = any(name in it.before for it in self.flights)
        return waiting.is_whole and not waiting.parts and not in_flight

    def is_settled(self, name: str) -> bool:
        """Whether the other side has acknowledged all it is to have of a resource for now."""
        return name not in self.dirty and not any(name in it.before for it in self.flights)

    def sendable(self) -> list[str]:
        """What may go out now. That a resource does not exist is an answer, too."""
        return [it for it in self.dirty if self.resource(it) is None or not self.is_absent(it)]

    def launch(self, names: Iterable[str], nonce: str) -> Flight:
        """Notes that these names are being sent."""
        flight = Flight(nonce, self.envoy.next_number(), {it: self.dirty.pop(it) for it in names})
        self.flights.append(flight)
        self.last_nonce = nonce
        return flight

    def flight(self, nonce: str) -> Flight | None:
        return next((it for it in self.flights if it.nonce == nonce), None)

    def forget(self, name: str) -> None:
        """Drops all that is known of a resource the other side no longer asks for."""
        self.dirty.pop(name, None)
        self.overrides.pop(name, None)
        self.leaving.pop(name, None)
        for flight in self.flights:
            flight.before.pop(name, None)

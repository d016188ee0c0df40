"""What one stream asked for of one type, what is on its way to it, and what it has instead.

No queue of messages: `dirty` names what differs from what the stream was last sent, and is
rendered when the stream can take it, so a slow reader skips versions and costs nobody anything.
Which parts may go out is decided in `envoy` and `gates`; how names become messages, in `delta`
and `sotw`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contour.xds import resources, wire
from contour.xds.resources import Name, Part, Parts, Resource, is_same

if TYPE_CHECKING:
    from contour.xds.envoy import Envoy
    from contour.xds.narrowing import Narrowing


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


ANYTHING = Name("", "")


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
    awaits: frozenset[Name] = frozenset()  # held until these are ready
    refusal: str = ""  # the words of the refusal it is to blame for
    # Holds back the resource, whatever its parts: which of them the other side has is not known.
    is_whole: bool = False

    @property
    def is_suspect(self) -> bool:
        return not self.awaits and not self.refusal


@dataclass(slots=True, eq=False)
class Subscription:
    """One type on one stream."""

    envoy: "Envoy"
    type_url: str
    wake: Callable[[], None]  # tells the stream that it has something to send
    lists_all: bool = False  # every response lists everything: what is left out is removed
    is_wildcard: bool = False
    names: set[str] = field(default_factory=set)
    dirty: dict[str, Before] = field(default_factory=dict)
    flights: list[Flight] = field(default_factory=list)
    overrides: dict[str, dict[str, Override]] = field(default_factory=dict)
    leaving: dict[str, Resource] = field(default_factory=dict)  # to be removed when it is safe
    narrowing: "Narrowing | None" = None
    last_nonce: str = ""
    # Everything was asked for and nothing was answered yet: that there is nothing is an answer,
    # without which Envoy does not start.
    is_owed: bool = False

    def wants(self, name: str) -> bool:
        return self.is_wildcard or name in self.names

    def resource(self, name: str) -> Resource | None:
        """What this stream is served under a name: the newest, or what it has yet to give up."""
        return self.envoy.store.types[self.type_url].get(name) or self.leaving.get(name)

    def instead(self, name: str) -> Parts:
        """What is sent in place of newest parts: held or refused ones, and what is too new."""
        release, overrides = self.envoy.release, self.overrides.get(name, {})
        found = {part: resources.fitting(it.value, release) for part, it in overrides.items()}
        resource = self.resource(name)
        if resource is not None and resource.varied:
            for part in resource.varied - found.keys():
                newest = resource.parts[part]
                if (fitting := resources.fitting(newest, release)) is not newest:
                    found[part] = fitting
        return found

    def differs(self, name: str) -> bool:
        """Whether anything else is sent than the newest."""
        resource = self.resource(name)
        is_varied = resource is not None and bool(resource.varied)
        return name in self.overrides or (is_varied and bool(self.instead(name)))

    def served(self, name: str) -> Resource | None:
        """The same, if there is anything to send: without its head it is not a message."""
        resource = self.resource(name)
        there = self._head(name) is not None and not self.is_incomplete(name)
        return resource if there else None

    def is_incomplete(self, name: str) -> bool:
        """Whether nothing is served that completes a head which is no message by itself."""
        head, resource = self._head(name), self.resource(name)
        if head is None or not head.is_fragment or resource is None:
            return False
        overrides = self.overrides.get(name, {})
        if any(it not in overrides for it in resource.completing):
            return False
        return not any(it.value and it.value.completes for it in overrides.values())

    def _head(self, name: str) -> Part | None:
        """The head that is served, perhaps instead of the newest."""
        override, resource = self.overrides.get(name, {}).get(""), self.resource(name)
        if override is not None:
            return override.value
        return resource.parts.get("") if resource else None

    def is_held(self, name: str) -> bool:
        """Whether nothing is to be said of a resource for now."""
        return self.is_head_held(name) or self._awaits_completion(name)

    def is_head_held(self, name: str) -> bool:
        """Whether the head is held back, and so all that hangs on it."""
        head = self.overrides.get(name, {}).get("")
        return head is not None and head.value is None and (head.is_whole or not head.refusal)

    def _awaits_completion(self, name: str) -> bool:
        resource = self.resource(name)
        if resource is None or not resource.completing or not self.is_incomplete(name):
            return False
        overrides = self.overrides[name]
        return any(not overrides[it].refusal for it in resource.completing)

    def is_held_whole(self, name: str) -> bool:
        head = self.overrides.get(name, {}).get("")
        return head is not None and head.is_whole

    def is_unknown(self, name: str) -> bool:
        """Whether what the other side has of a resource is not known, and nothing was sent yet."""
        return name in self.dirty and self.dirty[name].is_unknown

    def held_there(self, name: str) -> Iterator[Part]:
        """The parts the other side may have instead of the newest."""
        noted = [it.before[name] for it in self.flights if name in it.before]
        noted += [self.dirty[name]] if name in self.dirty else []
        yield from (part for it in noted for part in it.parts.values() if part is not None)
        yield from (part for part in self.instead(name).values() if part is not None)

    def refuses(self, name: str, part: str) -> bool:
        override = self.overrides.get(name, {}).get(part)
        return override is not None and bool(override.refusal)

    def is_settled(self, name: str) -> bool:
        """Whether the other side has acknowledged all that it was to have of a resource."""
        return name not in self.dirty and not any(name in it.before for it in self.flights)

    def is_unsent(self, name: str) -> bool:
        """Whether nothing of the resource has ever gone out."""
        waiting = self.dirty.get(name)
        if waiting is None:
            return self.is_held(name) and not self.is_held_whole(name)
        in_flight = any(name in it.before for it in self.flights)
        return waiting.is_whole and not waiting.parts and not in_flight

    def is_pending(self, name: str) -> bool:
        """Whether the other side is yet to get, or to answer, some of the newest state."""
        held = self.overrides.get(name, {}).values()
        return not self.is_settled(name) or any(not it.refusal for it in held)

    def mark(self, name: str, before: Before) -> None:
        """Notes that the stream is to be sent a resource, and what it had of it."""
        known = self.dirty.get(name)
        self.dirty[name] = before if known is None else known.then(before)
        self.envoy.fleet.acceptance.expect(self, name)
        self.wake()

    def sent(self, name: str, part: str, served: Part | None) -> Part | None:
        """The part as it was sent last, when `served` is what was to be sent until now."""
        unsent = self.dirty.get(name)
        return unsent.parts.get(part) if unsent and unsent.tells(part) else served

    def unmark(self, name: str, part: str) -> None:
        """The part is not to be sent after all: it stays as it was sent last."""
        unsent = self.dirty.get(name)
        if unsent is not None and not unsent.is_whole:
            unsent.parts.pop(part, None)

    def override(self, name: str, part: str, override: Override) -> None:
        """Serves something else than the newest of a part."""
        self.overrides.setdefault(name, {})[part] = override
        if not override.refusal:
            self.envoy.fleet.acceptance.expect(self, name)

    def keep_instead(
        self, name: str, part: str, value: Part | None, newest: Part | None = None
    ) -> bool:
        """Keeps what the other side has of a part of which, for its successor is refused, nothing
        is served: nobody wanted it gone. Returns whether that is so."""
        refusal = self.envoy.fleet.quarantine.refusal(Name(self.type_url, name), part)
        if refusal is None or not refusal.is_met_by(newest):
            return False
        if value is None or is_same(value, refusal.part) or is_same(value, newest):
            return False
        self.override(name, part, Override(value, refusal=refusal.words))
        return True

    def lift(self, name: str, part: str) -> Override:
        """Ends an override; the caller says what is to be sent for it."""
        overrides = self.overrides[name]
        override = overrides.pop(part)
        if not overrides:
            del self.overrides[name]
        return override

    def serve_newest(self, name: str, part: str) -> None:
        """Ends an override and sends the newest."""
        override = self.lift(name, part)
        resource = self.resource(name)
        newest = resource.parts.get(part) if resource else None
        if is_same(newest, override.value):
            self.envoy.fleet.note(Name(self.type_url, name), part)
            self.settle(name)
        elif part == "" and override.value is None:
            self.mark(name, absent())
        else:
            self.mark(name, Before({part: override.value}))

    def is_current(self, name: str, part: str) -> bool:
        """Whether the newest of a part was sent and answered."""
        if part in self.overrides.get(name, ()):
            return False
        noted = [it.before[name] for it in self.flights if name in it.before]
        noted += [self.dirty[name]] if name in self.dirty else []
        return not any(it.is_unknown or it.tells(part) for it in noted)

    def settle(self, name: str) -> None:
        """Tells whoever waits for it that nothing of a resource is pending, if that is so."""
        if not self.is_pending(name):
            self.envoy.settled(self, name)

    def leave(self, resource: Resource) -> None:
        """What is no longer served stays with the other side for a while, as it is."""
        self.leaving[resource.name.name] = resource
        self.envoy.kept.update(_needs(resource))

    def stay(self, name: str) -> Resource | None:
        """Ends the leaving of a resource, one way or the other."""
        resource = self.leaving.pop(name, None)
        if resource is not None:
            self.envoy.kept.subtract(_needs(resource))
        return resource

    def sendable(self) -> list[str]:
        """What may go out now. That a resource does not exist is an answer, too."""
        return [it for it in self.dirty if not self.is_held(it)]

    def launch(self, names: Iterable[str], nonce: str) -> Flight:
        """Notes that these names are being sent."""
        flight = Flight(nonce, self.envoy.next_number(), {it: self.dirty.pop(it) for it in names})
        self.flights.append(flight)
        self.last_nonce = nonce
        self.is_owed = False
        return flight

    def flight(self, nonce: str) -> Flight | None:
        return next((it for it in self.flights if it.nonce == nonce), None)

    def forget(self, name: str) -> None:
        """Drops all that is known of a resource the other side no longer asks for."""
        self.dirty.pop(name, None)
        self.overrides.pop(name, None)
        self.stay(name)
        for flight in self.flights:
            flight.before.pop(name, None)
        self.envoy.dropped(self, name)


def _needs(resource: Resource) -> list[Name]:
    """What a resource needs; of a cluster that is not known any more, it may be anything."""
    if not resource.parts and resource.name.type_url == resources.CLUSTER:
        return [ANYTHING]
    return [need for part in resource.parts.values() for need in part.needs]

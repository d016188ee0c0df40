"""What one stream has requested of one type, what is being sent, and what it has instead.

It is state with methods, and knows neither its Envoy nor its fleet. `published` is the fleet's
state, by reference; a subscription itself only stores differences to that (`dirty`, `in_flight`,
`overrides`, `removing`), and to the names for which other streams have asked, too.

There is no queue of messages: `dirty` names what differs from what the stream was last sent, and is
rendered when the stream can send it, so a slow reader skips versions and costs others nothing. Each
change of what is pending is noted in `outcomes`, which `envoy` takes out. `envoy` and `gates`
decide which parts may be sent; `delta` and `sotw` make messages of names.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from contour.xds import byname, resources, state
from contour.xds.names import Names
from contour.xds.outcomes import Declined, Dropped, Outcome, Pending, Settled, Unchanged
from contour.xds.releases import Release
from contour.xds.resources import Part, Parts, Resource, is_same
from contour.xds.state import Baseline, InFlightResponse, Override, Search

NO_OVERRIDES: Mapping[str, Override] = {}


@dataclass(slots=True, eq=False)
class Subscription:
    """One type on one stream."""

    type_url: str  # `OTHER` for all that are not served
    asked_as: str  # the type as the client writes it
    published: Mapping[str, Resource]  # of this type, by name: the fleet's own
    varied: AbstractSet[str]  # the names of resources of which some streams get another value
    wake: Callable[[], None]  # notifies the stream that there is something to send
    release: Release | None = None  # of the Envoy; None: it does not say
    viewer: byname.Viewer | None = (
        None  # the client's identity, where clients are served by name (`byname`)
    )
    lists_all: bool = False  # every response lists everything, and what is left out is removed
    is_wildcard: bool = False
    names: Names = field(default_factory=Names)
    dirty: dict[str, Baseline] = field(default_factory=dict)
    in_flight: list[InFlightResponse] = field(default_factory=list)
    overrides: dict[str, dict[str, Override]] = field(default_factory=dict)
    removing: dict[str, Resource] = field(
        default_factory=dict
    )  # to be removed as soon as it is safe
    search: Search | None = None
    last_nonce: str = ""
    # Everything was requested and nothing has been sent yet: an empty response is needed, too,
    # because Envoy does not start without one.
    is_owed: bool = False
    outcomes: list[Outcome] = field(default_factory=list)  # since the last step
    declined: dict[str, str] = field(
        default_factory=dict
    )  # by a client that is served by name: names, with its message
    malformed: dict[str, str] = field(default_factory=dict)  # names that it asks for, and why

    def wants(self, name: str) -> bool:
        return self.is_wildcard or name in self.names

    def resource(self, name: str) -> Resource | None:
        """What this stream is served under a name: the newest state, or what is to be removed."""
        return self.published.get(name) or self.removing.get(name)

    def overrides_of(self, name: str) -> Mapping[str, Override]:
        """The overrides of a resource, by part."""
        return self.overrides.get(name, NO_OVERRIDES)

    def overridden_parts(self, name: str) -> Parts:
        """What is sent instead of the newest parts: former values of held or refused parts,
        alternatives for older releases, and values for clients in this zone."""
        zone = self.viewer.zone if self.viewer is not None else ""
        who, overrides = (self.release, zone), self.overrides_of(name)
        found = {part: resources.fitting(it.value, *who) for part, it in overrides.items()}
        resource = self.resource(name)
        if resource is not None and resource.varied:
            for part in resource.varied - found.keys():
                newest = resource.parts[part]
                if (fitting := resources.fitting(newest, *who)) is not newest:
                    found[part] = fitting
        return found

    def differs(self, name: str) -> bool:
        """Whether anything else than the newest state is sent."""
        resource = self.resource(name)
        is_varied = resource is not None and bool(resource.varied)
        return name in self.overrides or (is_varied and bool(self.overridden_parts(name)))

    def served(self, name: str) -> Resource | None:
        """The resource, if it can be sent: without its head it is not a message."""
        resource = self.resource(name)
        there = self._head(name) is not None and not self.is_incomplete(name)
        return resource if there else None

    def is_incomplete(self, name: str) -> bool:
        """Whether a head that is not a valid message by itself lacks a part that completes it."""
        head, resource = self._head(name), self.resource(name)
        if head is None or not head.is_fragment or resource is None:
            return False
        overrides = self.overrides_of(name)
        if any(it not in overrides for it in resource.completing):
            return False
        return not any(it.value and it.value.completes for it in overrides.values())

    def _head(self, name: str) -> Part | None:
        """The head that is served, which may not be the newest."""
        override, resource = self.overrides_of(name).get(""), self.resource(name)
        if override is not None:
            return override.value
        return resource.parts.get("") if resource else None

    def is_held(self, name: str) -> bool:
        """Whether a resource is not sent for now."""
        return self.is_head_held(name) or self._awaits_completion(name)

    def is_head_held(self, name: str) -> bool:
        """Whether the head is held back, and with it the whole resource."""
        head = self.overrides_of(name).get("")
        return head is not None and head.value is None and (head.is_whole or not head.refusal)

    def _awaits_completion(self, name: str) -> bool:
        resource = self.resource(name)
        if resource is None or not resource.completing or not self.is_incomplete(name):
            return False
        overrides = self.overrides[name]
        return any(not overrides[it].refusal for it in resource.completing)

    def is_held_whole(self, name: str) -> bool:
        head = self.overrides_of(name).get("")
        return head is not None and head.is_whole

    def is_unknown(self, name: str) -> bool:
        """Whether it is not known what the client has of a resource, and nothing was sent yet."""
        return name in self.dirty and self.dirty[name].is_unknown

    def held_there(self, name: str) -> Iterator[Part]:
        """The parts that the client may have instead of the newest ones."""
        noted = self._unanswered(name)
        yield from (part for it in noted for part in it.parts.values() if part is not None)
        yield from (part for part in self.overridden_parts(name).values() if part is not None)

    def refuses(self, name: str, part: str) -> bool:
        override = self.overrides_of(name).get(part)
        return override is not None and bool(override.refusal)

    def _unanswered(self, name: str) -> list[Baseline]:
        """What the stream had before each unacknowledged state of a resource."""
        noted = [it.before[name] for it in self.in_flight if name in it.before]
        return [*noted, self.dirty[name]] if name in self.dirty else noted

    def is_acknowledged(self, name: str) -> bool:
        """Whether the client has acknowledged everything of a resource that is to be sent."""
        if name in self.dirty:
            return False
        for it in self.in_flight:  # noqa: SIM110 (an Envoy that comes asks this for each name)
            if name in it.before:
                return False
        return True

    def acknowledged(self, names: Collection[str]) -> Collection[str]:
        """Which of these the client has acknowledged."""
        if not self.dirty and not self.in_flight:
            return names
        return [it for it in names if self.is_acknowledged(it)]

    def is_current(self, name: str, part: str) -> bool:
        """Whether the newest value of a part was sent and answered."""
        if part in self.overrides_of(name):
            return False
        return not any(it.is_unknown or it.tells(part) for it in self._unanswered(name))

    def is_unsent(self, name: str) -> bool:
        """Whether nothing of the resource was ever sent."""
        waiting = self.dirty.get(name)
        if waiting is None:
            return self.is_held(name) and not self.is_held_whole(name)
        in_flight = any(name in it.before for it in self.in_flight)
        return waiting.is_whole and not waiting.parts and not in_flight

    def is_pending(self, name: str) -> bool:
        """Whether a part of the newest state is still to be sent to the client, or unanswered."""
        return not self.is_acknowledged(name) or self.is_held_back(name)

    def is_held_back(self, name: str) -> bool:
        """Whether the newest value of any part of a resource is held back, and not because it is
        refused."""
        return any(not it.refusal for it in self.overrides_of(name).values())

    def pending_parts(self, name: str) -> set[str]:
        """The parts whose newest value is still to be sent to the client, or unanswered."""
        overrides, resource = self.overrides_of(name), self.resource(name)
        found = {part for part, it in overrides.items() if not it.refusal}
        for it in self._unanswered(name):
            found |= it.parts.keys()
            if resource is not None and (it.is_whole or it.is_unknown):
                found |= resource.parts.keys()
        return {it for it in found if it not in overrides or not overrides[it].refusal}

    def mark(self, name: str, before: Baseline) -> None:
        """Notes that a resource is to be sent to the stream, and what the stream had of it."""
        known = self.dirty.get(name)
        self.dirty[name] = before if known is None else known.then(before)
        if known is None:
            self.outcomes.append(Pending((name,)))
        self.wake()

    def mark_absent(self, names: Sequence[str]) -> None:
        """Notes that resources are to be sent to the stream of which it had nothing, and about
        which nothing was noted before."""
        self.dirty.update(dict.fromkeys(names, state.absent()))
        self.outcomes.append(Pending(names))
        self.wake()

    def mark_same(self, names: Iterable[str]) -> None:
        """Notes that resources are to be sent to the stream again."""
        for name in names:
            self.mark(name, state.same())

    def sent(self, name: str, part: str, served: Part | None) -> Part | None:
        """The last value of a part that was sent; `served` is the one that was to be sent until
        now."""
        unsent = self.dirty.get(name)
        return unsent.parts.get(part) if unsent and unsent.tells(part) else served

    def unmark(self, name: str, part: str) -> None:
        """The part is not to be sent after all: the last sent value stays."""
        unsent = self.dirty.get(name)
        if unsent is not None and not unsent.is_whole:
            unsent.parts.pop(part, None)

    def unmark_all(self, name: str) -> None:
        """Nothing of a resource is to be sent after all."""
        self.dirty.pop(name, None)

    def override(self, name: str, part: str, override: Override) -> None:
        """Serves another value than the newest one of a part."""
        self.overrides.setdefault(name, {})[part] = override
        if not override.refusal:
            self.outcomes.append(Pending((name,)))

    def drop_overrides(self, name: str) -> None:
        """Forgets what the client has instead of the newest values."""
        self.overrides.pop(name, None)

    def lift(self, name: str, part: str) -> Override:
        """Ends an override; the caller decides what is to be sent instead."""
        overrides = self.overrides[name]
        override = overrides.pop(part)
        if not overrides:
            del self.overrides[name]
        return override

    def serve_newest(self, name: str, part: str) -> None:
        """Ends an override and sends the newest value."""
        override = self.lift(name, part)
        resource = self.resource(name)
        newest = resource.parts.get(part) if resource else None
        if is_same(newest, override.value):
            self.outcomes.append(Unchanged(name, part))
            self.settle((name,))
        elif part == "" and override.value is None:
            self.mark(name, state.absent())
        else:
            self.mark(name, Baseline({part: override.value}))

    def settle(self, names: Collection[str]) -> None:
        """Notes those of these resources of which nothing is pending."""
        if self.dirty or self.in_flight or self.overrides:
            names = [it for it in names if not self.is_pending(it)]
        if names:
            self.outcomes.append(Settled(names))

    def sendable(self) -> list[str]:
        """The names that may be sent now. That a resource does not exist is also sent."""
        if not self.overrides:  # nothing is held back
            return list(self.dirty)
        return [it for it in self.dirty if not self.is_held(it)]

    def has_newest(self, names: frozenset[str]) -> bool:
        """Whether all of these exist, and the newest state of each is sent."""
        if not all(map(self.published.__contains__, names)):
            return False
        return not any(self.differs(it) for it in names & (self.overrides.keys() | self.varied))

    def launch(self, names: Sequence[str], nonce: str, number: int) -> InFlightResponse:
        """Notes that these names are being sent."""
        if len(names) == len(self.dirty):
            before, self.dirty = self.dirty, {}
        else:
            before = {it: self.dirty.pop(it) for it in names}
        response = InFlightResponse(nonce, number, before)
        self.in_flight.append(response)
        self.last_nonce = nonce
        self.is_owed = False
        return response

    def decline(self, response: InFlightResponse, words: str) -> None:
        """A client that is served by name keeps its former value of the resources that its message
        is about, and has accepted the rest. Nothing of this is sent again before it changes."""
        about = byname.concerned(response.before, self.names, words)
        taken = [it for it in response.before if it in self.declined and it not in about]
        refused = [it for it in about if it in response.before or it not in self.declined]
        for it in taken:
            del self.declined[it]
        self.declined |= dict.fromkeys(refused, words[: byname.LONGEST_WORDS])
        self.outcomes += [*map(Dropped, response.before), Declined([*taken, *refused])]

    def accept(self, response: InFlightResponse) -> None:
        """Forgets refusals by such a client of resources that it has accepted now."""
        if self.declined:
            brought = list(self.declined) if self.lists_all else response.before
            names = [it for it in brought if self.declined.pop(it, None) is not None]
            self.outcomes.append(Declined(names))

    def forgive(self) -> list[str]:
        """Removes and returns the refusals of such a client, whose stream has ended."""
        declined, self.declined = self.declined, {}
        return list(declined)

    def response(self, nonce: str) -> InFlightResponse | None:
        return next((it for it in self.in_flight if it.nonce == nonce), None)

    def merge_oldest(self) -> None:
        """Forgets the nonce of the oldest response; its names count as part of the next one."""
        oldest = self.in_flight.pop(0)
        following = self.in_flight[0].before
        for name, before in oldest.before.items():
            following[name] = before.then(following[name]) if name in following else before

    def unsubscribe(self, name: str) -> None:
        """Drops everything about a resource for which the client no longer asks."""
        self.dirty.pop(name, None)
        self.overrides.pop(name, None)
        if self.declined.pop(name, None) is not None:
            self.outcomes.append(Declined([name]))
        for response in self.in_flight:
            response.before.pop(name, None)
        self.outcomes.append(Dropped(name))

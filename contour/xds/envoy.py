"""What one Envoy has and what it may have next: make before break, by acknowledgement.

One object per Envoy, shared by all of its streams; an aggregated stream is an Envoy of its own.
Additions go out in the order of what needs what, parts wait at the `gates` for what they need,
removals leave through `departures`, refusals are taken apart by `narrowing`. Endpoints are never
held. Time comes in as a value.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from contour.xds import narrowing, subscription
from contour.xds.alarms import Alarms
from contour.xds.arrival import Arrival
from contour.xds.departures import Barrier, Departures, Leaver
from contour.xds.gates import Gates
from contour.xds.narrowing import Narrowing
from contour.xds.pacing import Pace
from contour.xds.releases import Release
from contour.xds.resources import (
    CLUSTER,
    ENDPOINTS,
    GATED,
    LISTENER,
    SCOPE,
    SECRET,
    Name,
    Part,
    Resource,
    is_same,
)
from contour.xds.store import Edit
from contour.xds.subscription import Before, Flight, Subscription
from contour.xds.warming import Warming

if TYPE_CHECKING:
    from contour.xds.fleet import Fleet


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, in seconds."""

    warming: float = 5.0  # for a cluster that was sent, until its routes follow all the same
    absence: float = 5.0  # after a stream began, until anything may begin to leave
    grace: float = 1.0  # between the acknowledgement of the last route to it and its removal
    comeback: float = 5.0  # of an Envoy whose stream has ended, until it counts as gone
    pace: Pace = field(default_factory=Pace)  # of changes of listeners


class Envoy:
    """One Envoy of a fleet."""

    def __init__(self, fleet: "Fleet", id: str, release: Release | None = None) -> None:  # noqa: A002
        self.fleet = fleet
        self.id = id
        self.release = release
        self.store = fleet.store
        self.subscriptions: defaultdict[str, list[Subscription]] = defaultdict(list)
        self.alarms = Alarms(self._wake)
        self.gates = Gates(fleet.store, self.alarms, fleet.patience.warming, fleet.waits)
        self._warming = Warming(fleet.store, self.gates, self.subscriptions)
        self._departures = Departures()
        self.arrival = Arrival(self)
        # Until then it may use what it has not told of, for it comes back and asks bit by bit.
        self._young_until = fleet.clock() + fleet.patience.absence
        self._vanished: list[Leaver] = []
        self.kept: Counter[Name] = Counter()  # what is needed by that which is about to leave
        self._number = 0

    def next_number(self) -> int:
        """Numbers the responses to this Envoy."""
        self._number += 1
        return self._number

    def take(self, news: Iterable[tuple[Subscription, Edit]], now: float) -> None:
        """What was published, as far as this Envoy asked for it."""
        leavers: list[Leaver] = []
        for to, edit in news:
            if edit.is_gone:
                self._lose(to, edit.resource, leavers, now)
            elif edit.is_new:
                self._gain(to, edit.resource, now)
            else:
                self._change(to, edit, now)
        if leavers and now < self._young_until:
            for it in leavers:
                self.lose_later(it)
        elif leavers:
            self._await_users(leavers)
            self._depart(now)

    def introduce(
        self, to: Subscription, resource: Resource, version: str | None, now: float
    ) -> None:
        """A stream asks for a resource for the first time; `version` is what it has of it."""
        has_newest = version == resource.version(to.instead(resource.name.name))
        if resource.name.type_url == CLUSTER:
            self.gates.close(resource.name)
            if has_newest and "" in resource.parts:
                self._warming.start(resource.name, resource.parts[""], now)
        if has_newest:
            self._warming.has(to, resource.name.name, now)
            self.fleet.prove(to, {resource.name.name: subscription.unknown()})
            return
        before = _had(resource, version)
        self.gates.offer(to, resource, before, now)
        if not before.is_whole and not before.is_unknown:
            self.fleet.prove(to, {resource.name.name: subscription.unknown()})

    def lose_later(self, leaver: Leaver) -> None:
        """What vanished before this stream began leaves after everything else was asked for."""
        if not self._vanished:
            self.alarms.set(self._young_until, self._lose_vanished)
        self._vanished.append(leaver)

    def sent(self, to: Subscription, flight: Flight, now: float) -> None:
        """A response is on its way."""
        if to.type_url == CLUSTER:
            self._warming.sent(flight, now)

    def acknowledged(self, by: Subscription, flight: Flight, now: float) -> None:
        """The Envoy has taken what a response brought."""
        narrowing.acknowledged(by, flight)
        for name in flight.before:
            by.settle(name)
            self.arrival.met(by, name)
            if by.type_url == CLUSTER and by.is_settled(name):
                self._warming.acknowledged(Name(CLUSTER, name), now)
            elif by.type_url in {ENDPOINTS, SECRET} and by.is_settled(name):
                self._warming.has(by, name, now)
        self._departures.landed(by, flight)
        self.fleet.prove(by, flight.before)
        self._depart(now)

    def refused(self, by: Subscription, flight: Flight, words: str) -> None:
        """The Envoy did not take all of what a response brought."""
        narrowing.refused(by, flight, words)

    def settled(self, by: Subscription, name: str) -> None:
        """All of a resource that was pending on a stream was accepted, or is refused for good."""
        key = Name(by.type_url, name)
        if not by.is_held_whole(name):
            for part in self.store.unproven.get(key, ()):
                if part not in by.overrides.get(name, ()):
                    self.fleet.note(key, part)
        self.dropped(by, name)

    def dropped(self, by: Subscription, name: str) -> None:
        """Nothing of a resource is pending on a stream, for whatever reason."""
        self.arrival.met(by, name)
        self.fleet.acceptance.settled(by, name)
        if self._departures.settled(by, name):
            self._depart(self.fleet.clock())

    def judge(self, by: Subscription, search: Narrowing, now: float) -> None:
        """Puts the blame where the search has found it, if it is over."""
        for suspect, words in (narrowing.verdict(by, search) or {}).items():
            name, part = suspect
            whole = search.wholes.pop(name, None)
            override = by.overrides.get(name, {}).get(part)
            if override is None or not override.is_suspect:
                continue
            override.refusal = words
            if override.value is None and not override.is_whole:
                override.value = self.fleet.stand_in(Name(by.type_url, name), part)
            self.fleet.refuse(by, name, part, words)
            by.settle(name)
            if whole is None and by.served(name) is not None:
                # Back to what was accepted, and said so, whatever Envoy made of the response.
                by.mark(name, subscription.same())

    def left(self, part: Part | None) -> Iterator[Resource]:
        """What the part needs, directly or not, of that which was about to leave."""
        for need in part.needs if part else ():
            for it in self.subscriptions.get(need.type_url, ()):
                resource = it.leaving.get(need.name)
                if resource is not None and resource.parts:
                    yield resource
                    yield from self.left(resource.parts.get(""))

    def is_kept(self, name: Name) -> bool:
        """Whether something that is about to leave, and has yet to go, may need it."""
        may_be_used = name.type_url in {ENDPOINTS, SECRET} and self.kept[subscription.ANYTHING] > 0
        return may_be_used or self.kept[name] > 0

    def closed(self, by: Subscription, now: float) -> None:
        """A stream has ended."""
        self.subscriptions[by.type_url].remove(by)
        self.arrival.closed(by)
        self.align()
        self.fleet.acceptance.closed(by)
        self.fleet.excuse(by)
        self._departures.closed(by)
        self._depart(now)

    def align(self) -> None:
        """Decides anew whether there is anything to order for this Envoy."""
        self.gates.is_open = not any(it.is_wildcard for it in self.subscriptions[CLUSTER])

    def _gain(self, to: Subscription, resource: Resource, now: float) -> None:
        left = to.stay(resource.name.name)
        if left is not None:
            self._regain(to, left, resource, now)
            return
        if resource.name.type_url == CLUSTER:
            self.gates.close(resource.name)
        else:
            self.gates.open(resource.name, now)
            self._warming.cools(resource.name, now)
        self.gates.offer(to, resource, subscription.absent(), now)

    def _regain(self, to: Subscription, left: Resource, resource: Resource, now: float) -> None:
        """What was to leave and never went just stays, with what is different about it."""
        before = _difference(left, resource)
        if not left.parts:
            self.gates.offer(to, resource, subscription.unknown(), now)
        elif before:
            self._change(to, Edit(resource, before), now)
        self._warming.regained(resource.name, to, now)

    def _change(self, to: Subscription, edit: Edit, now: float) -> None:
        name = edit.name.name
        if to.is_held_whole(name):
            # Something changed in what waits, or was refused, as a whole: it may do now.
            self.gates.release(to, name, "", now)
            return
        for part, before in edit.before.items():
            self.gates.replace(to, edit.resource, part, before, now)

    def _lose(
        self, to: Subscription, resource: Resource, leavers: list[Leaver], now: float
    ) -> None:
        type_url, name = resource.name
        was_unsent = to.is_unsent(name)
        to.overrides.pop(name, None)
        if was_unsent:
            self.gates.open(resource.name, now)
            to.dirty.pop(name, None)
            if name in to.names:  # whoever asked for it by name is still owed an answer
                to.mark(name, subscription.absent())
        elif type_url in {LISTENER, SCOPE}:
            to.mark(name, Before(dict(resource.parts), is_whole=True))
        else:
            to.leave(resource)
            leavers.append((to, resource))
        to.settle(name)

    def _lose_vanished(self, now: float) -> None:
        leavers, self._vanished = self._vanished, []
        self._await_users(leavers)
        self._depart(now)

    def _await_users(self, leavers: list[Leaver]) -> None:
        """What clusters use waits for clusters, too, whose acknowledgement may take its time."""
        of_clusters = [it for it in leavers if it[0].type_url in {ENDPOINTS, SECRET}]
        of_routes = [it for it in leavers if it[0].type_url not in {ENDPOINTS, SECRET}]
        for group, users in ((of_routes, GATED), (of_clusters, GATED | {CLUSTER})):
            if group:
                awaited = [it for user in users for it in self.subscriptions.get(user, ())]
                self._departures.add(group, awaited, self._number + 1)

    def _depart(self, now: float) -> None:
        for barrier in self._departures.passed():
            self.alarms.set(now + self.fleet.patience.grace, partial(_dismiss, barrier))

    def _wake(self) -> None:
        for subscriptions in self.subscriptions.values():
            for it in subscriptions:
                it.wake()


def _had(resource: Resource, version: str | None) -> Before:
    """What a stream had that says it has this version, as far as a version can tell."""
    if version is None:
        return subscription.absent()
    parts = resource.since(version)
    return subscription.unknown() if parts is None else Before(parts)


def _difference(left: Resource, resource: Resource) -> dict[str, Part | None]:
    """What a stream that still has `left` is to be told of `resource`."""
    parts = {**left.parts, **resource.parts}
    had = ((it, left.parts.get(it)) for it in parts)
    return {it: value for it, value in had if not is_same(value, resource.parts.get(it))}


def _dismiss(barrier: Barrier, now: float) -> None:
    """The grace period is over: what did not come back in the meantime goes."""
    for to, left in barrier.leavers:
        name = left.name.name
        if to.leaving.get(name) is not left:
            continue
        if left.name in to.envoy.store.users or to.envoy.is_kept(left.name):
            # A refusal made it needed again, or what leaves before it has yet to go.
            later = now + to.envoy.fleet.patience.grace
            to.envoy.alarms.set(later, partial(_dismiss, Barrier([(to, left)], {})))
        else:
            to.stay(name)
            to.envoy.gates.open(left.name, now)
            is_known = bool(left.parts)
            to.mark(name, Before(dict(left.parts), is_whole=is_known, is_unknown=not is_known))

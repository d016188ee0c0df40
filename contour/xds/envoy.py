"""What one Envoy has and what it may have next: make before break, by acknowledgement.

One object per Envoy, shared by all of its streams; an aggregated stream is an Envoy of its own.
Additions go out in the order of what needs what, parts wait at the `gates` for what they need,
removals leave through `departures`. Endpoints are never held. Refusals are in `narrowing`,
messages in `delta` and `sotw`. Time comes in as a value.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from contour.xds import resources, subscription
from contour.xds.departures import Barrier, Departures, Leaver
from contour.xds.gates import Gates, Held
from contour.xds.resources import CLUSTER, ENDPOINTS, GATED, SECRET, Name, Part, Resource
from contour.xds.store import Edit
from contour.xds.subscription import Before, Flight, Override, Subscription

if TYPE_CHECKING:
    from contour.xds.fleet import Fleet

Alarm = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, in seconds."""

    warming: float = 5.0  # for a cluster that was sent, until its routes follow all the same
    grace: float = 1.0  # between the acknowledgement of the last route to it and its removal


class Envoy:
    """One Envoy of a fleet."""

    def __init__(self, fleet: "Fleet", id: str) -> None:  # noqa: A002
        self.fleet = fleet
        self.id = id
        self.store = fleet.store
        self.subscriptions: defaultdict[str, list[Subscription]] = defaultdict(list)
        self.gates = Gates(fleet.store, fleet.patience.warming)
        self._departures = Departures()
        self._vanished: list[Leaver] = []
        self._number = 0
        self._alarms: list[tuple[float, int, Alarm]] = []

    @property
    def alarm(self) -> float | None:
        """When `tick` is due."""
        return self._alarms[0][0] if self._alarms else None

    def tick(self, now: float) -> None:
        while self._alarms and self._alarms[0][0] <= now:
            heappop(self._alarms)[2](now)

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def take(self, news: Iterable[tuple[Subscription, Edit]], now: float) -> None:
        """What was published, as far as this Envoy asked for it."""
        leavers: list[Leaver] = []
        for to, edit in news:
            if edit.is_gone:
                self._lose(to, edit.resource, leavers)
            elif edit.is_new:
                self._gain(to, edit.resource, now)
            else:
                self._change(to, edit, now)
        if leavers:
            self._await_users(leavers)
            self._depart(now)

    def introduce(
        self, to: Subscription, resource: Resource, version: str | None, now: float
    ) -> None:
        """A stream asks for a resource for the first time; `version` is what it has of it."""
        has_newest = version == resource.version()
        if resource.name.type_url == CLUSTER and to.is_wildcard:
            self.gates.close(resource.name)
            if has_newest:
                started: list[Name] = []
                self._start(resource.name, started, now)
                self._alarm_for(started, now)
        if has_newest:
            self.known(to, resource.name.name, now)
        else:
            before = subscription.absent() if version is None else subscription.unknown()
            self.offer(to, resource, before, now)

    def offer(self, to: Subscription, resource: Resource, before: Before, now: float) -> None:
        """A resource this Envoy asked for and does not have as it is now."""
        name = resource.name.name
        blocked = self._blocked(to, resource, now)
        if before.is_unknown and blocked:
            # Which parts it has is not known, so none of them can be kept as it is: all wait.
            awaits = frozenset[Name]().union(*blocked.values())
            self._hold(to, name, "", Override(None, awaits, is_whole=True))
            return
        for part, awaits in blocked.items():
            self._hold(to, name, part, Override(None, awaits))
        if not to.is_absent(name):
            to.mark(name, before)

    def sent(self, to: Subscription, flight: Flight, now: float) -> None:
        """A response is on its way."""
        if to.type_url != CLUSTER:
            return
        started: list[Name] = []
        for name in map(self._cluster, flight.before):
            if name is not None:
                self._resend_endpoints(name)
                self._start(name, started, now)
        self._alarm_for(started, now)

    def known(self, to: Subscription, name: str, now: float) -> None:
        """The other side has the newest of what others here may be waiting for."""
        for user in list(self.gates.users(Name(to.type_url, name))):
            if self._is_warm(user):
                self._open(user, now)

    def acknowledged(self, by: Subscription, flight: Flight, now: float) -> None:
        for name in flight.before:
            if by.type_url == CLUSTER and by.is_settled(name):
                self._open(Name(CLUSTER, name), now)
            elif by.type_url in {ENDPOINTS, SECRET} and by.is_settled(name):
                self.known(by, name, now)
        self._departures.landed(by, flight)
        self._depart(now)

    def closed(self, by: Subscription, now: float) -> None:
        self.subscriptions[by.type_url].remove(by)
        self._departures.closed(by)
        self._depart(now)

    def _gain(self, to: Subscription, resource: Resource, now: float) -> None:
        type_url, name = resource.name
        left = to.leaving.pop(name, None)
        if left is not None:
            self._regain(to, left, resource, now)
            return
        if type_url == CLUSTER:
            self.gates.close(resource.name)
        else:
            self._open(resource.name, now)
        self.offer(to, resource, subscription.absent(), now)

    def _regain(self, to: Subscription, left: Resource, resource: Resource, now: float) -> None:
        """What was to leave and never went just stays, with what is different about it."""
        before = _difference(left, resource)
        if not left.parts:
            self.offer(to, resource, subscription.unknown(), now)
        elif before.parts:
            self._change(to, Edit(resource, before.parts), now)

    def _change(self, to: Subscription, edit: Edit, now: float) -> None:
        name = edit.name.name
        if edit.name.type_url not in GATED:
            to.mark(name, Before(dict(edit.before)))
            return
        for part, before in edit.before.items():
            self._replace(to, edit.resource, part, before, now)

    def _replace(
        self, to: Subscription, resource: Resource, part: str, before: Part | None, now: float
    ) -> None:
        name = resource.name.name
        known = to.overrides.get(name, {}).get(part)
        if known is not None and known.is_whole:
            return
        value = known.value if known else before
        newest = resource.parts.get(part)
        awaits = self.gates.blockers(newest, now) if newest and self._is_gating else frozenset()
        if awaits and not resources.is_same(newest, value):
            self._hold(to, name, part, Override(value, awaits))
        elif known is not None:
            self.release(to, name, part, now)
        else:
            to.mark(name, Before({part: before}))

    def _lose(self, to: Subscription, resource: Resource, leavers: list[Leaver]) -> None:
        type_url, name = resource.name
        to.leaving[name] = resource
        was_unsent = to.is_unsent(name)
        to.overrides.pop(name, None)
        self.gates.remove(resource.name)
        if was_unsent:
            del to.leaving[name]
            to.dirty.pop(name, None)
            if name in to.names:  # whoever asked for it by name is still owed an answer
                to.mark(name, subscription.absent())
        elif type_url in {resources.LISTENER, resources.SCOPE}:
            del to.leaving[name]
            to.mark(name, Before(dict(resource.parts), is_whole=True))
        else:
            leavers.append((to, name))

    def lose_later(self, leaver: Leaver, now: float) -> None:
        """What vanished before this stream began leaves after everything else was asked for."""
        if not self._vanished:
            self._at(now + self.fleet.patience.warming, self._lose_vanished)
        self._vanished.append(leaver)

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
            self._at(now + self.fleet.patience.grace, partial(_dismiss, barrier))

    def _blocked(
        self, to: Subscription, resource: Resource, now: float
    ) -> dict[str, frozenset[Name]]:
        """The parts of a resource that have to wait."""
        if to.type_url not in GATED or not self._is_gating:
            return {}
        waits = ((part, self.gates.blockers(it, now)) for part, it in resource.parts.items())
        return {part: awaits for part, awaits in waits if awaits}

    def _hold(self, to: Subscription, name: str, part: str, override: Override) -> None:
        to.overrides.setdefault(name, {})[part] = override
        self.gates.wait(Held(to, name, part), override.awaits)
        missing = [it for it in override.awaits if self.store.resource(it) is None]
        if missing:
            when = max(self.gates.cold[it] for it in missing)
            self._at(when, partial(self._expire, missing))

    def release(self, to: Subscription, name: str, part: str, now: float) -> None:
        """Serves the newest again in place of an override."""
        overrides = to.overrides[name]
        override = overrides.pop(part)
        if not overrides:
            del to.overrides[name]
        resource = to.resource(name)
        if resource is None:
            return
        if override.is_whole:
            self.offer(to, resource, subscription.unknown(), now)
        elif not resources.is_same(resource.parts.get(part), override.value):
            to.mark(name, Before({part: override.value}))

    def _let(self, held: Iterator[Held], now: float) -> None:
        """Releases those that wait for nothing else."""
        for to, name, part in held:
            override = to.overrides.get(name, {}).get(part)
            if override is None or not override.awaits:
                continue
            if not any(self.gates.is_closed(it, now) for it in override.awaits):
                self.release(to, name, part, now)

    def _open(self, name: Name, now: float) -> None:
        self._let(self.gates.open(name), now)

    def _expire(self, names: list[Name], now: float) -> None:
        for name in names:
            self._let(self.gates.expired(name, now), now)

    def _start(self, name: Name, started: list[Name], now: float) -> None:
        if not self.store.types[CLUSTER][name.name].parts[""].warms:
            self._open(name, now)
        elif self.gates.start(name, now):
            started.append(name)

    def _alarm_for(self, started: list[Name], now: float) -> None:
        if started:
            self._at(now + self.fleet.patience.warming, partial(self._expire, started))

    def _cluster(self, name: str) -> Name | None:
        return Name(CLUSTER, name) if name in self.store.types[CLUSTER] else None

    def _resend_endpoints(self, cluster: Name) -> None:
        """Envoy warms a changed cluster anew, yet does not ask for its endpoints again."""
        for need in self.store.types[CLUSTER][cluster.name].parts[""].needs:
            for it in self.subscriptions.get(need.type_url, ()):
                if need.type_url == ENDPOINTS and it.wants(need.name):
                    it.mark(need.name, subscription.same())

    def _is_warm(self, cluster: Name) -> bool:
        """Whether the acknowledgement of what it needs tells that a cluster is in use."""
        resource = self.store.resource(cluster)
        part = resource.parts[""] if resource else None
        if part is None or part.health_checked or not part.needs or not self._was_sent(cluster):
            return False
        return all(self._has(need) for need in part.needs)

    def _was_sent(self, cluster: Name) -> bool:
        return all(cluster.name not in it.dirty for it in self.subscriptions[CLUSTER])

    def _has(self, need: Name) -> bool:
        return any(
            it.wants(need.name) and it.is_settled(need.name)
            for it in self.subscriptions.get(need.type_url, ())
        )

    @property
    def _is_gating(self) -> bool:
        """An Envoy that asks for clusters by name orders its own changes, as gRPC clients do."""
        return any(it.is_wildcard for it in self.subscriptions.get(CLUSTER, ()))

    def _at(self, when: float, alarm: Alarm) -> None:
        heappush(self._alarms, (when, self.next_number(), alarm))
        for subscriptions in self.subscriptions.values():
            for it in subscriptions:
                it.wake()


def _difference(left: Resource, resource: Resource) -> Before:
    """What a stream that still has `left` is to be told of `resource`."""
    parts = {**left.parts, **resource.parts}
    had = ((it, left.parts.get(it)) for it in parts)
    return Before({it: x for it, x in had if not resources.is_same(x, resource.parts.get(it))})


def _dismiss(barrier: Barrier, _: float) -> None:
    """The grace period is over: what did not come back in the meantime goes."""
    for to, name in barrier.leavers:
        left = to.leaving.pop(name, None)
        if left is not None:
            is_known = bool(left.parts)
            to.mark(name, Before(dict(left.parts), is_whole=is_known, is_unknown=not is_known))

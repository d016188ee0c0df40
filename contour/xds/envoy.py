"""What one Envoy has and what it may get next: make before break, by acknowledgements.

There is one object per Envoy, shared by all of its streams; an aggregated stream is an Envoy of its
own. `step` takes an event and returns the outcomes for the fleet, of which it only reads what is
published and what is refused. Additions are sent in the order of dependencies, parts wait at the
`gates` for what they need, `removals` are sent last, and `bisection` analyses refusals. Endpoints
are never held back. The caller passes the time.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from contour.xds import bisection, byname, removals, resources, state
from contour.xds.alarms import Alarms
from contour.xds.arrival import Arrival
from contour.xds.events import (
    Answered,
    Closed,
    Event,
    FromFleet,
    Published,
    Quarantined,
    Released,
    Repeated,
    Sent,
    Subscribed,
    TrialDue,
    Unsubscribed,
    Woken,
)
from contour.xds.gates import Gates, Waits
from contour.xds.initialresources import InitialResources, without
from contour.xds.outcomes import Accepted, Dropped, Gone, Outcome, Refused, Settled
from contour.xds.pacing import Pace
from contour.xds.quarantine import Quarantine
from contour.xds.releases import Release
from contour.xds.removals import PendingRemoval, PendingRemovals, RemovalBarrier
from contour.xds.resources import (
    CLUSTER,
    ENDPOINTS,
    GATED,
    LISTENER,
    RATE_LIMITS,
    SCOPE,
    SECRET,
    Name,
    Part,
    Resource,
    is_same,
)
from contour.xds.state import Baseline, InFlightResponse, Override
from contour.xds.store import Edit, Store
from contour.xds.subscription import Subscription
from contour.xds.warming import Warming
from contour.xds.whole import Edition, Whole

_OF_CLUSTERS = frozenset({ENDPOINTS, SECRET})


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, in seconds."""

    warming: float = 5.0  # for a cluster that was sent, until its routes are sent nevertheless
    absence: float = 5.0  # after a stream began, before any removal may begin
    grace: float = 1.0  # between the acknowledgement of the last route to it and its removal
    comeback: float = 5.0  # for an Envoy whose stream has ended, until it counts as gone
    pace: Pace = field(default_factory=Pace)  # of changes of listeners


@dataclass(frozen=True, slots=True)
class Served:
    """What all Envoys of a fleet share, and none of them modifies."""

    store: Store
    quarantine: Quarantine
    waits: Waits
    patience: Patience
    edition: Edition | None = None  # of a fleet that is served as a whole


class Envoy:
    """One Envoy of a fleet."""

    def __init__(self, id: str, release: Release | None, served: Served, now: float) -> None:  # noqa: A002
        self.id = id
        self.viewer: byname.Viewer | None = None  # where clients are served by name
        self.release = release
        self._store = served.store
        self._quarantine = served.quarantine
        self._patience = served.patience
        self.subscriptions: defaultdict[str, list[Subscription]] = defaultdict(list)
        self.alarms = Alarms(self.wake)
        warming = served.patience.warming
        self.gates = Gates(served.store, served.quarantine, self.alarms, warming, served.waits)
        self._warming = Warming(served.store, self.gates, self.subscriptions)
        self._initial = InitialResources(served.store, self.gates, self._warming)
        self._removals = PendingRemovals()
        self._arrival = Arrival(self.subscriptions)
        self._whole: Whole | None = None
        if (edition := served.edition) is not None:
            self._whole = Whole(edition, self.subscriptions, self.alarms, warming, now)
        # Until then it may use what it has not reported yet: it reconnects and asks step by step.
        self._young_until = now + served.patience.absence
        self._vanished: list[PendingRemoval] = []
        self._number = 0  # of the newest response

    def open(self, type_url: str, wake: Callable[[], None]) -> Subscription:
        """A stream asks for resources of a type for the first time."""
        kind = resources.kind(type_url)
        served = (byname.visible(self._store.types[kind], self.viewer), self._store.varied[kind])
        made = Subscription(kind, type_url, *served, wake, self.release, self.viewer)
        self.subscriptions[kind].append(made)
        return made

    def step(self, event: Event, now: float) -> list[tuple[Subscription, Outcome]]:
        """The outcomes of an event, in the order in which they have to be applied."""
        own = self._handle(event, now)
        return [*self._noted(now), *own]

    def holds(self, to: Subscription) -> bool:
        """Whether no resource of a type may be sent for now."""
        return self._whole.holds(to) if self._whole else self._arrival.holds(to)

    def keep(self, by: Subscription, refused: Refused) -> Override | None:
        """Keeps what was accepted last for a refused part; None if it is no suspect any more."""
        override = by.overrides_of(refused.name).get(refused.part)
        if override is None or not override.is_suspect:
            return None
        override.refusal = refused.words
        if override.value is None and not override.is_whole:
            name = Name(by.type_url, refused.name)
            override.value = self._quarantine.stand_in(name, refused.part)
        return override

    def removing(self, part: Part | None) -> Iterator[Resource]:
        """The resources that a part needs, directly or not, and that are about to be removed."""
        return removals.needed_of(self.subscriptions, part)

    def align(self) -> None:
        """Updates whether changes have to be ordered for this Envoy."""
        self.gates.is_open = not any(it.is_wildcard for it in self.subscriptions[CLUSTER])

    def wake(self) -> None:
        """Notifies its streams that there may be something to send."""
        for subscriptions in self.subscriptions.values():
            for it in subscriptions:
                it.wake()

    def _handle(self, event: Event, now: float) -> list[tuple[Subscription, Outcome]]:
        """Applies an event; returns the outcomes that subscriptions do not note themselves."""
        match event:
            case Published() | Quarantined() | Released():
                return self._hear(event, now)
            case Answered(by, response, refusal):
                return self._answered(by, response, refusal, now)
            case Sent(by, names, nonce):
                self._number += 1
                self._warming.sent(by, by.launch(names, nonce, self._number), now)
            case Subscribed(by, names, had):
                return self._introduce(by, names, had, now)
            case Repeated(by, names):
                by.mark_same(names)
            case Unsubscribed(by, name):
                self._removals.cancel(by, name)
                by.unsubscribe(name)
            case TrialDue(by):
                return self._try_next(by, now)
            case Closed(by):
                return self._closed(by, now)
            case Woken():
                self.alarms.ring(now)
        return []

    def _hear(self, event: FromFleet, now: float) -> list[tuple[Subscription, Outcome]]:
        """Applies an event of the fleet, which only changes what is to be sent."""
        match event:
            case Published(edits):
                if self._whole:
                    self._whole.published(self._number, now)
                self._take(edits, now)
            case Quarantined(by, refused):
                by.settle((refused.name,))
                if not refused.is_stray and by.served(refused.name) is not None:
                    # Sends what was accepted again, whatever Envoy applied of the refused response.
                    by.mark(refused.name, state.same())
            case Released(by, name, part):
                self.gates.release(by, name, part, now)
        return []

    def _noted(self, now: float) -> list[tuple[Subscription, Outcome]]:
        """The outcomes that subscriptions have noted since the last step."""
        noted: list[tuple[Subscription, Outcome]] = []
        for subscriptions in self.subscriptions.values():
            for it in subscriptions:
                if it.outcomes:
                    noted += [(it, outcome) for outcome in it.outcomes]
                    it.outcomes.clear()
        is_awaited = False
        for by, outcome in noted:
            if isinstance(outcome, (Settled, Dropped)):
                names = outcome.names if isinstance(outcome, Settled) else (outcome.name,)
                self._arrival.met(by, names)
                is_awaited |= self._removals.settled(by, names)
        if is_awaited:
            self._remove_passed(now)
        return noted

    def _take(self, edits: Iterable[tuple[Subscription, Edit]], now: float) -> None:
        """Takes what was published, as far as this Envoy subscribes to it."""
        removing: list[PendingRemoval] = []
        for to, edit in edits:
            if edit.is_gone:
                self._lose(to, edit.resource, removing, now)
            elif edit.is_new:
                self._gain(to, edit.resource, now)
            else:
                self._change(to, edit, now)
        if removing and now < self._young_until:
            for it in removing:
                self._remove_later(it)
        elif removing:
            self._await_users(removing)
            self._remove_passed(now)

    def _introduce(
        self, by: Subscription, names: Sequence[str], had: Mapping[str, str], now: float
    ) -> list[tuple[Subscription, Outcome]]:
        """Handles the first request for resources on a stream; `had` are its versions of them."""
        newest = self._initial.newest(by, names, had)
        rest = without(names, newest)
        new = [it for it in rest if it not in had] if had else rest
        self._arrival.expect(by, new)
        if len(new) < len(names):
            self._arrival.has(by)
        self._initial.keep(by, newest, now)
        others = without(rest, self._initial.offer_all(by, new))
        known = [it for it in others if self._introduce_one(by, it, had.get(it), now)]
        if not newest and not known:
            return []
        return [(by, Accepted(dict.fromkeys((*newest, *known), state.unknown())))]

    def _introduce_one(self, by: Subscription, name: str, version: str | None, now: float) -> bool:
        """The same for one resource; returns whether it is known which parts the Envoy has of
        it."""
        resource = by.resource(name)
        if resource is not None:
            return self._initial.bring(by, resource, version, now)
        if version is None:
            by.mark(name, state.absent())
        elif by.type_url in _OF_CLUSTERS | {CLUSTER}:
            self._removals.begin(by, Resource(Name(by.type_url, name)))
            self._remove_later((by, by.removing[name]))
        else:
            by.mark(name, state.unknown())
        return False

    def _answered(
        self, by: Subscription, response: InFlightResponse, refusal: str | None, now: float
    ) -> list[tuple[Subscription, Outcome]]:
        by.in_flight.remove(response)
        if refusal is not None and self._whole:
            return self._whole.refused(by, response, refusal)
        if refusal is not None:
            bisection.refused(self.gates, by, response, refusal)
            return []
        bisection.acknowledged(by, response)
        by.settle(response.before)
        self._arrival.met(by, response.before)
        if by.type_url == CLUSTER:
            self._warming.acknowledged(by.acknowledged(response.before), now)
        elif by.type_url in _OF_CLUSTERS:
            self._warming.has(by, by.acknowledged(response.before), now)
        self._removals.acknowledged(by, response)
        self._remove_passed(now)
        taken = self._whole.acknowledged(by) if self._whole else []
        return [(by, Accepted(response.before)), *taken]

    def _try_next(self, by: Subscription, now: float) -> list[tuple[Subscription, Outcome]]:
        """Goes on with the search for the part to blame. Returns the result, if it is over."""
        search = by.search
        if search is None:
            return []
        search.trial = bisection.next_trial(self.gates, by, search, now)
        if search.trial or by.sendable():
            return []
        found = bisection.verdict(by, search) or {}
        return [
            (by, Refused(name, part, words, search.wholes.pop(name, None) is not None))
            for (name, part), words in found.items()
        ]

    def _closed(self, by: Subscription, now: float) -> list[tuple[Subscription, Outcome]]:
        self.subscriptions[by.type_url].remove(by)
        self._arrival.closed(by)
        self.align()
        self._removals.closed(by)
        self.gates.forget(by)
        self._remove_passed(now)
        return [(by, Gone())]

    def _gain(self, to: Subscription, resource: Resource, now: float) -> None:
        left = self._removals.cancel(to, resource.name.name)
        if left is not None:
            self._regain(to, left, resource, now)
            return
        if resource.name.type_url == CLUSTER:
            self._initial.close(to, (resource.name.name,))
        else:
            self.gates.open(resource.name, now)
            self._warming.cools(resource.name, now)
        self.gates.offer(to, resource, state.absent(), now)

    def _regain(self, to: Subscription, left: Resource, resource: Resource, now: float) -> None:
        """Keeps a resource that was about to be removed, with its changes."""
        before = _difference(left, resource)
        if not left.parts:
            self.gates.offer(to, resource, state.unknown(), now)
        elif before:
            self._change(to, Edit(resource, before), now)
        self._warming.regained(resource.name, to, now)

    def _change(self, to: Subscription, edit: Edit, now: float) -> None:
        name = edit.name.name
        if to.is_held_whole(name):
            # A resource that waits, or was refused, as a whole has changed, so it is tried again.
            self.gates.release(to, name, "", now)
            return
        for part, before in edit.before.items():
            self.gates.replace(to, edit.resource, part, before, now)

    def _lose(
        self, to: Subscription, resource: Resource, removing: list[PendingRemoval], now: float
    ) -> None:
        type_url, name = resource.name
        was_unsent = to.is_unsent(name)
        to.drop_overrides(name)
        if was_unsent:
            self.gates.open(resource.name, now)
            to.unmark_all(name)
            if name in to.names:  # a request by name still has to be answered
                to.mark(name, state.absent())
        elif type_url in {LISTENER, SCOPE, RATE_LIMITS}:
            to.mark(name, Baseline(dict(resource.parts), is_whole=True))
        else:
            self._removals.begin(to, resource)
            removing.append((to, resource))
        to.settle((name,))

    def _remove_later(self, removal: PendingRemoval) -> None:
        """Removes what vanished before this stream began, after all else has been requested."""
        if not self._vanished:
            self.alarms.set(self._young_until, self._remove_vanished)
        self._vanished.append(removal)

    def _remove_vanished(self, now: float) -> None:
        vanished, self._vanished = self._vanished, []
        self._await_users(vanished)
        self._remove_passed(now)

    def _await_users(self, removing: list[PendingRemoval]) -> None:
        """Adds barriers; endpoints and secrets also wait for clusters, whose ACK may take long."""
        of_clusters = [it for it in removing if it[0].type_url in _OF_CLUSTERS]
        of_routes = [it for it in removing if it[0].type_url not in _OF_CLUSTERS]
        for group, users in ((of_routes, GATED), (of_clusters, GATED | {CLUSTER})):
            if group:
                awaited = [it for user in users for it in self.subscriptions.get(user, ())]
                self._removals.add(group, awaited, self._number + 1)

    def _remove_passed(self, now: float) -> None:
        for barrier in self._removals.passed():
            self.alarms.set(now + self._patience.grace, partial(self._remove, barrier))

    def _remove(self, barrier: RemovalBarrier, now: float) -> None:
        """The grace period is over: removes what was not published again in the meantime."""
        for to, left in barrier.removals:
            name = left.name.name
            if to.removing.get(name) is not left:
                continue
            if left.name in self._store.users or self._removals.is_needed(left.name):
                # A refusal made it needed again, or a resource that needs it has yet to be removed.
                later = now + self._patience.grace
                self.alarms.set(later, partial(self._remove, RemovalBarrier([(to, left)], {})))
            else:
                self._removals.cancel(to, name)
                self.gates.open(left.name, now)
                is_known = bool(left.parts)
                before = Baseline(dict(left.parts), is_whole=is_known, is_unknown=not is_known)
                to.mark(name, before)


def _difference(left: Resource, resource: Resource) -> dict[str, Part | None]:
    """The parts in which `resource` differs from `left`, which a stream still has."""
    parts = {**left.parts, **resource.parts}
    had = ((it, left.parts.get(it)) for it in parts)
    return {it: value for it, value in had if not is_same(value, resource.parts.get(it))}

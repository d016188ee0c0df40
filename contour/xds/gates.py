"""Holds back parts from one Envoy until the resources that they need are ready on it.

No wait is longer than `patience`: a resource that never becomes ready only delays the parts that
need it, and only once. `warming` decides when a cluster is ready.

    needed ── new ── sent ──────── ready ───► the parts that need it are released
               (no limit) └─ patience ──────► given up: they are released all the same
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import NamedTuple

from contour.xds import state
from contour.xds.alarms import Alarms
from contour.xds.quarantine import Quarantine
from contour.xds.resources import GATED, Name, Part, Resource, is_same
from contour.xds.state import Baseline, Override
from contour.xds.store import Store
from contour.xds.subscription import Subscription


class _Held(NamedTuple):
    to: Subscription
    name: str
    part: str


@dataclass(slots=True)
class Waits:
    """How long parts have waited since the fleet was first served."""

    ended: int = 0  # the number of resources that became ready while parts waited for them
    seconds: float = 0.0  # the total of those waits, each from when the resource was sent
    given_up: int = 0  # the number of resources that parts waited for in vain


class Gates:
    """The gates of one Envoy. Only resources that are not ready take memory."""

    def __init__(
        self, store: Store, quarantine: Quarantine, alarms: Alarms, patience: float, waits: Waits
    ) -> None:
        self._quarantine = quarantine
        self._waits = waits
        self.is_open = (
            True  # an Envoy that does not subscribe to all clusters orders changes itself
        )
        # Until when parts wait for each. An entry that was given up stays, so nothing waits for it
        # again.
        self.closed: dict[Name, float] = {}
        self._store = store
        self._alarms = alarms
        self._patience = patience
        self._waiting: defaultdict[Name, set[_Held]] = defaultdict(set)
        self._ending: dict[float, list[Collection[Name]]] = {}

    def close(self, names: Iterable[Name]) -> None:
        """Makes parts wait for resources that have not been sent yet, without a limit until they
        are sent."""
        self.closed.update(dict.fromkeys(names, inf))

    def begin(self, names: Collection[Name], now: float) -> None:
        """Makes parts wait for resources that the Envoy has, and starts the time limit."""
        if names:
            self._end_at(now + self._patience, names)

    def start(self, names: Iterable[Name], now: float) -> None:
        """Starts the time limit for resources that were sent, if their gates are closed."""
        closed = [it for it in names if it in self.closed]
        if closed:
            self._end_at(now + self._patience, closed)

    def open(self, name: Name, now: float) -> None:
        """Releases the parts that wait for a resource, which is ready or gone."""
        until = self.closed.pop(name, None)
        held = self._waiting.pop(name, ())
        if held and until is not None and now < until < inf:
            self._waits.ended += 1
            self._waits.seconds += now - (until - self._patience)
        self._let(held, now)

    def open_all(self, names: Iterable[Name], now: float) -> None:
        """The same for each of these."""
        if self._waiting:
            for name in names:
                self.open(name, now)
            return
        for name in names:
            self.closed.pop(name, None)
        if not self.closed:
            self.closed = {}  # a dict keeps the memory of removed entries

    @property
    def held(self) -> int:
        """The number of parts that wait."""
        return len({it for held in self._waiting.values() for it in held})

    def free(self, type_url: str, names: Sequence[str]) -> Sequence[str]:
        """The resources of which no part may have to wait; they need not exist."""
        if type_url not in GATED or self.is_open or not self._may_block:
            return names
        known = self._store.types[type_url]
        return [it for it in names if it not in known or not _needs_any(known[it])]

    @property
    def _may_block(self) -> bool:
        """Whether there is any resource that a part may have to wait for."""
        return bool(self.closed or self._store.lacking)

    def offer(self, to: Subscription, resource: Resource, before: Baseline, now: float) -> None:
        """Sends the newest state of a resource, except for the parts that have to wait; the stream
        has `before`."""
        name = resource.name.name
        blocked = self._blocked(resource, before, now)
        if before.is_unknown:
            to.drop_overrides(name)
            if self._is_lacking(to, name):
                return
        if before.is_unknown and blocked:
            # It is unknown which parts the stream has, so none can be kept: all of them wait.
            to.unmark_all(name)
            awaits = frozenset[Name]().union(*blocked.values())
            self._hold(to, name, "", Override(None, awaits, is_whole=True))
            return
        for part in list(before.parts):
            if self.keep_accepted(to, name, part, before.parts[part], resource.parts.get(part)):
                del before.parts[part]
        for part, awaits in blocked.items():
            if before.tells(part):  # kept parts have been removed from it
                self._hold(to, name, part, Override(before.parts.get(part), awaits))
        if not to.is_head_held(name):
            to.mark(name, before)

    def _is_lacking(self, to: Subscription, name: str) -> bool:
        """Whether a part of a resource is not served at all because it was refused. An Envoy that
        may still have an older value keeps it."""
        words = self._quarantine.lacking(Name(to.type_url, name), to.resource(name))
        if words:
            to.unmark_all(name)
            to.override(name, "", Override(None, refusal=words, is_whole=True))
            to.settle((name,))
        return bool(words)

    def replace(
        self, to: Subscription, resource: Resource, part: str, before: Part | None, now: float
    ) -> None:
        """Sends a changed part, or makes it wait; `before` is what was served until now."""
        name = resource.name.name
        if to.is_unknown(name) and self._is_lacking(to, name):
            return
        known = to.overrides_of(name).get(part)
        value = known.value if known else to.sent(name, part, before)
        newest = resource.parts.get(part)
        awaits = self._blockers(newest, now) if to.type_url in GATED else frozenset[Name]()
        if self.keep_accepted(to, name, part, value, newest):
            to.unmark(name, part)
        elif awaits and to.is_unknown(name):
            self.offer(to, resource, state.unknown(), now)
        elif awaits and not is_same(newest, value):
            to.unmark(name, part)
            self._hold(to, name, part, Override(value, awaits))
        elif known is not None:
            self.release(to, name, part, now)
        else:
            to.mark(name, Baseline({part: before}))

    def keep_accepted(
        self, to: Subscription, name: str, part: str, value: Part | None, newest: Part | None
    ) -> bool:
        """Keeps the Envoy's value of a part whose newest value is refused. Returns whether it does.
        Nothing is served instead of the refused value, but the part was not removed either."""
        refusal = self._quarantine.refusal(Name(to.type_url, name), part)
        if refusal is None or not refusal.is_met_by(newest):
            return False
        if value is None or is_same(value, refusal.part) or is_same(value, newest):
            return False
        to.override(name, part, Override(value, refusal=refusal.words))
        return True

    def release(self, to: Subscription, name: str, part: str, now: float) -> None:
        """Ends an override: the newest value is served again."""
        resource = to.resource(name)
        if resource is not None and to.overrides[name][part].is_whole:
            to.lift(name, part)
            self.offer(to, resource, state.unknown(), now)
        else:
            to.serve_newest(name, part)

    def forget(self, by: Subscription) -> None:
        """A stream has ended: nothing is released on it any more."""
        for held in self._waiting.values():
            held.difference_update([it for it in held if it.to is by])

    def _blocked(
        self, resource: Resource, before: Baseline, now: float
    ) -> dict[str, frozenset[Name]]:
        """The parts that have to wait, each with the resources for which it waits, among those to
        be sent to an Envoy that has `before`."""
        if resource.name.type_url not in GATED or not self._may_block:
            return {}
        is_any = before.is_whole or before.is_unknown
        parts = resource.parts if is_any else before.parts.keys() & resource.parts.keys()
        needy = ((part, it) for part in parts if (it := resource.parts[part]).needs)
        waits = ((part, self._blockers(it, now)) for part, it in needy)
        return {part: awaits for part, awaits in waits if awaits}

    def _blockers(self, part: Part | None, now: float) -> frozenset[Name]:
        """The resources that a part needs and has to wait for."""
        if part is None or self.is_open:
            return frozenset()
        absent = self._store.lacking
        lacking = [it for it in part.needs if it in absent and it not in self.closed]
        if lacking:
            self._end_at(now + self._patience, lacking)
        return frozenset(it for it in part.needs if self._is_closed(it, now))

    def _is_closed(self, name: Name, now: float) -> bool:
        return name in self.closed and self.closed[name] > now

    def _hold(self, to: Subscription, name: str, part: str, override: Override) -> None:
        to.override(name, part, override)
        for it in override.awaits:
            self._waiting[it].add(_Held(to, name, part))

    def _let(self, held: Iterable[_Held], now: float) -> None:
        """Releases the parts that wait for nothing else."""
        for to, name, part in held:
            override = to.overrides_of(name).get(part)
            if override is None or not override.awaits:
                continue
            if not any(self._is_closed(it, now) for it in override.awaits):
                self.release(to, name, part, now)

    def _end_at(self, when: float, names: Collection[Name]) -> None:
        """Schedules giving up resources; those with the same time share an alarm."""
        self.closed.update(dict.fromkeys(names, when))
        if when in self._ending:
            self._ending[when].append(names)
        else:
            self._ending[when] = [names]
            self._alarms.set(when, lambda now: self._give_up(when, now))

    def _give_up(self, when: float, now: float) -> None:
        for name in chain.from_iterable(self._ending.pop(when)):
            if self.closed.get(name, inf) <= now:
                held = self._waiting.pop(name, ())
                self._waits.given_up += bool(held)
                self._let(held, now)


def _needs_any(resource: Resource) -> bool:
    return any(it.needs for it in resource.parts.values())

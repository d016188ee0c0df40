"""Which parts are held back on one Envoy until what they need is ready there.

No wait is longer than `patience`: what can never be ready delays the parts that need it, once,
and nothing else. What is ready when is decided in `warming`.

    needed ── new ── sent ──────── ready ───► the parts that need it are released
               (no limit) └─ patience ──────► given up: they are released all the same
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
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
    """How long parts have waited at the gates of a fleet, since it is served."""

    ended: int = 0  # for what they needed, which got ready
    seconds: float = 0.0  # of those, together, from when it was sent
    given_up: int = 0  # what was waited for in vain


class Gates:
    """The gates of one Envoy. Only what is not ready takes memory."""

    def __init__(
        self, store: Store, quarantine: Quarantine, alarms: Alarms, patience: float, waits: Waits
    ) -> None:
        self._quarantine = quarantine
        self._waits = waits
        self.is_open = True  # an Envoy that does not ask for all clusters orders its own changes
        # Until when each is waited for. What was given up stays: nobody waits for it again.
        self.closed: dict[Name, float] = {}
        self._store = store
        self._alarms = alarms
        self._patience = patience
        self._waiting: defaultdict[Name, set[_Held]] = defaultdict(set)
        self._ending: dict[float, list[Name]] = {}

    def close(self, name: Name) -> None:
        """A resource that is yet to be sent. There is no limit before it is."""
        self.closed[name] = inf

    def start(self, name: Name, now: float) -> None:
        """The wait for a resource begins, if it is waited for."""
        if name in self.closed:
            self._end_at(now + self._patience, name)

    def open(self, name: Name, now: float) -> None:
        """The resource is ready, or is no more: nothing has to wait for it."""
        until = self.closed.pop(name, None)
        held = self._waiting.pop(name, ())
        if held and until is not None and now < until < inf:
            self._waits.ended += 1
            self._waits.seconds += now - (until - self._patience)
        self._let(held, now)

    @property
    def held(self) -> int:
        """How many parts wait."""
        return len({it for held in self._waiting.values() for it in held})

    def offer(self, to: Subscription, resource: Resource, before: Baseline, now: float) -> None:
        """A resource the stream does not have as it is now."""
        name = resource.name.name
        blocked = self._blocked(resource, now)
        if before.is_unknown:
            to.drop_overrides(name)
            if self._is_lacking(to, name):
                return
        if before.is_unknown and blocked:
            # Which parts it has is not known, so none of them can be kept as it is: all wait.
            to.unmark_all(name)
            awaits = frozenset[Name]().union(*blocked.values())
            self._hold(to, name, "", Override(None, awaits, is_whole=True))
            return
        for part in list(before.parts):
            if self.keep_accepted(to, name, part, before.parts[part], resource.parts.get(part)):
                del before.parts[part]
        for part, awaits in blocked.items():
            if before.tells(part):
                self._hold(to, name, part, Override(before.parts.get(part), awaits))
        if not to.is_head_held(name):
            to.mark(name, before)

    def _is_lacking(self, to: Subscription, name: str) -> bool:
        """Whether a refused part is served to nobody: who may have it of old is left untouched."""
        words = self._quarantine.lacking(Name(to.type_url, name), to.resource(name))
        if words:
            to.unmark_all(name)
            to.override(name, "", Override(None, refusal=words, is_whole=True))
            to.settle(name)
        return bool(words)

    def replace(
        self, to: Subscription, resource: Resource, part: str, before: Part | None, now: float
    ) -> None:
        """A part that changed; `before` is what was served until now."""
        name = resource.name.name
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
        """Keeps what the other side has of a part of which, for its successor is refused, nothing
        is served: nobody wanted it gone. Returns whether that is so."""
        refusal = self._quarantine.refusal(Name(to.type_url, name), part)
        if refusal is None or not refusal.is_met_by(newest):
            return False
        if value is None or is_same(value, refusal.part) or is_same(value, newest):
            return False
        to.override(name, part, Override(value, refusal=refusal.words))
        return True

    def release(self, to: Subscription, name: str, part: str, now: float) -> None:
        """Serves the newest again in place of an override."""
        resource = to.resource(name)
        if resource is not None and to.overrides[name][part].is_whole:
            to.lift(name, part)
            self.offer(to, resource, state.unknown(), now)
        else:
            to.serve_newest(name, part)

    def _blocked(self, resource: Resource, now: float) -> dict[str, frozenset[Name]]:
        """The parts of a resource that have to wait, and for what."""
        if resource.name.type_url not in GATED:
            return {}
        waits = ((part, self._blockers(it, now)) for part, it in resource.parts.items())
        return {part: awaits for part, awaits in waits if awaits}

    def _blockers(self, part: Part | None, now: float) -> frozenset[Name]:
        """What a part needs and has to wait for."""
        if part is None or self.is_open:
            return frozenset()
        for name in part.needs:
            if name not in self.closed and self._store.resource(name) is None:
                self._end_at(now + self._patience, name)
        return frozenset(it for it in part.needs if self._is_closed(it, now))

    def _is_closed(self, name: Name, now: float) -> bool:
        return name in self.closed and self.closed[name] > now

    def _hold(self, to: Subscription, name: str, part: str, override: Override) -> None:
        to.override(name, part, override)
        for it in override.awaits:
            self._waiting[it].add(_Held(to, name, part))

    def _let(self, held: Iterable[_Held], now: float) -> None:
        """Releases those that wait for nothing else."""
        for to, name, part in held:
            override = to.overrides_of(name).get(part)
            if override is None or not override.awaits:
                continue
            if not any(self._is_closed(it, now) for it in override.awaits):
                self.release(to, name, part, now)

    def _end_at(self, when: float, name: Name) -> None:
        """Gives a resource up at a time, together with the others of that time."""
        self.closed[name] = when
        if when in self._ending:
            self._ending[when].append(name)
        else:
            self._ending[when] = [name]
            self._alarms.set(when, lambda now: self._give_up(when, now))

    def _give_up(self, when: float, now: float) -> None:
        for name in self._ending.pop(when):
            if self.closed.get(name, inf) <= now:
                held = self._waiting.pop(name, ())
                self._waits.given_up += bool(held)
                self._let(held, now)

"""What is not ready on one Envoy, and which parts are held back there until it is.

A cluster is ready once it was sent and its endpoints were acknowledged. The acknowledgement of
the cluster itself proves as much but is never waited for: Envoy withholds it while *any* cluster
warms, so one silent DNS name would freeze everybody. No wait is longer than `patience`: a cluster
that can never warm delays its own routes, once, and nobody else's.

    cluster new ── sent ──────── endpoints acknowledged ─► ready: parts that need it are released
       (no limit)   └─ patience ─────────────────────────► given up: released all the same
"""

from collections import defaultdict
from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from contour.xds.resources import Name, Part
from contour.xds.store import Store
from contour.xds.subscription import Subscription


class Held(NamedTuple):
    """A part that waits on one stream."""

    subscription: Subscription
    name: str
    part: str


class Gates:
    """The gates of one Envoy. Only what is not ready takes memory."""

    def __init__(self, store: Store, patience: float) -> None:
        self._store = store
        self._patience = patience
        # Until when each is waited for. One that was given up stays: nobody waits for it again.
        self.cold: dict[Name, float] = {}
        self._waiting: defaultdict[Name, set[Held]] = defaultdict(set)

    def close(self, name: Name) -> None:
        """A resource that has not been sent yet. There is no limit before it is."""
        self.cold[name] = inf

    def start(self, name: Name, now: float) -> bool:
        """The wait for a resource begins, if it is waited for."""
        if name not in self.cold:
            return False
        self.cold[name] = now + self._patience
        return True

    def blockers(self, part: Part, now: float) -> frozenset[Name]:
        """What the part needs and must wait for."""
        for name in part.needs:
            if name not in self.cold and self._store.resource(name) is None:
                self.cold[name] = now + self._patience
        return frozenset(name for name in part.needs if self.is_closed(name, now))

    def is_closed(self, name: Name, now: float) -> bool:
        return name in self.cold and self.cold[name] > now

    def wait(self, held: Held, names: frozenset[Name]) -> None:
        for name in names:
            self._waiting[name].add(held)

    def open(self, name: Name) -> Iterator[Held]:
        """The resource is ready: whoever may be released by it."""
        self.cold.pop(name, None)
        return iter(self._waiting.pop(name, ()))

    def remove(self, name: Name) -> None:
        """The resource is no more. Nothing that is served needs it, or it would have stayed."""
        self.cold.pop(name, None)
        self._waiting.pop(name, None)

    def expired(self, name: Name, now: float) -> Iterator[Held]:
        """Whoever waited for a resource for too long."""
        if self.cold.get(name, inf) <= now:
            return iter(self._waiting.pop(name, ()))
        return iter(())

    def users(self, name: Name) -> Iterator[Name]:
        """The resources not ready here that use this one."""
        return (user for user, _ in self._store.users.get(name, ()) if user in self.cold)

"""Paces frequent changes of listeners, each of which costs every Envoy memory for a while.

Envoy keeps what a new listener replaces until the drain time is over (half a megabyte for each
change with a thousand TLS hosts). So the first few changes are sent at once; of those that follow
without a pause, all within an interval are sent together. No change waits longer than an interval.

A new listener does not wait, unless another one is to be removed, whose address it may have.
Endpoints, clusters, secrets and routes do not wait, except for routes of a host whose part of the
listener waits in the same publication: its new routes may only be safe for connections with the new
TLS terms. Removals of such a host wait, too.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from contour.xds.resources import LISTENER, ROUTE, SCOPE, SECRET, Change, Name, PartKey
from contour.xds.store import Store


@dataclass(frozen=True, slots=True)
class Pace:
    """How often listeners change. An interval of 0 paces nothing."""

    interval: float = 0.75
    """Seconds between two changes, in the long run."""
    burst: int = 5
    """The number of changes after a pause that are not delayed."""


class Pacing:
    """The waiting changes of one fleet. Times are in seconds."""

    def __init__(self, store: Store, pace: Pace) -> None:
        self._store = store
        self._pace = pace
        self._waiting: dict[PartKey, Change] = {}  # the newest change of each part
        self._spent_until = float("-inf")  # when the budget of all past changes is restored

    @property
    def waiting(self) -> int:
        """The number of parts that wait."""
        return len(self._waiting)

    def is_waiting(self, name: Name) -> bool:
        """Whether a part of a resource waits."""
        return any(it == name for it, _ in self._waiting)

    def put_off(
        self, changes: list[Change], now: float, *, has_envoys: bool
    ) -> tuple[list[Change], float | None]:
        """The changes without those that have to wait, and with those that have waited; and the
        time at which the wait ends, if these are the first to wait."""
        paced = any(map(self._is_paced, changes))
        if not has_envoys or not (self._waiting or paced):
            return self._released(changes), None
        if self._due <= now:
            self._spent_until = max(self._spent_until, now) + self._pace.interval
            return self._released(changes), None
        was_waiting = bool(self._waiting)
        hosts, leaves = self._concerned(changes), self._leaves(changes)
        passed: list[Change] = []
        for change in changes:
            key = (change.name, change.part)
            waits = self._waits(change, hosts) or (leaves and change.name.type_url == LISTENER)
            if waits or key in self._waiting:
                self._waiting[key] = change
            else:
                passed.append(change)
        return passed, None if was_waiting else self._due

    @property
    def _due(self) -> float:
        """When listeners may change again."""
        return self._spent_until - self._pace.interval * (self._pace.burst - 1)

    def _released(self, changes: list[Change]) -> list[Change]:
        waited, self._waiting = self._waiting, {}
        return [*(waited | {(it.name, it.part): it for it in changes}).values()]

    def _is_paced(self, change: Change) -> bool:
        """Whether a change replaces or removes an existing listener. A new listener replaces
        nothing."""
        return change.name.type_url == LISTENER and self._store.resource(change.name) is not None

    def _waits(self, change: Change, hosts: set[str]) -> bool:
        type_url = change.name.type_url
        if type_url == LISTENER:
            return self._is_paced(change)
        if type_url in {ROUTE, SCOPE, SECRET} and change.part == "":
            return change.value is None
        return type_url == ROUTE and not hosts.isdisjoint(self._hosts(change))

    def _leaves(self, changes: Iterable[Change]) -> bool:
        """Whether the removal of a listener waits. Then a new one has to wait, too: it may have the
        same address, which Envoy allows for one listener at a time."""
        every = (*changes, *self._waiting.values())
        return any(it.part == "" and it.value is None and self._is_paced(it) for it in every)

    def _concerned(self, changes: Iterable[Change]) -> set[str]:
        """The hosts whose part in a listener changes."""
        paced = (it for it in changes if self._is_paced(it))
        return {host for it in paced for host in self._hosts(it)}

    def _hosts(self, change: Change) -> tuple[str, ...]:
        """The hosts that a change is about, before or after it."""
        resource = self._store.resource(change.name)
        before = resource.parts.get(change.part) if resource else None
        return (*(change.value.hosts if change.value else ()), *(before.hosts if before else ()))

"""Changes of listeners, paced while they go on and on: each costs every Envoy memory for a while.

Envoy keeps what a new listener replaces until the drain time is over (half a megabyte a change
where there are a thousand TLS hosts), whoever asked for the change. So the first few changes go out
at once, and of those that follow without a pause all that come within an interval go out together.
Nobody waits longer than an interval.

Endpoints, clusters, secrets and routes do not wait, but for routes of a host of which the
listener's part of the same publication waits: its new route may be good only for connections on
its new terms. What such a host is to lose waits, too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contour.xds.resources import LISTENER, ROUTE, SCOPE, SECRET, Change, Name

if TYPE_CHECKING:
    from contour.xds.envoy import Envoy
    from contour.xds.fleet import Fleet

_Place = tuple[Name, str]


@dataclass(frozen=True, slots=True)
class Pace:
    """How often listeners change. An interval of 0 paces nothing."""

    interval: float = 0.75
    """Seconds between two changes, in the long run."""
    burst: int = 5
    """So many after a pause are not delayed."""


class Pacing:
    """What of one fleet's publications waits."""

    def __init__(self, fleet: "Fleet") -> None:
        self._fleet = fleet
        self._pace = fleet.patience.pace
        self._waiting: dict[_Place, Change] = {}  # the newest of each place
        self._spent_until = float("-inf")  # when every change that was made is paid for

    @property
    def waiting(self) -> int:
        """How many parts wait."""
        return len(self._waiting)

    def put_off(self, changes: Iterable[Change]) -> list[Change]:
        """The changes without those that wait, and with those that have waited."""
        now, changes = self._fleet.clock(), list(changes)
        paced = any(map(self._is_paced, changes))
        if not self._fleet.envoys or not (self._waiting or paced):
            return self._released(changes)
        if self._due <= now:
            self._spent_until = max(self._spent_until, now) + self._pace.interval
            return self._released(changes)
        was_waiting = bool(self._waiting)
        hosts = self._concerned(changes)
        passed: list[Change] = []
        for change in changes:
            place = (change.name, change.part)
            if place in self._waiting or self._waits(change, hosts):
                self._waiting[place] = change
            else:
                passed.append(change)
        if not was_waiting:
            for envoy in self._fleet.envoys:
                self._set_alarm(envoy)
        return passed

    def joined(self, envoy: "Envoy") -> None:
        """Another Envoy is there; those that were to end the wait may leave."""
        if self._waiting:
            self._set_alarm(envoy)

    @property
    def _due(self) -> float:
        """When listeners may change the next time."""
        return self._spent_until - self._pace.interval * (self._pace.burst - 1)

    def _released(self, changes: list[Change]) -> list[Change]:
        waited, self._waiting = self._waiting, {}
        return [*(waited | {(it.name, it.part): it for it in changes}).values()]

    def _set_alarm(self, envoy: "Envoy") -> None:
        envoy.alarms.set(self._due, lambda _: self._fleet.publish(()))

    def _is_paced(self, change: Change) -> bool:
        """Whether a listener is another one for it. Nothing is replaced by one that is new."""
        return (
            change.name.type_url == LISTENER and self._fleet.store.resource(change.name) is not None
        )

    def _waits(self, change: Change, hosts: set[str]) -> bool:
        type_url = change.name.type_url
        if type_url == LISTENER:
            return self._is_paced(change)
        if type_url in {ROUTE, SCOPE, SECRET} and change.part == "":
            return change.value is None
        return type_url == ROUTE and not hosts.isdisjoint(self._hosts(change))

    def _concerned(self, changes: Iterable[Change]) -> set[str]:
        """The hosts whose part in a listener changes."""
        paced = (it for it in changes if self._is_paced(it))
        return {host for it in paced for host in self._hosts(it)}

    def _hosts(self, change: Change) -> tuple[str, ...]:
        """The hosts that a change is about, as it will be or as it was."""
        resource = self._fleet.store.resource(change.name)
        before = resource.parts.get(change.part) if resource else None
        return (*(change.value.hosts if change.value else ()), *(before.hosts if before else ()))

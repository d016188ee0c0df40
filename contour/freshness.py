"""Whether this replica is as current as the leader, or serves Envoys outdated configuration.

A replica goes on serving what it knows while the API server does not answer it. That is right if no
replica knows more: there is only one, or all are cut off. It is wrong if the leader knows more, for
then Envoys should connect to a replica that is current. So the leader answers each sign of life
with its status (`contour.envoyreports.encoding.LeaderStatus`), and a replica compares itself with
it. The replica is outdated if

- none of its requests has been answered for a while, not even that for the Lease; or
- it lacks events that the leader received a while ago, as when one watch is dead and all else
  works.

Times are in seconds of the event loop's clock.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from contour.envoyreports.encoding import LeaderStatus
from contour.kubernetes.cluster import Collection

FORGOTTEN = 6.0
"""Seconds after which the status of a leader counts as unknown; it is sent every two seconds."""


class Position(NamedTuple):
    """Up to which resourceVersions a collection is known."""

    event: int
    """That of the newest event since the last list; 0 if there was none."""
    known: int
    """Everything up to this one is known; 0 if nobody can tell."""


Positions = Callable[[], Iterator[tuple[str, Position]]]
"""Of each collection, by its name."""


def positions(of: Iterable[Collection]) -> Iterator[tuple[str, Position]]:
    """How far each collection is known."""
    for kind, namespace, _, state in of:
        name = f"{kind} in {namespace}" if namespace else kind
        yield name, Position(state.event, state.known)


class _Lag(NamedTuple):
    until: int  # an event of the leader that we have not received
    since: float


@dataclass(slots=True)
class Freshness:
    """Compares what this replica knows with what the leader says."""

    patience: float
    """Seconds after which a missing answer or event counts."""
    silence: Callable[[], float]
    """For how many seconds the API server has answered no request."""
    positions: Positions
    clock: Callable[[], float]
    _leader: LeaderStatus | None = None
    _heard_at: float = 0.0
    _lags: dict[str, _Lag] = field(default_factory=dict)

    def leader_status(self, *, is_leader: bool, build: str, peers: tuple[str, ...]) -> LeaderStatus:
        """What this replica tells its followers while it leads."""
        is_current = is_leader and self.silence() < self.patience / 2
        events = {name: it.event for name, it in self.positions() if it.event}
        return LeaderStatus(build, is_current, events, peers)

    def take(self, found: LeaderStatus | None, *, is_comparable: bool) -> None:
        """Takes the status of the leader; None: we are not connected to one. `is_comparable`: its
        build is ours, so that both follow the same collections."""
        self._leader, self._heard_at = found, self.clock()
        if found is None:
            self._lags.clear()
            return
        known = {name: it.known for name, it in self.positions()}
        told: Mapping[str, int] = found.events if is_comparable else {}
        missed = {name: event for name, event in told.items() if 0 < known.get(name, 0) < event}
        self._lags = {name: self._lag(name, known[name], it) for name, it in missed.items()}

    @property
    def lack(self) -> str:
        """Why Envoys get outdated configuration here but would not from the leader; empty if they
        do not."""
        if self._leader is None or self.clock() - self._heard_at >= FORGOTTEN:
            return ""
        silence = self.silence()
        if self._leader.is_current and silence >= self.patience:
            return f"the API server has not answered for {silence:.0f} s, but it answers the leader"
        behind = [it for it, lag in self._lags.items() if self._age(lag) >= self.patience]
        return f"the leader has newer objects: {', '.join(sorted(behind))}" if behind else ""

    def _lag(self, name: str, known: int, event: int) -> _Lag:
        """The first missing event counts until it has arrived; then the newest one."""
        before = self._lags.get(name)
        if before is not None and known < before.until <= event:
            return before
        return _Lag(event, self.clock())

    def _age(self, lag: _Lag) -> float:
        return self.clock() - lag.since

"""How a collection is doing that is followed: in which state, since when, and who has to be told.

For `kube.reflector`, which knows what happens to it; read by health, metrics and people. What
passes by itself within a moment is seen in the state, and is no trouble to anybody.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kube import errors

Phase = Literal["starting", "current", "failing", "denied", "absent"]


@dataclass(slots=True)
class State:
    """Plain values, of this moment."""

    phase: Phase = "starting"
    reason: str = ""  # why it is not current
    trouble: str = ""  # the same, if it has been so for a while
    is_listed: bool = False  # it has been, and its objects are known
    objects: int = 0
    events: int = 0
    bytes: int = 0  # of the events
    lists: int = 0
    watches: int = 0
    failures: int = 0
    last_event: float | None = None  # by the clock of the event loop
    event: int = 0  # resourceVersion of the newest event since the last list; 0 if there was none
    known: int = 0  # the resourceVersion up to which everything is known; 0 if nobody can tell


class Health:
    """Keeps the phase of a state, and tells of trouble once for each illness: as soon as it has
    lasted for the grace, however long the pause until the next attempt is."""

    def __init__(self, state: State, grace: float, tell: Callable[[str], None]) -> None:
        self._state = state
        self._grace = grace  # seconds
        self._tell = tell
        self._ill_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def is_well(self) -> None:
        """It is being watched."""
        self._recover("current", "")

    def is_absent(self, reason: str) -> None:
        """There is nothing to watch."""
        self._recover("absent", reason)

    def is_ill(self, error: errors.RequestError) -> None:
        """Something that was asked for was not had."""
        state, loop = self._state, asyncio.get_running_loop()
        is_denied = isinstance(error, errors.Refused) and error.code in {401, 403}
        phase: Phase = "denied" if is_denied else "failing"
        is_news = not state.trouble or state.phase != phase
        state.failures += 1
        state.phase, state.reason = phase, str(error)
        if self._ill_since is None:
            self._ill_since = loop.time()
            self._timer = loop.call_later(self._grace, self._report_present)
        if is_news and loop.time() - self._ill_since >= self._grace:
            self._report(state.reason)

    def close(self) -> None:
        """Nothing is told any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _recover(self, phase: Phase, reason: str) -> None:
        self.close()
        self._state.phase, self._state.reason = phase, reason
        self._ill_since = None
        self._report("")

    def _report_present(self) -> None:
        self._report(self._state.reason)

    def _report(self, trouble: str) -> None:
        if trouble != self._state.trouble:
            self._state.trouble = trouble
            self._tell(trouble)

"""The health of a reflector: its state, since when, and when trouble is reported.

Updated by `kube.reflector`; read by health checks, metrics and people. A failure that passes by
itself within a moment is visible in the state, but not reported as trouble.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from kube import errors

Phase = Literal["starting", "current", "failing", "denied", "absent"]


@dataclass(slots=True)
class State:
    """The current state, as plain values."""

    phase: Phase = "starting"
    reason: str = ""  # why the phase is not `current`
    trouble: str = ""  # the reason, once it has lasted for the grace
    is_listed: bool = False  # the list has succeeded, so its objects are known
    objects: int = 0
    events: int = 0  # of watches, bookmarks too
    bytes: int = 0  # of the events
    lists: int = 0
    watches: int = 0
    failures: int = 0
    last_event: float | None = None  # by the clock of the event loop
    event: int = 0  # resourceVersion of the newest event since the last list; 0 if there was none
    known: int = 0  # the resourceVersion up to which everything is known; 0 if that is not known

    @property
    def is_unsynced(self) -> bool:
        """Whether the API server may have objects and no list of them has succeeded yet."""
        return not self.is_listed and self.phase != "absent"


class Health:
    """Keeps the phase of a state, and reports each trouble once: as soon as it has lasted for the
    grace, however long the pause until the next attempt is."""

    def __init__(self, state: State, grace: float, tell: Callable[[str], None]) -> None:
        self._state = state
        self._grace = grace  # seconds
        self._tell = tell
        self._ill_since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def is_well(self) -> None:
        """The collection is being watched."""
        self._recover("current", "")

    def is_absent(self, reason: str) -> None:
        """The resource is not served."""
        self._recover("absent", reason)

    def is_ill(self, error: errors.RequestError) -> None:
        """A request has failed."""
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
        """Reports nothing any more."""
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

"""When an Envoy that died is restarted, and the messages about that. Pure: no clock.

After a long life it is restarted at once; after 0.1 s, doubling up to 10 s, while it lives for less
than ten seconds.
"""

import math
import signal
from collections.abc import Sequence
from dataclasses import dataclass

_STABLE_SECONDS = 10
_SHORTEST_DELAY = 0.1
_LONGEST_DELAY = 10.0
_LOOP_COUNT = 4


@dataclass(slots=True)
class Crashes:
    """The crashes of Envoy in a row, each after a short life."""

    count: int = 0
    was_ready: bool = False
    _last: str = ""

    def add(self, status: int, seconds: float, lines: Sequence[str]) -> None:
        """Envoy ended with this status after so many seconds; these were its last lines."""
        self.count = 1 if seconds >= _STABLE_SECONDS else self.count + 1
        log = "".join(f"\n    {line}" for line in lines) or " none"
        self._last = f"Envoy {_manner(status)} after {seconds:.1f} s; its last log lines:{log}"

    def fail(self, why: str) -> None:
        """Envoy could not even be started."""
        self.count += 1
        self._last = f"Envoy cannot be started: {why}"

    def note_ready(self) -> None:
        """Envoy serves: the cause of failed starts is gone."""
        self.was_ready = True

    @property
    def delay(self) -> float:
        """Seconds until the next start."""
        return min(math.ldexp(_SHORTEST_DELAY, self.count - 1), _LONGEST_DELAY)

    @property
    def is_crash_loop(self) -> bool:
        """Whether Envoy has never served, and several attempts have failed."""
        return self.count >= _LOOP_COUNT and not self.was_ready

    @property
    def message(self) -> str:
        """The message for the user; empty if Envoy has not died."""
        if not self.count:
            return ""
        times = f" ({self.count} times in a row)" if self.count > 1 else ""
        return f"{self._last}\n  It restarts in {self.delay:.1f} s{times}."

    @property
    def failure(self) -> str:
        """The message for the user when no further attempt is made."""
        return f"{self._last}\n  It failed {self.count} times in a row and never became ready."


def _manner(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    return f"was killed by {signal.Signals(-status).name}"

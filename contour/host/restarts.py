"""When an Envoy that died is restarted, and the messages about that. Pure: no clock.

After a long life it is restarted at once; after 0.1 s, doubling up to 10 s, while it lives for less
than ten seconds.
"""

import math
import signal
from collections.abc import Sequence
from dataclasses import dataclass

_LONG_LIFE = 10
_SHORTEST_DELAY = 0.1
_LONGEST_DELAY = 10.0
_HOPELESS = 4


@dataclass(slots=True)
class Deaths:
    """The deaths in a row, each after a short life."""

    count: int = 0
    has_lived: bool = False
    _last: str = ""

    def add(self, status: int, seconds: float, lines: Sequence[str]) -> None:
        """Envoy ended with this status after so many seconds; these were its last lines."""
        self.count = 1 if seconds >= _LONG_LIFE else self.count + 1
        log = "".join(f"\n    {line}" for line in lines) or " none"
        self._last = f"Envoy {_manner(status)} after {seconds:.1f} s; its last log lines:{log}"

    def forgive(self) -> None:
        """Envoy serves: the cause of failed starts is gone."""
        self.has_lived = True

    @property
    def delay(self) -> float:
        """Seconds until the next start."""
        return min(math.ldexp(_SHORTEST_DELAY, self.count - 1), _LONGEST_DELAY)

    @property
    def are_hopeless(self) -> bool:
        """Whether Envoy has never served, and several attempts have failed."""
        return self.count >= _HOPELESS and not self.has_lived

    @property
    def story(self) -> str:
        """The message for the user; empty if Envoy has not died."""
        if not self.count:
            return ""
        times = f" ({self.count} times in a row)" if self.count > 1 else ""
        return f"{self._last}\n  It restarts in {self.delay:.1f} s{times}."

    @property
    def verdict(self) -> str:
        """The message for the user when no further attempt is made."""
        return f"{self._last}\n  It failed {self.count} times in a row and never became ready."


def _manner(status: int) -> str:
    if status >= 0:
        return f"exited with status {status}"
    return f"was killed by {signal.Signals(-status).name}"

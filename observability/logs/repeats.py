"""Limits repeated log lines: the first few are written, the others are counted.

An unreachable API server, or an Envoy that refuses its configuration, causes the same message many
times a second. Lines with equal text are counted together; different objects make different lines.
The next line that is written has the number of those left out as the field `repeated`.
"""

import logging
from collections import OrderedDict
from dataclasses import dataclass

from observability.logs import lines

BURST = 5
WINDOW = 10.0  # seconds
MOST_KNOWN = 1024


@dataclass(slots=True)
class _Seen:
    since: float
    times: int = 0
    left_out: int = 0


class Repeats(logging.Filter):
    """Lets `BURST` equal lines pass in a `WINDOW`."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: OrderedDict[tuple[str, int, str], _Seen] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        seen = self._of((record.name, record.levelno, lines.message(record)), record.created)
        seen.times += 1
        if seen.times > BURST:
            seen.left_out += 1
            return False
        if seen.left_out:
            record.repeated = seen.left_out
            seen.left_out = 0
        return True

    def _of(self, line: tuple[str, int, str], now: float) -> _Seen:
        seen = self._seen.get(line)
        if seen is None:
            seen = self._seen[line] = _Seen(now)
            while len(self._seen) > MOST_KNOWN:
                self._seen.popitem(last=False)
        elif not 0 <= now - seen.since < WINDOW:
            seen.since, seen.times = now, 0
        self._seen.move_to_end(line)
        return seen

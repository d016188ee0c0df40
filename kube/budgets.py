"""How much may be said in a while: of one object, and of all of them together.

Token buckets. What many objects have in common, such as a Secret that breaks a thousand hosts, is
not told a thousand times at once; an object that somebody edits all day long does not fill the
store of the API server. Times are those of one clock, given by the caller.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple


class Rate(NamedTuple):
    """So much at once, and then one more from time to time."""

    burst: int
    period: float
    """Seconds until there is one more."""


@dataclass(slots=True)
class _Bucket:
    left: float
    since: float

    def spend(self, rate: Rate, now: float) -> bool:
        self.left = min(rate.burst, self.left + (now - self.since) / rate.period)
        self.since = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


class Budgets:
    """One for each key, and one for all."""

    most_known = 10_000
    """Keys: those that were not asked for longest are forgotten, and begin anew."""

    def __init__(self, each: Rate, together: Rate) -> None:
        self._each = each
        self._together = together
        self._all = _Bucket(together.burst, 0.0)
        self._buckets: OrderedDict[Hashable, _Bucket] = OrderedDict()

    def spend(self, key: Hashable, now: float) -> bool:
        """Whether there is one left for this key; it is spent then."""
        found = self._buckets.get(key)
        if found is None:
            found = self._buckets[key] = _Bucket(self._each.burst, now)
            if len(self._buckets) > self.most_known:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key)
        return found.spend(self._each, now) and self._all.spend(self._together, now)

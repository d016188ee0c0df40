"""Rate limits for Events: of one object, and of all of them together.

Token buckets. A cause that many objects share, such as a Secret that breaks a thousand hosts, does
not make a thousand Events at once; an object that is edited all day long does not fill the storage
of the API server. Times are those of one clock, given by the caller.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple


class Rate(NamedTuple):
    """The size of a token bucket, and the time after which one more token is added."""

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
    """One token bucket for each key, and one for all keys together."""

    most_known = 10_000
    """The most keys: the least recently used are forgotten, and begin with a full bucket."""

    def __init__(self, each: Rate, together: Rate) -> None:
        self._each = each
        self._together = together
        self._all = _Bucket(together.burst, 0.0)
        self._buckets: OrderedDict[Hashable, _Bucket] = OrderedDict()

    def spend(self, key: Hashable, now: float) -> bool:
        """Takes a token for this key; False if there is none left."""
        found = self._buckets.get(key)
        if found is None:
            found = self._buckets[key] = _Bucket(self._each.burst, now)
            if len(self._buckets) > self.most_known:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key)
        return found.spend(self._each, now) and self._all.spend(self._together, now)

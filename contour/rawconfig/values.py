"""Which values of Secrets the written and the served revisions need.

The provider keeps only those values of a cluster's Secrets that are known to be needed
(`contour.kubernetes.entries`), so it is notified of these.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable

from crds.meta import NamespacedName
from dag.rawconfig.content import SecretValue


def _nobody(_: NamespacedName, __: frozenset[str]) -> None:
    """Does nothing, where all values are read anyway."""


class Values:
    """The wanted values, each with one or several users."""

    def __init__(self) -> None:
        self.on_change: Callable[[NamespacedName, frozenset[str]], None] = _nobody
        """Takes a Secret whose wanted values have changed, and all wanted keys."""
        self._by_source: dict[Hashable, frozenset[SecretValue]] = {}
        self._counts = Counter[SecretValue]()
        self._keys: defaultdict[NamespacedName, set[str]] = defaultdict(set)

    def want(self, source: Hashable, found: frozenset[SecretValue]) -> None:
        """Sets which values a user wants."""
        before = self._by_source.pop(source, frozenset())
        if found:
            self._by_source[source] = found
        changed = {it.secret for it in found - before if self._add(it)}
        changed |= {it.secret for it in before - found if self._remove(it)}
        for secret in sorted(changed):
            keys = frozenset(self._keys[secret])
            if not keys:
                del self._keys[secret]
            self.on_change(secret, keys)

    def _add(self, value: SecretValue) -> bool:
        """Adds a user of a value. Returns whether it is the first one."""
        self._counts[value] += 1
        self._keys[value.secret].add(value.key)
        return self._counts[value] == 1

    def _remove(self, value: SecretValue) -> bool:
        """Removes a user of a value. Returns whether none is left."""
        self._counts[value] -= 1
        if self._counts[value]:
            return False
        del self._counts[value]
        self._keys[value.secret].discard(value.key)
        return True

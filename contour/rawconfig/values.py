"""Which values of Secrets are named by what is written, and by what is served.

Of the Secrets of a cluster only what is known to be needed is read (`contour.kubernetes.entries`),
so whoever reads them is told of these.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable

from crds.meta import NamespacedName
from dag.rawconfig.content import SecretValue


def _nobody(_: NamespacedName, __: frozenset[str]) -> None:
    """Does nothing: all values are read anyway."""


class Values:
    """The values that are wanted, each by one or several."""

    def __init__(self) -> None:
        self.on_change: Callable[[NamespacedName, frozenset[str]], None] = _nobody
        """Takes a Secret of which other values are wanted than before, and the keys of all."""
        self._by_source: dict[Hashable, frozenset[SecretValue]] = {}
        self._counts = Counter[SecretValue]()
        self._keys: defaultdict[NamespacedName, set[str]] = defaultdict(set)

    def want(self, source: Hashable, found: frozenset[SecretValue]) -> None:
        """Someone wants these values, and no others any more."""
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
        """Whether nobody wanted it before."""
        self._counts[value] += 1
        self._keys[value.secret].add(value.key)
        return self._counts[value] == 1

    def _remove(self, value: SecretValue) -> bool:
        """Whether nobody wants it any more."""
        self._counts[value] -= 1
        if self._counts[value]:
            return False
        del self._counts[value]
        self._keys[value.secret].discard(value.key)
        return True

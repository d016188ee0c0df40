"""The subscriptions of all Envoys of one fleet, by the names that they asked for.

Streams that asked for the same set of names are one *group*, found by a lookup in that set. Only
names by which a stream differs from its group have entries of their own. So the memory of an Envoy
in sync depends on its differences only, and a name is looked up in one set per group: there are at
most as many groups as Envoys, and one if all are in sync.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from contour.xds.envoy import Envoy
from contour.xds.names import Names
from contour.xds.resources import Name
from contour.xds.subscription import Subscription

_MOST_DIFFERENCES = 64
"""A stream that differs by more names than this, and by more than an eighth of its names, changes
its group."""


@dataclass(slots=True)
class _Group:
    """The streams that share a set of names."""

    names: frozenset[str]
    members: dict[Subscription, Envoy] = field(default_factory=dict)


class Interest:
    """The subscriptions of one fleet, each with its Envoy."""

    def __init__(self) -> None:
        self._own: defaultdict[Name, dict[Subscription, Envoy]] = defaultdict(dict)
        self._groups: defaultdict[str, dict[frozenset[str], _Group]] = defaultdict(dict)
        self._wildcards: defaultdict[str, dict[Subscription, Envoy]] = defaultdict(dict)

    def add(self, envoy: Envoy, by: Subscription, names: Collection[str]) -> None:
        """A stream asks for names that it has not asked for yet."""
        if _is_much(by.names.differences + len(names), len(by.names) + len(names)):
            self._share(envoy, by, frozenset(by.names).union(names))
            return
        known = by.names
        for name in names:
            if name in known.shared:
                known.dropped.discard(name)
            else:
                known.added.add(name)
                self._own[Name(by.type_url, name)][by] = envoy

    def remove(self, envoy: Envoy, by: Subscription, name: str) -> None:
        """A stream no longer asks for a name."""
        known = by.names
        if name in known.shared:
            known.dropped.add(name)
            if _is_much(known.differences, len(known)):
                self._share(envoy, by, frozenset(known))
        elif name in known.added:
            known.added.discard(name)
            self._disown(by, name)

    def forget(self, by: Subscription) -> None:
        """A stream has ended."""
        self.remove_wildcard(by)
        for name in by.names.added:
            self._disown(by, name)
        groups = self._groups[by.type_url]
        group = groups.get(by.names.shared)
        if group is not None:
            group.members.pop(by, None)
            if not group.members:
                del groups[group.names]
        by.names = Names()

    def add_wildcard(self, envoy: Envoy, by: Subscription) -> None:
        """A stream asks for everything of its type."""
        by.is_wildcard = True
        self._wildcards[by.type_url][by] = envoy

    def remove_wildcard(self, by: Subscription) -> None:
        by.is_wildcard = False
        self._wildcards[by.type_url].pop(by, None)

    def takers(self, type_url: str) -> set[Envoy]:
        """The Envoys that have asked for everything of a type."""
        return set(self._wildcards[type_url].values())

    def of(self, name: Name) -> Iterator[tuple[Subscription, Envoy]]:
        """The subscriptions that include a resource, by name or as a wildcard."""
        type_url, it = name
        yield from self._wildcards.get(type_url, {}).items()
        for group in self._groups.get(type_url, {}).values():
            if it in group.names:
                for by, envoy in group.members.items():
                    if not by.is_wildcard and it not in by.names.dropped:
                        yield by, envoy
        for by, envoy in self._own.get(name, {}).items():
            if not by.is_wildcard:
                yield by, envoy

    def _share(self, envoy: Envoy, by: Subscription, names: frozenset[str]) -> None:
        """Makes a stream one of those that ask for exactly these names."""
        was_wildcard = by.is_wildcard
        self.forget(by)
        if was_wildcard:
            self.add_wildcard(envoy, by)
        groups = self._groups[by.type_url]
        group = groups.setdefault(names, _Group(names))
        group.members[by] = envoy
        by.names.shared = group.names

    def _disown(self, by: Subscription, name: str) -> None:
        key = Name(by.type_url, name)
        entries = self._own[key]
        entries.pop(by, None)
        if not entries:
            del self._own[key]


def _is_much(differences: int, of: int) -> bool:
    return differences > _MOST_DIFFERENCES and differences * 8 > of

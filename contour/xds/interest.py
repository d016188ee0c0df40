"""Who asked for what in one fleet: the subscriptions of all Envoys by the names they asked for.

The seam of what Envoys in sync could share: an entry stands for one name on one stream.
"""

from collections import defaultdict
from collections.abc import Iterator

from contour.xds.envoy import Envoy
from contour.xds.resources import Name
from contour.xds.subscription import Subscription


class Interest:
    """The subscriptions of one fleet, each with its Envoy."""

    def __init__(self) -> None:
        self._named: defaultdict[Name, dict[Subscription, Envoy]] = defaultdict(dict)
        self._wildcards: defaultdict[str, dict[Subscription, Envoy]] = defaultdict(dict)

    def add(self, envoy: Envoy, by: Subscription, name: str) -> None:
        """A stream asks for a name."""
        by.names.add(name)
        self._named[Name(by.type_url, name)][by] = envoy

    def remove(self, by: Subscription, name: str) -> None:
        by.names.discard(name)
        key = Name(by.type_url, name)
        self._named[key].pop(by, None)
        if not self._named[key]:
            del self._named[key]

    def add_wildcard(self, envoy: Envoy, by: Subscription) -> None:
        """A stream asks for everything of its type."""
        by.is_wildcard = True
        self._wildcards[by.type_url][by] = envoy

    def remove_wildcard(self, by: Subscription) -> None:
        by.is_wildcard = False
        self._wildcards[by.type_url].pop(by, None)

    def takers(self, type_url: str) -> set[Envoy]:
        """The Envoys that asked for everything of a type."""
        return set(self._wildcards[type_url].values())

    def of(self, name: Name) -> Iterator[tuple[Subscription, Envoy]]:
        """Who asked for a resource, by name or with everything."""
        yield from self._wildcards.get(name.type_url, {}).items()
        yield from (it for it in self._named.get(name, {}).items() if not it[0].is_wildcard)

"""What all clients that are served by name refuse at the moment (`byname`)."""

from collections import defaultdict
from collections.abc import Iterator

from contour.xds.resources import Name
from contour.xds.subscription import Subscription


class Declines:
    """The refusals of one fleet."""

    def __init__(self) -> None:
        self._words: defaultdict[Name, dict[Subscription, str]] = defaultdict(dict)

    def counts(self) -> Iterator[tuple[str, int, int]]:
        """For each type, the number of refused resources, and of streams that refuse any."""
        found: defaultdict[str, list[dict[Subscription, str]]] = defaultdict(list)
        for name, said in self._words.items():
            found[name.type_url].append(said)
        for type_url, every in found.items():
            yield type_url, len(every), len(set[Subscription]().union(*every))

    def update(self, by: Subscription, name: Name) -> str | None:
        """Notes whether a client refuses a resource now. Returns the message of a client that does,
        or None if no client does."""
        said = self._words[name]
        words = by.declined.get(name.name)
        if words is not None:
            said[by] = words
        else:
            said.pop(by, None)
        if not said:
            del self._words[name]
        return next(iter(said.values()), None)

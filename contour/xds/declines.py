"""What clients that are served by name refuse at the moment, over all of them (`byname`)."""

from collections import defaultdict

from contour.xds.resources import Name
from contour.xds.subscription import Subscription


class Declines:
    """The refusals of one fleet."""

    def __init__(self) -> None:
        self._words: defaultdict[Name, dict[Subscription, str]] = defaultdict(dict)

    def update(self, by: Subscription, name: Name) -> str | None:
        """Notes whether a client refuses a resource now; what one of those that do says, or None if
        no client does."""
        said = self._words[name]
        words = by.declined.get(name.name)
        if words is not None:
            said[by] = words
        else:
            said.pop(by, None)
        if not said:
            del self._words[name]
        return next(iter(said.values()), None)

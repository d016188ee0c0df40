"""Which parts need a resource. Nearly always it is one, for which a set would take too much
memory."""

from collections.abc import Iterable

from contour.xds.resources import Name, PartKey


class UsersByName:
    """The parts, by the name of the resource that they need."""

    def __init__(self) -> None:
        self._one: dict[Name, PartKey] = {}
        self._more: dict[Name, set[PartKey]] = {}

    def __contains__(self, name: Name) -> bool:
        """Whether any part needs it."""
        return name in self._one or name in self._more

    def of(self, name: Name) -> Iterable[PartKey]:
        """The parts that need it, each once."""
        if (one := self._one.get(name)) is not None:
            return (one,)
        return self._more.get(name, ())

    def add(self, name: Name, user: PartKey) -> None:
        """A part needs it."""
        if (more := self._more.get(name)) is not None:
            more.add(user)
        elif self._one.setdefault(name, user) != user:
            self._more[name] = {self._one.pop(name), user}

    def discard(self, name: Name, user: PartKey) -> None:
        """A part does not need it any more."""
        if (more := self._more.get(name)) is None:
            if self._one.get(name) == user:
                del self._one[name]
            return
        more.discard(user)
        if len(more) == 1:
            self._one[name] = more.pop()
            del self._more[name]

"""The names that one stream asked for of one type.

Envoys in sync ask for the same thousands of names. They share one set of them (`shared`), so what a
stream has of its own are the differences to it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Names:
    """A set of names. `interest` changes it, for it finds subscriptions by these fields."""

    shared: frozenset[str] = frozenset()  # the very object that other streams have, too
    added: set[str] = field(default_factory=set)  # none of which is in `shared`
    dropped: set[str] = field(default_factory=set)  # of `shared`: no longer asked for

    def __contains__(self, name: object) -> bool:
        return name in self.added or (name in self.shared and name not in self.dropped)

    def __iter__(self) -> Iterator[str]:
        yield from self.added
        yield from (it for it in self.shared if it not in self.dropped)

    def __len__(self) -> int:
        return len(self.added) + len(self.shared) - len(self.dropped)

    @property
    def differences(self) -> int:
        """How many names are not as in the shared set."""
        return len(self.added) + len(self.dropped)

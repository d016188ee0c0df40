"""The names that one stream asked for of one type.

Envoys in sync ask for the same thousands of names. They share one set of these (`shared`), so a
stream only stores its differences.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Names:
    """A set of names. Only `interest` changes it, because it finds subscriptions by these
    fields."""

    shared: frozenset[str] = frozenset()  # the same object for several streams
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
        """The number of names in which the set differs from the shared one."""
        return len(self.added) + len(self.dropped)

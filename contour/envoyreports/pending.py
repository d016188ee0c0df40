"""What the connected of a fleet may have yet to accept: its listeners, or the limits of services.

Envoys serve by listeners. Rate limit services serve by limits, each of which is a part of one
resource and belongs to a RateLimitFilter; a filter waits for its own limits and for no others.
Elsewhere: what the replicas report about them, and when that means pending (`merging`).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Protocol

from contour.envoy import names as spelled
from contour.envoyreports.report import ListenerState
from contour.xds.resources import LISTENER, RATE_LIMITS, Name
from crds.meta import ObjectRef
from dag import refusals
from dag.engine.incremental import Engine


class PublishedState(Protocol):
    """What this replica publishes itself; `contour.xds.acceptance`."""

    def names(self, type_url: str) -> Iterable[str]: ...

    def parts(self, name: Name) -> AbstractSet[str]: ...

    def pending_parts(self, name: Name) -> AbstractSet[str]: ...

    def version(self, name: Name) -> str | None: ...

    def digest(self, name: Name, part: str) -> str: ...


class Awaited(Protocol):
    """What may be pending, by name."""

    type_url: str
    """Of the resources of which a change may concern it."""

    def names(self) -> AbstractSet[str]:
        """All that this replica publishes."""
        ...

    def replaced(self, parts: Collection[str]) -> None:
        """Parts of a resource were published anew, or withdrawn."""
        ...

    def concerned(self, names: Collection[str]) -> Collection[str]:
        """What may have changed when these resources have, or what was accepted of them."""
        ...

    def state(self, name: str) -> ListenerState | None:
        """Whether those connected here have accepted it; None for what is gone."""
        ...

    def version(self, name: str) -> str | None:
        """The version that this replica publishes; None: it does not."""
        ...

    def tell(self, pending: AbstractSet[str], moved: Collection[str]) -> None:
        """Writes what is pending on some replica; `moved` is what is or was not before."""
        ...


@dataclass(slots=True)
class Listeners:
    """The listeners of a fleet of Envoys."""

    fleet: str
    engine: Engine
    is_accepted: Callable[[Name], bool]
    published: PublishedState | None
    type_url: str = LISTENER

    def names(self) -> set[str]:
        return set(self.published.names(LISTENER)) if self.published else set()

    def replaced(self, parts: Collection[str]) -> None:
        """Listeners are pending as wholes."""

    def concerned(self, names: Collection[str]) -> Collection[str]:
        return names

    def state(self, name: str) -> ListenerState | None:
        version, is_pending = self.version(name), not self.is_accepted(Name(LISTENER, name))
        return ListenerState(version or "", is_pending) if version or is_pending else None

    def version(self, name: str) -> str | None:
        return self.published.version(Name(LISTENER, name)) if self.published else None

    def tell(self, pending: AbstractSet[str], moved: Collection[str]) -> None:
        if moved:
            self.engine.write(refusals.PENDING, self.fleet, tuple(sorted(pending)) or None)


@dataclass(slots=True)
class Limits:
    """The limits of filters and policies: the parts of the resource but its head."""

    engine: Engine
    published: PublishedState
    type_url: str = RATE_LIMITS
    _here: AbstractSet[str] = frozenset()
    """Those that are pending on a service that is connected here."""
    _replaced: set[str] = field(default_factory=set)
    """Since the last change was told."""
    _of: defaultdict[ObjectRef, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Those that are pending anywhere, by filter or policy."""

    def names(self) -> AbstractSet[str]:
        return self.published.parts(spelled.LIMITS) - {""}

    def replaced(self, parts: Collection[str]) -> None:
        self._replaced.update(parts)

    def concerned(self, names: Collection[str]) -> Collection[str]:
        before, self._here = self._here, self.published.pending_parts(spelled.LIMITS) - {""}
        replaced, self._replaced = self._replaced - {""}, set()
        return before | self._here | replaced

    def state(self, name: str) -> ListenerState | None:
        version = self.version(name)
        return ListenerState(version, name in self._here) if version else None

    def version(self, name: str) -> str | None:
        return self.published.digest(spelled.LIMITS, name) or None

    def tell(self, pending: AbstractSet[str], moved: Collection[str]) -> None:
        for part in moved:
            found = spelled.limited_by(part)
            (self._of[found].add if part in pending else self._of[found].discard)(part)
            if not self._of[found]:
                del self._of[found]
            self.engine.write(refusals.UNTAKEN, found, found in self._of or None)

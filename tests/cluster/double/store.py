"""The store of the API server: the objects, and the log of their changes.

One version counter serves all resources, as in etcd. The whole log is kept; `compact` only moves
the mark before which versions cannot be requested any more. Objects in the store are never changed
in place.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from tests.cluster.double.refusals import expired
from tests.cluster.double.resources import Name

Raw = dict[str, Any]
Place = tuple[str, str]  # namespace and name


class Change(NamedTuple):
    """An object was added, modified or deleted; for a deleted one, `after` is its last state."""

    version: int
    type: Literal["ADDED", "MODIFIED", "DELETED"]
    before: Raw | None
    after: Raw


@dataclass(slots=True)
class Store:
    """The objects of all resources, and their history."""

    version: int = 1
    compacted: int = 0
    _objects: dict[Name, dict[Place, Raw]] = field(default_factory=dict)
    _log: dict[Name, list[Change]] = field(default_factory=dict)
    _growth: asyncio.Event = field(default_factory=asyncio.Event)
    unknown: set[str] = field(default_factory=set)
    """Fields of statuses that no CRD has: writes drop them."""

    def get(self, name: Name, place: Place) -> Raw | None:
        """The object as it is now."""
        return self._objects.get(name, {}).get(place)

    def put(self, name: Name, obj: Raw) -> Raw:
        """Adds or replaces an object; it gets the next version."""
        place = place_of(obj)
        before = self.get(name, place)
        after = self._versioned(obj)
        self._objects.setdefault(name, {})[place] = after
        self._note(name, Change(self.version, "MODIFIED" if before else "ADDED", before, after))
        return after

    def remove(self, name: Name, place: Place) -> Raw:
        """Removes an object; the deletion has a version of its own."""
        before = self._objects[name].pop(place)
        last = self._versioned(before)
        self._note(name, Change(self.version, "DELETED", before, last))
        return last

    def _versioned(self, obj: Raw) -> Raw:
        self.version += 1
        return obj | {"metadata": obj["metadata"] | {"resourceVersion": str(self.version)}}

    def _note(self, name: Name, change: Change) -> None:
        self._log.setdefault(name, []).append(change)
        self.wake()

    def wake(self) -> None:
        """Wakes all who wait for changes."""
        self._growth.set()
        self._growth = asyncio.Event()

    def all(self, name: Name, version: int | None = None) -> list[tuple[Place, Raw]]:
        """The objects of a resource in order, now or as they were at a version."""
        found = dict(self._objects.get(name, {}))
        for change in reversed(self.since(name, self.version if version is None else version)):
            if change.before is None:
                found.pop(place_of(change.after), None)
            else:
                found[place_of(change.before)] = change.before
        return sorted(found.items())

    def since(self, name: Name, version: int) -> list[Change]:
        """The changes of a resource's objects after a version."""
        log = self._log.get(name, [])
        return log[bisect_right(log, version, key=lambda it: it.version) :]

    def demand_history(self, version: int) -> None:
        """Raises a refusal (410) for a version whose history is gone."""
        if version < self.compacted:
            raise expired(f"too old resource version: {version} ({self.compacted})")

    async def grow(self) -> None:
        """Waits for the next change of any object."""
        await self._growth.wait()

    def compact(self) -> None:
        """Drops the history: requests for earlier versions are answered with 410 from now on."""
        self.compacted = self.version

    def snapshot(self) -> "Store":
        """A copy, as in a backup; to restore it makes history go backwards."""
        return Store(
            self.version,
            self.compacted,
            {name: dict(objects) for name, objects in self._objects.items()},
            {name: list(log) for name, log in self._log.items()},
        )


def place_of(obj: Raw) -> Place:
    """The namespace and name under which an object is stored."""
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def objects(store: Store, name: Name) -> Iterator[Raw]:
    """The objects of a resource as they are now, in order."""
    return (obj for _, obj in store.all(name))

"""The versions of the objects of one collection, updated by lists and events of watches.

Pure: it turns answers of an API server into real changes. Events may come twice or out of order; an
object that a list does not have is gone. ResourceVersions of one collection are compared as
integers (Kubernetes API concepts, "Resource versions": documented since 1.35, and true of etcd from
the beginning); any that are not integers are only compared for equality.
"""

from collections.abc import Iterable
from typing import NamedTuple

from crds import raw
from crds.raw import Raw
from kube import errors

Version = int | str

MOST_GONE = 1000  # deleted objects that are kept, as an event about them may come late


class Key(NamedTuple):
    """An object of the collection."""

    namespace: str
    name: str


class Delta(NamedTuple):
    """An object as it is now; None: it is gone."""

    key: Key
    object: Raw | None


class ResourceVersionDecreased(errors.RequestError):
    """The server has an older version than before: it was restored from an older state."""


class VersionCache:
    """The versions of all objects that are there."""

    def __init__(self) -> None:
        self._versions: dict[Key, Version] = {}
        self._gone: dict[Key, Version] = {}
        self._position: Version = ""
        self._is_doubtful = False

    def __len__(self) -> int:
        return len(self._versions)

    @property
    def position(self) -> str:
        """The resourceVersion from which a watch goes on."""
        return str(self._position)

    def reach(self, version: str) -> None:
        """Notes that the server is at this version. Raises ResourceVersionDecreased if it was at a
        newer one."""
        reached = _version(version)
        if _is_older(reached, self._position):
            self._is_doubtful = True
            told = f"the resourceVersion decreased from {self._position} to {reached}"
            raise ResourceVersionDecreased(told)

    def bookmark(self, version: str) -> None:
        """Notes that everything up to this version is known."""
        self.reach(version)
        self._position = _version(version)

    def changed(self, found: Raw) -> Delta | None:
        """An event says that an object exists; returns nothing if that is known."""
        key, version = _identity(found)
        if key is None:
            return None
        self._advance(version)
        last = self._versions.get(key, self._gone.get(key))
        if last is not None and (last == version or _is_older(version, last)):
            return None
        self._gone.pop(key, None)
        self._versions[key] = version
        return Delta(key, found)

    def deleted(self, found: Raw) -> Delta | None:
        """An event says that an object is gone; nothing if another of its name exists by now."""
        key, version = _identity(found)
        if key is None:
            return None
        self._advance(version)
        last = self._versions.get(key)
        if last is not None and _is_older(version, last):
            return None
        self._bury(key, version)
        return None if self._versions.pop(key, None) is None else Delta(key, None)

    def clear(self) -> list[Delta]:
        """The collection itself is gone."""
        gone = [Delta(key, None) for key in self._versions]
        self._versions.clear()
        self._gone.clear()
        self._position, self._is_doubtful = "", False
        return gone

    def listing(self, version: str) -> "Listing":
        """A list begins that is of this version."""
        reached = _version(version)
        is_from_before = self._is_doubtful or _is_older(reached, self._position)
        return Listing(self._versions, is_from_before)

    def finish(self, version: str, listing: "Listing") -> list[Delta]:
        """A list has ended: all that it did not hold is gone."""
        gone = [key for key in self._versions if key not in listing.seen]
        for key in gone:
            del self._versions[key]
        self._gone.clear()
        self._position, self._is_doubtful = _version(version), False
        return [Delta(key, None) for key in gone]

    def _advance(self, version: Version) -> None:
        if not _is_older(version, self._position):
            self._position = version

    def _bury(self, key: Key, version: Version) -> None:
        before = self._gone.pop(key, version)
        self._gone[key] = before if _is_older(version, before) else version
        if len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]


class Listing:
    """A list under way, page by page."""

    def __init__(self, versions: dict[Key, Version], is_from_before: bool) -> None:
        self._versions = versions
        # After a restore, the same version may be that of another content.
        self._is_from_before = is_from_before
        self.seen: set[Key] = set()

    def page(self, items: Iterable[object]) -> list[Delta]:
        """The objects of it that are new or have another version."""
        news: list[Delta] = []
        for found in filter(raw.is_mapping, items):
            key, version = _identity(found)
            if key is None:
                continue
            self.seen.add(key)
            if self._is_from_before or self._versions.get(key) != version:
                self._versions[key] = version
                news.append(Delta(key, found))
        return news


def _identity(found: Raw) -> tuple[Key | None, Version]:
    """The key and version of an object; no key if it has no valid name."""
    metadata = found.get("metadata")
    if not raw.is_mapping(metadata):
        return None, ""
    name, namespace = metadata.get("name"), metadata.get("namespace") or ""
    if not isinstance(name, str) or not name or not isinstance(namespace, str):
        return None, ""
    return Key(namespace, name), _version(metadata.get("resourceVersion"))


def number(text: str) -> int:
    """A resourceVersion as an integer; 0 if it is none."""
    found = _version(text)
    return found if isinstance(found, int) else 0


def _version(text: object) -> Version:
    if not isinstance(text, str):
        return ""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 40 else text


def _is_older(one: Version, other: Version) -> bool:
    return isinstance(one, int) and isinstance(other, int) and one < other

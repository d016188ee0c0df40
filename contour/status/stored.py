"""The status that stands on an object, as far as it is known without asking the API server.

The provider sees every object and tells; for a moment after a write of ours it does not know of it
yet, and we do. So an object that changes twice in a row is written twice, and not refused once.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from crds.kinds import KINDS
from crds.meta import ObjectRef
from crds.raw import Raw, mapping
from kube.resources import Resource


class Known(Protocol):
    """An object as it was seen last, whoever saw it."""

    @property
    def resource_version(self) -> str:
        """Of the whole object."""
        ...

    @property
    def generation(self) -> int:
        """Of its specification."""
        ...

    @property
    def uid(self) -> str:
        """Another one if it was deleted and made again."""
        ...

    @property
    def status(self) -> Raw:
        """Empty if it has none."""
        ...


class Seen(NamedTuple):
    """An object that was read or written by ourselves."""

    resource_version: str
    generation: int
    uid: str
    status: Raw


def seen(found: Raw) -> Seen:
    """What an answer of the API server says of an object."""
    metadata = mapping(found.get("metadata"))
    generation = metadata.get("generation")
    return Seen(
        str(metadata.get("resourceVersion") or ""),
        generation if isinstance(generation, int) else 0,
        str(metadata.get("uid") or ""),
        mapping(found.get("status")),
    )


class Ahead:
    """What the provider knows, and what we have written since."""

    def __init__(self, provider: Callable[[ObjectRef], Known | None]) -> None:
        self._provider = provider
        self._written: dict[ObjectRef, _Written] = {}
        self._most = _MOST

    def known(self, subject: ObjectRef) -> Known | None:
        """The newest that is known of an object."""
        found, own = self._provider(subject), self._written.get(subject)
        if own is None:
            return found
        if found is not None and found.resource_version == own.since:
            return own.found
        del self._written[subject]
        return found

    def is_echo(self, subject: ObjectRef) -> bool:
        """The provider has seen an object again: whether exactly as we wrote it."""
        own = self._written.get(subject)
        found = self._provider(subject) if own is not None else None
        if own is None or found is None or found.resource_version != own.found.resource_version:
            return False
        del self._written[subject]
        return True

    def wrote(self, subject: ObjectRef, found: Known) -> None:
        """We have just made it so."""
        before = self._provider(subject)
        if before is None or before.resource_version == found.resource_version:
            return
        self._written[subject] = _Written(before.resource_version, found)
        if len(self._written) > self._most:
            for it in tuple(self._written):
                self.known(it)
            self._most = max(_MOST, 2 * len(self._written))


class _Written(NamedTuple):
    since: str  # the version that the provider knew then
    found: Known


_MOST = 2_000


def resource(kind: str) -> Resource | None:
    """Where the objects of a kind are, in the version that we write."""
    return _RESOURCES.get(kind)


_RESOURCES = {
    it.kind: Resource(it.group, it.versions[0], it.plural, it.namespaced) for it in KINDS.values()
}

"""The stored status of an object, as far as it is known without asking the API server.

The provider reports every object, but for a moment after our own write it does not know the result,
which we do. So if an object changes twice in a row, the second write does not conflict.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from crds.kinds import KINDS
from crds.meta import ObjectRef
from crds.raw import Raw, mapping
from kube.resources import Resource


class Known(Protocol):
    """An object as last seen, by the provider or by ourselves."""

    @property
    def resource_version(self) -> str:
        """The version of the whole object."""
        ...

    @property
    def generation(self) -> int:
        """The generation of its specification."""
        ...

    @property
    def uid(self) -> str:
        """The uid, which is another one if the object was deleted and created again."""
        ...

    @property
    def status(self) -> Raw:
        """The status; empty if there is none."""
        ...


class Seen(NamedTuple):
    """An object that we have read or written ourselves."""

    resource_version: str
    generation: int
    uid: str
    status: Raw


def seen(found: Raw) -> Seen:
    """An object in an answer of the API server."""
    metadata = mapping(found.get("metadata"))
    generation = metadata.get("generation")
    return Seen(
        str(metadata.get("resourceVersion") or ""),
        generation if isinstance(generation, int) else 0,
        str(metadata.get("uid") or ""),
        mapping(found.get("status")),
    )


class Ahead:
    """The objects of the provider, and what we have written since."""

    def __init__(self, provider: Callable[[ObjectRef], Known | None]) -> None:
        self._provider = provider
        self._written: dict[ObjectRef, _Written] = {}
        self._most = _MOST

    def known(self, subject: ObjectRef) -> Known | None:
        """The newest known state of an object."""
        found, own = self._provider(subject), self._written.get(subject)
        if own is None:
            return found
        if found is not None and found.resource_version == own.since:
            return own.found
        del self._written[subject]
        return found

    def is_echo(self, subject: ObjectRef) -> bool:
        """Whether the provider has now seen an object exactly as we wrote it."""
        own = self._written.get(subject)
        found = self._provider(subject) if own is not None else None
        if own is None or found is None or found.resource_version != own.found.resource_version:
            return False
        del self._written[subject]
        return True

    def wrote(self, subject: ObjectRef, found: Known) -> None:
        """Notes the result of our own write."""
        before = self._provider(subject)
        if before is None or before.resource_version == found.resource_version:
            return
        self._written[subject] = _Written(before.resource_version, found)
        if len(self._written) > self._most:
            for it in tuple(self._written):
                self.known(it)
            self._most = max(_MOST, 2 * len(self._written))


class _Written(NamedTuple):
    since: str  # the resourceVersion that the provider knew then
    found: Known


_MOST = 2_000


def resource(kind: str) -> Resource | None:
    """The API resource of a kind, in the version that we write."""
    return _RESOURCES.get(kind)


_RESOURCES = {
    it.kind: Resource(it.group, it.versions[0], it.plural, it.namespaced) for it in KINDS.values()
}

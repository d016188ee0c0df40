"""What the API server adds to what users wrote: versions, statuses and finalizers.

They are kept as last seen, for the status writer, which compares before it writes and must not
overwrite newer values. They are separate from the models, since otherwise our own writes would look
like changes. A status is kept as bytes: parsed, it would take five times the memory, and it is read
about once.
"""

from collections.abc import Callable
from typing import NamedTuple

import orjson

from crds.kinds import Kind
from crds.meta import ObjectRef
from crds.raw import Raw, at, items, mapping
from kube import managedfields

Hear = Callable[[ObjectRef], None]
"""Takes an object whose status or finalizers have changed."""


class ObservedObject(NamedTuple):
    """An object, as last seen."""

    resource_version: str
    generation: int
    uid: str
    status: Raw
    finalizers: tuple[str, ...] = ()
    is_deleted: bool = False
    """It is there for its finalizers only."""
    managers: frozenset[tuple[str, str]] = frozenset()
    """Finalizers, and the field managers that have put them there."""


class _Stored(NamedTuple):
    resource_version: str
    generation: int
    uid: str
    status: bytes
    finalizers: tuple[str, ...]
    is_deleted: bool
    managers: frozenset[tuple[str, str]]


class Statuses:
    """The statuses of the kinds to which we write one, and of Services with external addresses."""

    def __init__(self) -> None:
        self.hear: Hear = lambda _: None
        self._stored: dict[ObjectRef, _Stored] = {}

    def __len__(self) -> int:
        return len(self._stored)

    def known(self, ref: ObjectRef) -> ObservedObject | None:
        """The object as last seen; None if it does not exist."""
        found = self._stored.get(ref)
        if found is None:
            return None
        return ObservedObject(*found[:3], orjson.loads(found.status), *found[4:])

    def finalizers(self, ref: ObjectRef) -> tuple[str, ...]:
        """The finalizers of the object as last seen, without a look at its status; none if it does
        not exist."""
        found = self._stored.get(ref)
        return found.finalizers if found is not None else ()

    def of(self, kinds: frozenset[str]) -> list[ObjectRef]:
        """Every existing object of these kinds."""
        return [it for it in self._stored if it.kind in kinds]

    def note(self, kind: Kind, ref: ObjectRef, raw: Raw) -> None:
        """Takes an object in this version."""
        if not kind.has_status and not _has_address(kind, raw):
            self.forget(ref)
            return
        before, after = self._stored.get(ref), _stored(raw)
        self._stored[ref] = after
        if before is None or before[3:] != after[3:]:
            self.hear(ref)

    def forget(self, ref: ObjectRef) -> None:
        """Forgets a deleted object."""
        if self._stored.pop(ref, None) is not None:
            self.hear(ref)


def _has_address(kind: Kind, raw: Raw) -> bool:
    """Whether the addresses of a Service may matter: those of the Service in front of Envoy are
    written to Ingresses and HTTPProxies."""
    if kind.kind != "Service":
        return False
    return bool(at(raw, "status", "loadBalancer", "ingress"))


def _stored(raw: Raw) -> _Stored:
    metadata = mapping(raw["metadata"])
    generation = metadata.get("generation")
    return _Stored(
        _text(metadata.get("resourceVersion")),
        generation if isinstance(generation, int) else 0,
        _text(metadata.get("uid")),
        _packed(raw.get("status")),
        tuple(it for it in items(metadata.get("finalizers")) if isinstance(it, str)),
        bool(metadata.get("deletionTimestamp")),
        frozenset(managedfields.of_finalizers(raw)) if metadata.get("finalizers") else frozenset(),
    )


def _text(found: object) -> str:
    return found if isinstance(found, str) else ""


def _packed(status: object) -> bytes:
    """A status as bytes. An unreadable one counts as none, and is replaced."""
    try:
        return orjson.dumps(status) if isinstance(status, dict) else b"{}"
    except TypeError:
        return b"{}"

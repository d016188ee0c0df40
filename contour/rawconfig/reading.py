"""Reads an EnvoyConfig into its content, and reports all errors.

Both spellings of resources give the same content, and equal content has the same version: a hash of
the canonical JSON of the values in order, and of the references to Secrets and EndpointSlices (not
of the contents of these). `written` reads list entries and texts. Comparing a value with the
protobuf definitions is most of the work, so a `Reader` does it only once for a value that does not
change.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple

from contour.envoy import messages, parsing
from contour.envoy.parsing import Before
from contour.rawconfig import federated, written
from contour.rawconfig.written import Notes, Written
from contour.xds import resources
from contour.xds.xdstp import SCHEME
from crds.envoyconfig import EnvoyConfig, ResourceType
from crds.envoyconfigrevision import EnvoyConfigRevision
from crds.meta import NamespacedName
from crds.raw import Raw
from dag.rawconfig.content import Content, Fixed, Item, Reading, Remark, Unread

TYPES: Mapping[ResourceType, str] = {
    "listener": resources.LISTENER,
    "route": resources.ROUTE,
    "scopedRoute": resources.SCOPE,
    "cluster": resources.CLUSTER,
    "endpoint": resources.ENDPOINTS,
    "secret": resources.SECRET,
    "runtime": resources.RUNTIME_LAYER,
    "extensionConfig": resources.EXTENSION,
}


class _Parsed(NamedTuple):
    """A value that was compared with the protobuf definitions; paths are relative to it."""

    name: str
    body: bytes | None
    """The encoded message; None if there is an error."""
    errors: tuple[Remark, ...]
    warnings: tuple[Remark, ...]


_Values = dict[tuple[ResourceType, str], _Parsed]
"""By type and canonical JSON."""
_Named = dict[tuple[ResourceType, str], str]
"""Canonical JSON by type and name."""


class Reader:
    """Reads EnvoyConfigs, and remembers the values of each as it was read last."""

    def __init__(self) -> None:
        self._known: dict[NamespacedName, _Values] = {}
        self.parsed = 0
        """How many values were compared with the protobuf definitions."""

    def reading(self, found: EnvoyConfig) -> Reading:
        """The result of reading an EnvoyConfig."""
        node, notes, key = found.spec.node_id, Notes(), found.metadata.key
        every = list(written.resources(found, notes))
        version = _version(every) if every or not notes.errors else ""
        values = self._known[key] = self.compared(every, self._known.get(key, {}))
        items = [(it, item) for it in every if (item := _item(it, values, notes)) is not None]
        _require_unique(items, notes)
        content = None
        if not notes.errors:
            content = Content(node, version, tuple(item for _, item in items))
        return Reading(node, version, content, tuple(notes.errors), tuple(notes.warnings))

    def forget(self, key: NamespacedName) -> None:
        """Forgets a deleted EnvoyConfig."""
        self._known.pop(key, None)

    def compared(self, every: Iterable[Written], before: _Values | None = None) -> _Values:
        """The values of resources; former values need not be compared again."""
        before, values = before or {}, _Values()
        named: _Named = {(type_, it.name): text for (type_, text), it in before.items()}
        for it in every:
            if it.source is None:
                of = (it.type, it.canonical)
                values[of] = values.get(of) or before.get(of) or self._parsed(it, named, before)
        return values

    def _parsed(self, it: Written, named: _Named, before: _Values) -> _Parsed:
        self.parsed += 1
        field = "cluster_name" if it.type == "endpoint" else "name"
        text = named.get((it.type, str(it.value.get(field))), "")
        older = _before(it.type, text, before.get((it.type, text)))
        message, found = parsing.parsed(TYPES[it.type], it.value, "", older)
        if SCHEME in it.canonical:
            found.warnings += federated.remarks(it.value)
        name, body = "", None
        if message is not None:
            name, body = str(getattr(message, field)), message.SerializeToString(deterministic=True)
            if not name:
                found.errors.append(Remark(f".{field}", "is required"))
        return _Parsed(name, body, tuple(found.errors), tuple(found.warnings))


def _before(type_: ResourceType, text: str, known: _Parsed | None) -> Before | None:
    """A value as it was read before; None if it had errors."""
    if known is None or known.body is None or known.errors or known.warnings:
        return None
    message = messages.TYPES[TYPES[type_]]()
    message.ParseFromString(known.body)
    value: Raw = json.loads(text)
    return Before(value, message)


def unread(found: EnvoyConfigRevision) -> Unread | None:
    """The content of a revision; None if it does not match its version."""
    notes = Notes()
    version = _version(list(written.resources(found, notes)))
    is_whole = not notes.errors and version == found.spec.version
    return Unread(found.spec.node_id, version, found) if is_whole else None


def items(found: Content | Unread) -> tuple[Item, ...]:
    """The resources of a content."""
    if isinstance(found, Content):
        return found.items
    reader, notes = Reader(), Notes()
    every = list(written.resources(found.revision, notes))
    values = reader.compared(every)
    return tuple(item for it in every if (item := _item(it, values, notes)) is not None)


def _version(every: list[Written]) -> str:
    total = blake2b(digest_size=8)
    for it in every:
        total.update(f"{it.type}\0{it.canonical}\0".encode())
    return total.hexdigest()


def _item(it: Written, values: _Values, notes: Notes) -> Item | None:
    if it.source is not None:
        return it.source
    name, body, errors, warnings = values[it.type, it.canonical]
    notes.errors += (Remark(it.path + path, text) for path, text in errors)
    notes.warnings += (Remark(it.path + path, text) for path, text in warnings)
    return Fixed(it.type, name, body) if body is not None and not errors else None


def _require_unique(items: list[tuple[Written, Item]], notes: Notes) -> None:
    first: dict[tuple[ResourceType, str], str] = {}
    for it, item in items:
        known = first.setdefault((it.type, item.name), it.path)
        if known != it.path:
            text = f"the name {item.name!r} is that of {known}, too"
            notes.errors.append(Remark(it.path, text))

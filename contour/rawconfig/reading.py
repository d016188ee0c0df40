"""From an EnvoyConfig to its content, with everything that is wrong with it.

Both spellings of resources come to the same content, and equal content to the same version: a hash
of the canonical JSON of the values in their order, and of what refers to Secrets and EndpointSlices
(not of what is in these). What a list entry or a text says is `written`.
"""

from collections.abc import Mapping
from hashlib import blake2b

from contour.rawconfig import parsing, written
from contour.rawconfig.written import Notes, Written
from contour.xds import resources
from crds.envoyconfig import EnvoyConfig, ResourceType
from dag.rawconfig.content import Content, Fixed, Item, Reading, Remark

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


def reading(found: EnvoyConfig) -> Reading:
    """What came of reading an EnvoyConfig."""
    node, notes = found.spec.node_id, Notes()
    every = list(written.resources(found, notes))
    version = _version(every) if every or not notes.errors else ""
    items = [(it, item) for it in every if (item := _item(it, notes)) is not None]
    _require_unique(items, notes)
    content = None
    if not notes.errors:
        content = Content(node, version, tuple(item for _, item in items))
    return Reading(node, version, content, tuple(notes.errors), tuple(notes.warnings))


def _version(every: list[Written]) -> str:
    total = blake2b(digest_size=8)
    for it in every:
        total.update(f"{it.type}\0{it.canonical}\0".encode())
    return total.hexdigest()


def _item(it: Written, notes: Notes) -> Item | None:
    if it.source is not None:
        return it.source
    message, found = parsing.parsed(TYPES[it.type], it.value, it.path)
    notes.errors += found.errors
    notes.warnings += found.warnings
    if message is None:
        return None
    field = "cluster_name" if it.type == "endpoint" else "name"
    name = str(getattr(message, field))
    if not name:
        notes.errors.append(Remark(f"{it.path}.{field}", "is required"))
        return None
    return Fixed(it.type, name, message.SerializeToString(deterministic=True))


def _require_unique(items: list[tuple[Written, Item]], notes: Notes) -> None:
    first: dict[tuple[ResourceType, str], str] = {}
    for it, item in items:
        known = first.setdefault((it.type, item.name), it.path)
        if known != it.path:
            text = f"the name {item.name!r} is that of {known}, too"
            notes.errors.append(Remark(it.path, text))

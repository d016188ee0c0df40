"""Merges our part of a status into the stored status, so that nothing of others is lost.

Rules: Gateway API, comments on `RouteStatus.parents` and on conditions; Kubernetes API conventions,
"Typical status properties". Conditions are ours by their type, entries of `parents` by the name of
the controller; listeners are always ours. Others' items stay unchanged and in place; ours stay in
place, and keep their `lastTransitionTime` while their status is the same. Fields that we do not set
are not changed.

Elsewhere: the contents (`contour.status.rendering`), when they are written
(`contour.status.writer`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from crds.raw import Raw, is_list, is_mapping, items, mapping
from kube import conditions

Stored = Mapping[str, object]


class Author(NamedTuple):
    """Who writes a status, and when: entries of others stay."""

    controller_name: str
    """Our controller name in the Gateway API."""
    now: str
    """RFC 3339, in whole seconds."""
    most_ancestors: int = 16
    """The maximum number of ancestors in the status."""


def merged(stored: Stored, ours: Raw, author: Author) -> Raw:
    """The merged status."""
    wanted = dict(stored)
    for field, value in ours.items():
        rule = _FIELDS.get(field)
        found = rule(field, stored, _items(ours, field), author) if rule else value
        if field in stored or found not in ([], {}, ""):  # absent and empty mean the same
            wanted[field] = found
    return wanted


def left_out(stored: Stored, ours: Raw, author: Author) -> list[Raw]:
    """Our references for which there is no room, because of entries of others."""
    found: list[object] = []
    for field, reference in _REFERENCES.items():
        own = {_key(it.get(reference)): it.get(reference) for it in _items(ours, field)}
        found += [*own.values()][_room(field, stored, author) :]
    return [it for it in found if is_mapping(it)]


def difference(stored: Stored, wanted: Stored) -> Raw:
    """The JSON merge patch (RFC 7386) from one to the other; empty if they are equal."""
    patch: Raw = {field: None for field in stored if field not in wanted}
    for field, value in wanted.items():
        before = stored.get(field)
        if is_mapping(value) and is_mapping(before):
            if inner := difference(before, value):
                patch[field] = inner
        elif field not in stored or before != value:
            patch[field] = value
    return patch


def is_kept(change: object, found: object) -> bool:
    """Whether a status has everything of a merge patch; it may have more, such as defaults."""
    if is_mapping(change):
        of = found if is_mapping(found) else {}
        return all(
            it not in of if value is None else is_kept(value, of.get(it))
            for it, value in change.items()
        )
    if change == found:
        return True
    if is_list(change):
        return is_list(found) and len(change) == len(found) and all(map(is_kept, change, found))
    return False


def newest_generation(stored: Stored, author: Author) -> int:
    """The newest `observedGeneration` of our conditions.

    Raises ValueError for what is no number.
    """
    told = (it.get("observedGeneration") or 0 for it in own_conditions(stored, author))
    return max((int(str(it)) for it in told), default=0)


def own_conditions(stored: Stored, author: Author) -> Iterator[Raw]:
    """Our conditions, from everywhere in a status."""
    holders: list[tuple[str, Stored]] = [("conditions", stored)]
    holders += [("listeners", it) for it in _items(stored, "listeners")]
    for field in _REFERENCES:
        holders += [(field, it) for it in _items(stored, field) if _is_of(author, it)]
    for field, holder in holders:
        for it in _items(holder, "conditions"):
            if it.get("type") in OWN_TYPES[field]:
                yield it


_OF_PARENTS = frozenset({"Accepted", "PartiallyInvalid", "ResolvedRefs", "UnservedGuard"})
_OF_LISTENERS = frozenset({"Accepted", "Conflicted", "OverlappingTLSConfig", "Programmed"})
_OF_OBJECTS = frozenset(
    {
        "Accepted",
        "AddressesAssigned",
        "InsecureFrontendValidationMode",
        "Programmed",
        "UnservedGuard",
    }
)
_OF_ENVOY_CONFIGS = frozenset({"CacheOutOfSync", "RollbackFailed"})

OWN_TYPES: Mapping[str, frozenset[str]] = {
    "conditions": _OF_OBJECTS | _OF_ENVOY_CONFIGS | {"ResolvedRefs", "SupportedVersion", "Valid"},
    "listeners": _OF_LISTENERS | {"ResolvedRefs"},
    "parents": _OF_PARENTS,
    "ancestors": _OF_PARENTS | {"Merged", "Overridden", "Programmed"},
}
"""The types of conditions that are ours, by the field of the status that they belong to."""

MOST_CONDITIONS = 8
_REFERENCES = {"parents": "parentRef", "ancestors": "ancestorRef"}
"""The field of an entry with its reference."""
MOST_PARENTS = 32


def _conditions(field: str, holder: Stored, ours: Iterable[Raw], author: Author) -> list[Raw]:
    told = {it["type"]: it for it in ours}

    def is_foreign(it: Stored) -> bool:
        return it.get("type") not in OWN_TYPES[field] and it.get("type") not in told

    def stamped(before: Stored, it: Raw) -> Raw:
        return conditions.stamped(it, before, author.now)

    def key(it: Stored) -> object:
        return it.get("type")

    before = _items(holder, "conditions")
    room = max(1, MOST_CONDITIONS - sum(map(is_foreign, before)))
    kept = dict(islice(told.items(), room))
    return _in_place(before, kept, _Rule(is_foreign, key, stamped))


def _listeners(field: str, stored: Stored, ours: Iterable[Raw], author: Author) -> list[Raw]:
    """The entries of the Gateway's present listeners, in order."""
    before = {it.get("name"): it for it in _items(stored, field)}
    return [_with_conditions(field, before.get(it["name"], {}), it, author) for it in ours]


def _entries(field: str, stored: Stored, ours: Iterable[Raw], author: Author) -> list[Raw]:
    """The entries of all controllers, with one of ours for each reference."""
    reference = _REFERENCES[field]

    def is_foreign(it: Stored) -> bool:
        return not _is_of(author, it)

    def joined(before: Stored, it: Raw) -> Raw:
        return _with_conditions(field, before, it, author)

    def key(it: Stored) -> object:
        return _key(it.get(reference))

    room = _room(field, stored, author)
    kept = dict(islice({key(it): it for it in ours}.items(), room))
    return _in_place(_items(stored, field), kept, _Rule(is_foreign, key, joined))


def _room(field: str, stored: Stored, author: Author) -> int:
    """The number of our entries for which there is room beside those of others."""
    most = author.most_ancestors if field == "ancestors" else MOST_PARENTS
    return max(0, most - sum(not _is_of(author, it) for it in _items(stored, field)))


def _with_conditions(field: str, before: Stored, it: Raw, author: Author) -> Raw:
    return {**it, "conditions": _conditions(field, before, _items(it, "conditions"), author)}


_FIELDS: Mapping[str, Callable[[str, Stored, list[Raw], Author], list[Raw]]] = {
    "conditions": _conditions,
    "listeners": _listeners,
    "parents": _entries,
    "ancestors": _entries,
}


class _Rule(NamedTuple):
    """How the items of a list are distinguished and merged."""

    is_foreign: Callable[[Stored], bool]
    key: Callable[[Stored], object]
    """Hashable."""
    joined: Callable[[Stored, Raw], Raw]


def _in_place(before: Iterable[Raw], ours: dict[object, Raw], rule: _Rule) -> list[Raw]:
    """Others' items unchanged, ours in their places, new ones at the end."""
    new = dict(ours)
    found: list[Raw] = []
    for it in before:
        if rule.is_foreign(it):
            found.append(it)
        elif (own := new.pop(rule.key(it), None)) is not None:
            found.append(rule.joined(it, own))
    return found + [rule.joined({}, it) for it in new.values()]


def _is_of(author: Author, entry: Stored) -> bool:
    return entry.get("controllerName") == author.controller_name


def _key(reference: object) -> tuple[tuple[str, str], ...]:
    """A key that is equal for references to the same object, with or without defaults."""
    filled = {"group": "gateway.networking.k8s.io", "kind": "Gateway", **mapping(reference)}
    return tuple(sorted((field, str(value)) for field, value in filled.items()))


def _items(holder: Stored, field: str) -> list[Raw]:
    """The items of a list; none if the field has another type."""
    return [it for it in items(holder.get(field)) if is_mapping(it)]

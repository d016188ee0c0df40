"""What becomes of the status that an object has when ours is added: nothing of others is lost.

Rules: Gateway API, comments on `RouteStatus.parents` and on conditions; Kubernetes API conventions,
"Typical status properties". Conditions are ours by their type, entries of `parents` by the name of
the controller, listeners altogether. What is not ours stays as it is and where it is; what is ours
stays in its place, and keeps its `lastTransitionTime` while it is as true as before. Fields that we
do not state are not touched.

Elsewhere: what we say (`contour.status.rendering`), when it is written (`contour.status.writer`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from crds.raw import Raw, is_list, is_mapping, items, mapping
from kube import conditions

Stored = Mapping[str, object]


class Voice(NamedTuple):
    """Who speaks, and when."""

    controller_name: str
    """Of the Gateway API."""
    now: str
    """RFC 3339, in whole seconds."""
    most_ancestors: int = 16
    """For how many ancestors there is room in the status."""


def merged(stored: Stored, ours: Raw, voice: Voice) -> Raw:
    """The status that is to stand there."""
    wanted = dict(stored)
    for field, value in ours.items():
        rule = _FIELDS.get(field)
        found = rule(field, stored, _items(ours, field), voice) if rule else value
        if field in stored or found not in ([], {}, ""):  # absent and empty say the same
            wanted[field] = found
    return wanted


def left_out(stored: Stored, ours: Raw, voice: Voice) -> list[Raw]:
    """The references of ours of which nothing can be said, as others have taken the room."""
    found: list[object] = []
    for field, reference in _REFERENCES.items():
        own = {_key(it.get(reference)): it.get(reference) for it in _items(ours, field)}
        found += [*own.values()][_room(field, stored, voice) :]
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


def newest_generation(stored: Stored, voice: Voice) -> int:
    """The newest version of the object that one of our conditions speaks of.

    Raises ValueError for what is no number.
    """
    told = (it.get("observedGeneration") or 0 for it in own_conditions(stored, voice))
    return max((int(str(it)) for it in told), default=0)


def own_conditions(stored: Stored, voice: Voice) -> Iterator[Raw]:
    """Our conditions, wherever in a status they stand."""
    holders: list[tuple[str, Stored]] = [("conditions", stored)]
    holders += [("listeners", it) for it in _items(stored, "listeners")]
    for field in _REFERENCES:
        holders += [(field, it) for it in _items(stored, field) if _is_of(voice, it)]
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
"""How an entry names what it speaks for."""
MOST_PARENTS = 32


def _conditions(field: str, holder: Stored, ours: Iterable[Raw], voice: Voice) -> list[Raw]:
    told = {it["type"]: it for it in ours}

    def is_foreign(it: Stored) -> bool:
        return it.get("type") not in OWN_TYPES[field] and it.get("type") not in told

    def stamped(before: Stored, it: Raw) -> Raw:
        return conditions.stamped(it, before, voice.now)

    def key(it: Stored) -> object:
        return it.get("type")

    before = _items(holder, "conditions")
    room = max(1, MOST_CONDITIONS - sum(map(is_foreign, before)))
    kept = dict(islice(told.items(), room))
    return _in_place(before, kept, _Rule(is_foreign, key, stamped))


def _listeners(field: str, stored: Stored, ours: Iterable[Raw], voice: Voice) -> list[Raw]:
    """One for each that the Gateway has now, in its order."""
    before = {it.get("name"): it for it in _items(stored, field)}
    return [_with_conditions(field, before.get(it["name"], {}), it, voice) for it in ours]


def _entries(field: str, stored: Stored, ours: Iterable[Raw], voice: Voice) -> list[Raw]:
    """Those of all controllers: one of ours for each reference."""
    reference = _REFERENCES[field]

    def is_foreign(it: Stored) -> bool:
        return not _is_of(voice, it)

    def joined(before: Stored, it: Raw) -> Raw:
        return _with_conditions(field, before, it, voice)

    def key(it: Stored) -> object:
        return _key(it.get(reference))

    room = _room(field, stored, voice)
    kept = dict(islice({key(it): it for it in ours}.items(), room))
    return _in_place(_items(stored, field), kept, _Rule(is_foreign, key, joined))


def _room(field: str, stored: Stored, voice: Voice) -> int:
    """How many entries of ours there may be beside those of others."""
    most = voice.most_ancestors if field == "ancestors" else MOST_PARENTS
    return max(0, most - sum(not _is_of(voice, it) for it in _items(stored, field)))


def _with_conditions(field: str, before: Stored, it: Raw, voice: Voice) -> Raw:
    return {**it, "conditions": _conditions(field, before, _items(it, "conditions"), voice)}


_FIELDS: Mapping[str, Callable[[str, Stored, list[Raw], Voice], list[Raw]]] = {
    "conditions": _conditions,
    "listeners": _listeners,
    "parents": _entries,
    "ancestors": _entries,
}


class _Rule(NamedTuple):
    """How the items of a list are told apart and joined."""

    is_foreign: Callable[[Stored], bool]
    key: Callable[[Stored], object]
    """Hashable."""
    joined: Callable[[Stored, Raw], Raw]


def _in_place(before: Iterable[Raw], ours: dict[object, Raw], rule: _Rule) -> list[Raw]:
    """Others' items as they are, ours where they were, new ones at the end."""
    new = dict(ours)
    found: list[Raw] = []
    for it in before:
        if rule.is_foreign(it):
            found.append(it)
        elif (own := new.pop(rule.key(it), None)) is not None:
            found.append(rule.joined(it, own))
    return found + [rule.joined({}, it) for it in new.values()]


def _is_of(voice: Voice, entry: Stored) -> bool:
    return entry.get("controllerName") == voice.controller_name


def _key(reference: object) -> tuple[tuple[str, str], ...]:
    """Equal for references to the same thing, whoever wrote the defaults into them."""
    filled = {"group": "gateway.networking.k8s.io", "kind": "Gateway", **mapping(reference)}
    return tuple(sorted((field, str(value)) for field, value in filled.items()))


def _items(holder: Stored, field: str) -> list[Raw]:
    """The items of a list, whatever stands in its place."""
    return [it for it in items(holder.get(field)) if is_mapping(it)]

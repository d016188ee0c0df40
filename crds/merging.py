"""Two objects of a kind as one: their documents, merged as Kubernetes patches one by the other.

A JSON merge patch (RFC 7396) replaces lists; a strategic merge patch merges those lists by a key
for which the kind names one. A document says what is there once the API server has filled in its
defaults; an empty list says nothing. Elsewhere: which kinds and which lists.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TypeVar

from crds import decode, shape
from crds.complaints import Complaint
from crds.raw import Raw, is_list, is_mapping
from crds.records import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Terms:
    """How documents of a kind are merged. Fields are named by their paths, such as `spec.cors`."""

    keys: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    """The lists that are merged item by item, with the field that names an item."""
    joined: frozenset[str] = frozenset()
    """The lists whose items are all kept, those of the patch first. Others are replaced."""
    restated: frozenset[str] = frozenset()
    """The fields that a patch always says: absent from the object around them, they are removed."""
    members: Mapping[str, Mapping[str, str]] = dataclasses.field(
        default_factory=dict[str, Mapping[str, str]]
    )
    """The objects of which one field is set, as their `type` says: the field of each type. Where a
    patch names another type, the field of the former one is removed."""

    def whole_lists(self) -> "Terms":
        """The same where lists are replaced: a JSON merge patch."""
        return Terms(restated=self.restated, members=self.members)


def document(found: object) -> Raw:
    """The document of a model, without what is absent."""
    return dict(_fields(found))


def _fields(found: object) -> Iterator[tuple[str, object]]:
    class_: type = type(found)
    for name, field in shape.fields(class_).items():
        value = getattr(found, field.name)
        if value is not None and value != ():
            yield name, _written(value)


def _written(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return document(value)
    inner = shape.items(value)
    return [_written(it) for it in inner] if inner is not None else value


def patched(target: Raw, patch: Raw, terms: Terms, at: str = "spec") -> Raw:
    """A document after a patch. Both are of the field `at`."""
    result = {
        it: old for it, old in target.items() if it in patch or f"{at}.{it}" not in terms.restated
    }
    for name, new in patch.items():
        result[name] = _value(result.get(name), new, terms, f"{at}.{name}")
    for type_, field in terms.members.get(at, {}).items():
        if type_ != result.get("type") and field not in patch:
            result.pop(field, None)
    return result


def _value(old: object, new: object, terms: Terms, path: str) -> object:
    if is_mapping(new):
        return patched(old if is_mapping(old) else {}, new, terms, path)
    if is_list(new) and is_list(old):
        if path in terms.joined:
            return [*new, *old]
        if path in terms.keys:
            return list(_by_key(old, new, terms, path))
    return new


def _by_key(old: list[object], new: list[object], terms: Terms, path: str) -> Iterator[object]:
    """The items of both lists, those of the patch first; an item of both is patched."""
    key = terms.keys[path]
    before = {_named(it, key): it for it in old}
    for it in new:
        same = before.pop(_named(it, key), None)
        yield patched(same, it, terms, path) if is_mapping(it) and is_mapping(same) else it
    yield from before.values()


def _named(item: object, key: str) -> str:
    return str(item.get(key)) if is_mapping(item) else ""


def untouched(result: Raw, patch: Raw, at: str = "spec") -> Iterator[str]:
    """The fields and items of a patched document of which the patch says nothing."""
    for name, value in result.items():
        path, new = f"{at}.{name}", patch.get(name)
        if new is None:
            yield path
        elif is_mapping(value) and is_mapping(new):
            yield from untouched(value, new, path)
        elif is_list(value) and is_list(new):
            yield from (f"{path}[{index}]" for index in range(len(new), len(value)))


def read(model: type[T], found: Raw) -> tuple[T | None, tuple[Complaint, ...]]:
    """The part of an object that a document describes, or what is wrong with it."""
    return decode.part(model, found)

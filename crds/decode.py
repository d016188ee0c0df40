"""From a raw document to an object of its kind, with everything that is wrong with it.

For the providers, once per event. Never raises, whatever JSON or YAML held: the answer is an
object, complaints with paths, or the news that the document is no object or of no kind we know.
Fields that a model does not know are warnings and left out, as the API server prunes them; nulls
count as absent. Reading files, their lines, and telling duplicates is for the providers.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from crds import screening
from crds.complaints import UNICODE, UNKNOWN_FIELD, Complaint, complaints, printable
from crds.kinds import KINDS, Kind
from crds.meta import NamespacedName, Raw


class Decoded(NamedTuple):
    """A document of a kind we know."""

    kind: Kind
    key: NamespacedName
    object: Any | None
    """An instance of the kind's model; None if there are errors."""
    complaints: tuple[Complaint, ...]

    @property
    def errors(self) -> tuple[Complaint, ...]:
        """The complaints because of which there is no object."""
        return tuple(it for it in self.complaints if it.severity == "error")


class UnknownKind(NamedTuple):
    """A document of a kind we do not read."""

    group_version: str
    kind: str


class NotAnObject(NamedTuple):
    """A document that says of itself no kind and no name."""

    message: str


def decode(raw: object) -> Decoded | UnknownKind | NotAnObject:
    """The object that a document describes."""
    if not isinstance(raw, dict):
        return NotAnObject(f"a document must be an object, not {_article(raw)}")
    version, name = raw.get("apiVersion"), raw.get("kind")
    if not isinstance(version, str) or not version or not isinstance(name, str) or not name:
        return NotAnObject("apiVersion and kind are required and must be text")
    group = version.rpartition("/")[0]
    kind = KINDS.get((group, name))
    return (
        _decoded(kind, raw, version) if kind else UnknownKind(printable(version), printable(name))
    )


def items(raw: object) -> Iterator[object]:
    """The documents in a list (`kind: List`, `kind: HTTPProxyList`); any other one by itself."""
    if (
        not isinstance(raw, dict)
        or not isinstance(raw.get("items"), list)
        or not str(raw.get("kind", "")).endswith("List")
    ):
        yield raw
    else:
        for item in raw["items"]:
            yield _with_kind_of_list(raw, item)


def _with_kind_of_list(raw: Raw, item: object) -> object:
    """Items of an XList may leave out what their list says; those of a List may not."""
    kind = raw["kind"].removesuffix("List")
    if not kind or not isinstance(item, dict):
        return item
    return {"apiVersion": raw.get("apiVersion"), "kind": kind} | item


def _article(raw: object) -> str:
    names = {list: "a list", str: "text", type(None): "nothing"}
    return names.get(type(raw), "a number" if isinstance(raw, int | float) else "a value")


def _decoded(kind: Kind, raw: Raw, version: str) -> Decoded:
    content = {it: value for it, value in raw.items() if it not in _NOT_IN_MODELS}
    seen = screening.screened(content)
    if seen.has_nulls and not seen.is_too_large:
        content = screening.without_nulls(content)
    key = _placed(kind, content)
    if seen.is_too_large:
        return Decoded(kind, key, None, (_TOO_LARGE,))
    refusals = [*_misnamed(kind, content), *_mistaken_version(kind, version)]
    if seen.has_bad_text:
        refusals += (Complaint(it, UNICODE) for it in screening.bad_texts(content))
    obj, found = _validated(kind, content)
    told = tuple(dict.fromkeys((*refusals, *found)))
    return Decoded(kind, key, None if refusals else obj, told)


_TOO_LARGE = Complaint((), "the object is too large, nested too deeply, or refers to itself")
_NOT_IN_MODELS = frozenset({"apiVersion", "kind", "status"})


def _placed(kind: Kind, content: Raw) -> NamespacedName:
    """The identity of the object, which the metadata gets if they leave out the namespace."""
    metadata = content.get("metadata")
    if not isinstance(metadata, dict):
        return NamespacedName("", "")
    namespace = metadata.get("namespace") or "default"
    content["metadata"] = metadata | {"namespace": namespace if kind.namespaced else ""}
    return NamespacedName(
        _or_empty(_is_label, namespace) if kind.namespaced else "",
        _or_empty(_is_subdomain, metadata.get("name")),
    )


def _or_empty(is_valid: Callable[[str], object], name: object) -> str:
    return name if isinstance(name, str) and is_valid(name) else ""


_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_is_label = re.compile(_LABEL).fullmatch
_subdomain = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def _is_subdomain(name: str) -> bool:
    return len(name) <= 253 and _subdomain.fullmatch(name) is not None


def _misnamed(kind: Kind, content: Raw) -> Iterator[Complaint]:
    """Names that the API server refuses. That they are there and text is checked by the model."""
    metadata = content.get("metadata")
    if not isinstance(metadata, dict):
        return
    name, namespace = metadata.get("name"), content["metadata"]["namespace"]
    if isinstance(name, str) and not _is_subdomain(name):
        message = "must be a DNS name: lower-case letters, digits, - and ., at most 253 characters"
        yield Complaint(("metadata", "name"), message)
    if kind.namespaced and isinstance(namespace, str) and not _is_label(namespace):
        message = "must be lower-case letters, digits and -, at most 63 characters"
        yield Complaint(("metadata", "namespace"), message)


def _mistaken_version(kind: Kind, version: str) -> Iterator[Complaint]:
    if version.rpartition("/")[2] not in kind.versions:
        read = " or ".join(kind.versions)
        yield Complaint(
            ("apiVersion",), f"{kind.kind} is read in version {read}, not {printable(version)}"
        )


def _validated(kind: Kind, content: Raw) -> tuple[Any | None, Iterable[Complaint]]:
    """The object and what is wrong with it; fields that are not known do not count against it."""
    try:
        return _validate(kind.model, content, "forbid"), ()
    except ValidationError as error:
        found = error.errors(include_url=False)
    unknown = [it for it in found if it["type"] == UNKNOWN_FIELD]
    if not unknown:
        return None, complaints(kind.model, found)
    try:
        return _validate(kind.model, content, "ignore"), complaints(kind.model, unknown)
    except ValidationError as error:
        return None, complaints(kind.model, [*error.errors(include_url=False), *unknown])


def _validate(model: type, content: Raw, extra: Literal["forbid", "ignore"]) -> Any:
    """By the names on the wire alone: the names of the Python fields are no field names."""
    return _adapter(model).validate_python(
        content, by_alias=True, by_name=False, extra=None if extra == "forbid" else extra
    )


@cache
def _adapter(model: type) -> TypeAdapter[Any]:
    return TypeAdapter(model)

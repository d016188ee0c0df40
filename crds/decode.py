"""From a raw document to an object of its kind, with everything that is wrong with it.

Called by the providers, once per event. It never raises, whatever the JSON or YAML holds: it
returns an object, or complaints with their paths, or says that the document is no object or of an
unknown kind. Fields that a model does not know become warnings and are left out, as the API server
prunes them; nulls count as absent. Reading files, line numbers and duplicates are up to the
providers.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from crds import screening
from crds.complaints import UNICODE, UNKNOWN_FIELD, Complaint, complaints, printable
from crds.kinds import KINDS, OLDER, Kind
from crds.meta import NamespacedName
from crds.raw import Raw, is_list, is_mapping, mapping

T = TypeVar("T")


class Decoded(NamedTuple):
    """A document of a known kind."""

    kind: Kind
    key: NamespacedName
    object: Any | None
    """An instance of the kind's model. If there are errors: of its stand-in, or None."""
    complaints: tuple[Complaint, ...]

    @property
    def errors(self) -> tuple[Complaint, ...]:
        """The complaints that prevent an object from being built."""
        return tuple(it for it in self.complaints if it.severity == "error")


class UnknownKind(NamedTuple):
    """A document of a kind that is not read."""

    group_version: str
    kind: str


class NotAnObject(NamedTuple):
    """A document without a valid kind or name."""

    message: str


def decode(raw: object, text: bytes = b"") -> Decoded | UnknownKind | NotAnObject:
    """The object that a document describes; `text`: its JSON, where that is known."""
    if not is_mapping(raw):
        return NotAnObject(f"a document must be an object, not {_described(raw)}")
    version, name = raw.get("apiVersion"), raw.get("kind")
    if not isinstance(version, str) or not version or not isinstance(name, str) or not name:
        return NotAnObject("apiVersion and kind are required and must be text")
    group = version.rpartition("/")[0]
    kind = KINDS.get((group, name))
    if kind is not None:
        return _decoded(kind, raw, version, text)
    newer = OLDER.get((group, name))
    if newer is not None:
        found = _decoded(newer, raw, version, text)
        return found._replace(complaints=(*found.complaints, _older_group(newer)))
    return UnknownKind(printable(version), printable(name))


def _older_group(kind: Kind) -> Complaint:
    text = f"{kind.group} is the new name of the group; write {kind.api_version}"
    return Complaint(("apiVersion",), text, "warning")


def items(raw: object) -> Iterator[object]:
    """The items of a list (`kind: List`, `kind: HTTPProxyList`), or the document itself."""
    listed = raw.get("items") if is_mapping(raw) else None
    kind = str(raw.get("kind", "")) if is_mapping(raw) else ""
    if not is_mapping(raw) or not is_list(listed) or not kind.endswith("List"):
        yield raw
    else:
        for item in listed:
            yield _with_kind_of_list(raw, kind.removesuffix("List"), item)


def _with_kind_of_list(raw: Raw, kind: str, item: object) -> object:
    """Items of an XList may omit `apiVersion` and `kind`; those of a List may not."""
    if not kind or not is_mapping(item):
        return item
    return {"apiVersion": raw.get("apiVersion"), "kind": kind} | item


def _described(raw: object) -> str:
    names: Mapping[type, str] = {list: "a list", str: "text", type(None): "nothing"}
    return names.get(type(raw), "a number" if isinstance(raw, int | float) else "a value")


def _decoded(kind: Kind, raw: Raw, version: str, text: bytes) -> Decoded:
    content = {it: value for it, value in raw.items() if it not in _NOT_IN_MODELS}
    is_plain = bool(text) and screening.is_plain(text)
    seen = screening.PLAIN if is_plain else screening.screened(content)
    if seen.has_nulls and not seen.is_too_large:
        content = mapping(screening.without_nulls(content))
    key = identity(kind, content)
    if seen.is_too_large:
        return Decoded(kind, key, None, (TOO_LARGE,))
    refusals = [*name_complaints(kind, content), *_version_complaints(kind, version)]
    if seen.has_bad_text:
        refusals += (Complaint(it, UNICODE) for it in screening.bad_texts(content))
    obj, found = _validated(kind, content)
    if obj is None:
        obj = stand_in(kind, content)
    every = tuple(dict.fromkeys((*refusals, *found)))
    return Decoded(kind, key, None if refusals else obj, every)


TOO_LARGE = Complaint((), "the object is too large, nested too deeply, or refers to itself")
_NOT_IN_MODELS = frozenset({"apiVersion", "kind", "status"})


def identity(kind: Kind, content: Raw) -> NamespacedName:
    """The identity of the object. Its namespace is added to the metadata if it is missing there."""
    metadata = content.get("metadata")
    if not is_mapping(metadata):
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


def name_complaints(kind: Kind, content: Raw) -> Iterator[Complaint]:
    """Names that the API server rejects. The model checks that they are present and strings."""
    metadata = content.get("metadata")
    if not is_mapping(metadata):
        return
    name, namespace = metadata.get("name"), metadata["namespace"]
    if isinstance(name, str) and not _is_subdomain(name):
        message = "must be a DNS name: lower-case letters, digits, - and ., at most 253 characters"
        yield Complaint(("metadata", "name"), message)
    if kind.namespaced and isinstance(namespace, str) and not _is_label(namespace):
        message = "must be lower-case letters, digits and -, at most 63 characters"
        yield Complaint(("metadata", "namespace"), message)


def _version_complaints(kind: Kind, version: str) -> Iterator[Complaint]:
    if version.rpartition("/")[2] not in kind.versions:
        read = " or ".join(kind.versions)
        yield Complaint(
            ("apiVersion",), f"{kind.kind} is read in version {read}, not {printable(version)}"
        )


def _validated(kind: Kind, content: Raw) -> tuple[Any | None, Iterable[Complaint]]:
    """The object and its complaints. Unknown fields do not make it invalid."""
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


def part(model: type[T], content: Raw) -> tuple[T | None, tuple[Complaint, ...]]:
    """A part of an object, from its document; None if it has errors."""
    try:
        made: T = _validate(model, content, "forbid")
    except ValidationError as error:
        return None, complaints(model, error.errors(include_url=False))
    return made, ()


def stand_in(kind: Kind, content: Raw) -> object | None:
    """What is read of an object with errors: of kinds that guard others, their targets."""
    if kind.stand_in is None:
        return None
    content = {it: value for it, value in content.items() if it not in _NOT_IN_MODELS}
    identity(kind, content)
    try:
        found: object = _validate(kind.stand_in, content, "ignore")
    except ValidationError:
        return None
    return found


def _validate(model: type, content: Raw, extra: Literal["forbid", "ignore"]) -> Any:
    """Uses the names of the document alone; the Python names of the fields are not accepted."""
    return _adapter(model).validate_python(
        content, by_alias=True, by_name=False, extra=None if extra == "forbid" else extra
    )


@cache
def _adapter(model: type) -> TypeAdapter[Any]:
    return TypeAdapter(model)

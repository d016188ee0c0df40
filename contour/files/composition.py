"""Composes the events of libyaml into one value; every limit is checked in advance.

It is a loop with its own stack, because libyaml's composer overflows the C stack on deep nesting.
Each alias counts with the size of its anchor, long texts as several values, and is never copied:
what is read may be written again. Duplicate keys are refused
instead of the last one winning. Keys become text as in sigs.k8s.io/yaml. Where a RefusedError is
raised, the current event has the position.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from yaml import events

from contour.files import scalars
from contour.files.scalars import RefusedError
from crds.raw import is_list, is_mapping

MAX_DEPTH = 200
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
MAX_ALIASED = 50_000
_CHARACTERS = 100
"""A text counts as one value more for so many characters."""

_TAG = "tag:yaml.org,2002:"
_NO_KEY = object()
_MERGE = object()  # the key under which a mapping keeps the values of `<<` until it is complete


_Container = list[object] | dict[object, object]


class _Frame(NamedTuple):
    """A mapping or sequence that is not finished, while one inside it is composed."""

    container: _Container
    key: object
    anchor: str | None
    begun_at: int


class _Anchored(NamedTuple):
    value: object
    size: int


class Composition:
    """Takes the events of one document in order; `value` is complete after the last."""

    def __init__(self) -> None:
        self._documents: list[object] = []
        self._container: _Container = self._documents  # the list or dict that is being filled
        self._key: object = _NO_KEY
        self._frames: list[_Frame] = []
        self._anchors: dict[str, _Anchored] = {}
        self._size = 0
        self._aliased = 0
        self.take: Mapping[type[events.Event], Callable[[Any], None]] = {
            events.ScalarEvent: self._scalar,
            events.MappingStartEvent: self._mapping,
            events.SequenceStartEvent: self._sequence,
            events.MappingEndEvent: self._mapping_end,
            events.SequenceEndEvent: self._end,
            events.AliasEvent: self._alias,
            events.DocumentStartEvent: self._document,
            events.DocumentEndEvent: _nothing,
            events.StreamStartEvent: _nothing,
            events.StreamEndEvent: _nothing,
        }

    @property
    def value(self) -> object:
        """The value of the document; None if it is empty."""
        return self._documents[0] if self._documents else None

    def _document(self, _: events.DocumentStartEvent) -> None:
        if self._documents:
            raise RefusedError("a second document begins here without a line with ---")

    def _scalar(self, event: events.ScalarEvent) -> None:
        text: object = event.value
        if event.tag is not None:
            text = _tagged(event.tag, event.value)
        elif event.implicit[0]:
            text = _MERGE if text == "<<" and self._expects_key() else scalars.plain(event.value)
        if text is _MERGE and event.anchor is not None:
            raise RefusedError("<< cannot have an anchor")
        more = len(event.value) // _CHARACTERS
        self._size += more
        self._put(text)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(text, 1 + more)

    def _expects_key(self) -> bool:
        return self._key is _NO_KEY and self._container.__class__ is dict

    def _put(self, value: object) -> None:
        self._size += 1
        container = self._container
        if isinstance(container, list):
            container.append(value)
        elif self._key is _NO_KEY:
            key = value if value.__class__ is str else _key(value)
            if key in container:
                raise RefusedError(f"duplicate key {'<<' if key is _MERGE else key!r}")
            self._key = key
        else:
            container[self._key] = value
            self._key = _NO_KEY

    def _mapping(self, event: events.MappingStartEvent) -> None:
        self._begin({}, event)

    def _sequence(self, event: events.SequenceStartEvent) -> None:
        self._begin([], event)

    def _begin(self, container: _Container, event: events.CollectionStartEvent) -> None:
        if self._expects_key():
            raise RefusedError("a key must be a string")
        if event.tag is not None and event.tag not in (f"{_TAG}map", f"{_TAG}seq", "!"):
            raise RefusedError(_NO_SUCH_TAG)
        if len(self._frames) >= MAX_DEPTH:
            raise RefusedError(TOO_DEEP)
        self._frames.append(_Frame(self._container, self._key, event.anchor, self._size))
        self._container, self._key = container, _NO_KEY

    def _mapping_end(self, event: events.MappingEndEvent) -> None:
        if isinstance(self._container, dict) and _MERGE in self._container:
            _merge(self._container)
        self._end(event)

    def _end(self, _: events.CollectionEndEvent) -> None:
        complete, frame = self._container, self._frames.pop()
        self._container, self._key = frame.container, frame.key
        self._put(complete)
        if frame.anchor is not None:
            # An alias inside its own anchor does not find the anchor: nothing can contain itself.
            self._anchors[frame.anchor] = _Anchored(complete, self._size - frame.begun_at)

    def _alias(self, event: events.AliasEvent) -> None:
        anchored = self._anchors.get(event.anchor or "")
        if anchored is None:
            raise RefusedError(_NO_SUCH_ANCHOR)
        self._aliased += anchored.size
        if self._aliased > MAX_ALIASED:
            counted = f"of which a text is one for each {_CHARACTERS} characters"
            raise RefusedError(f"aliases expand to more than {MAX_ALIASED} values, {counted}")
        if self._expects_key() and isinstance(anchored.value, (dict, list)):
            raise RefusedError("a key must be a string")
        self._size += anchored.size - 1
        self._put(anchored.value)


# Messages quote no values: what is read may be a Secret, and a password begin with ! or *.
_NO_SUCH_TAG = "this tag is not allowed in a manifest; write text that begins with ! in quotes"
_NO_SUCH_ANCHOR = "an alias refers to no complete anchor; write text that begins with * in quotes"


def _nothing(_: events.Event) -> None:
    """Ignores the ends of documents, which are known already."""


def _tagged(tag: str, text: str) -> scalars.Scalar:
    """The value of a scalar with an explicit tag, which its text must fit."""
    if tag in ("!", f"{_TAG}str", f"{_TAG}timestamp"):
        return text
    if tag == f"{_TAG}binary":
        return _binary(text)
    value, kinds = scalars.plain(text), _KINDS.get(tag)
    if kinds is None:
        raise RefusedError(_NO_SUCH_TAG)
    if value.__class__ not in kinds:
        raise RefusedError(f"the value is not of the type {tag.removeprefix(_TAG)} of its tag")
    return scalars.finite(str(value)) if tag == f"{_TAG}float" and isinstance(value, int) else value


_KINDS: dict[str, tuple[type, ...]] = {
    f"{_TAG}int": (int,),
    f"{_TAG}float": (int, float),
    f"{_TAG}bool": (bool,),
    f"{_TAG}null": (type(None),),
}


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise RefusedError("not the base64 of UTF-8 text") from None


def _key(value: object) -> object:
    if value is _MERGE:
        return value
    if value is True or value is False:
        return "true" if value else "false"
    if value is None:
        raise RefusedError("a key must be a string")
    return str(value)


def _merge(mapping: dict[object, object]) -> None:
    """Adds the keys of `<<` (YAML 1.1, "Merge Key"); keys of the mapping itself take precedence."""
    brought = mapping.pop(_MERGE)
    for source in brought if is_list(brought) else [brought]:
        if not is_mapping(source):
            raise RefusedError("<< needs a mapping or a list of mappings")
        for key, value in source.items():
            mapping.setdefault(key, value)

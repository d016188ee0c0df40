"""Reads the JSON form of an xDS resource into its message, and reports all errors.

Fields are compared with the protobuf definitions, also inside `@type`; all unknown ones are
reported at once, with their paths. Extension types that our packages do not have are sent to Envoy
as a `TypedStruct`, which it reads as well. Envoy may still refuse a valid message: that is reported
when it happens.

Protobuf takes about 20 µs for each message that it reads from JSON. Where a value was read before
with another content (`Before`), the entries of lists that are as they were, such as the routes of a
virtual host, are copied instead. The message is the same in either way.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import takewhile
from typing import NamedTuple, TypeGuard, cast

from google.protobuf import any_pb2, json_format, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from contour.envoy import definitions, encoding, messages, scalars
from crds.raw import Raw, is_list, is_mapping
from dag.rawconfig.content import Remark

_PREFIX = "type.googleapis.com/"
_TYPED_STRUCT = "xds.type.v3.TypedStruct"
_OLD_API = re.compile(r"envoy\.(api\.v2|.*\.v2(alpha\d*)?)\.")
_ANY = "google.protobuf.Any"
_AS_THEY_ARE = "google.protobuf."
"""Messages of this package have JSON forms of their own, which are checked when they are read."""
_WITH_VALUE = frozenset(
    f"google/protobuf/{it}.proto"
    for it in ("any", "duration", "field_mask", "struct", "timestamp", "wrappers")
)
"""The files of the messages whose JSON form stands in the field `value` inside an `Any`."""


@dataclass(slots=True)
class Found:
    """What was found on the way."""

    errors: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    doubled: list[Remark] = field(default_factory=list)
    """Fields that are left out, because they are there under the name of the definition, too."""


class Before(NamedTuple):
    """A value that was read before without errors or warnings."""

    value: Raw
    message: Message


def parsed(
    type_url: str, value: Raw, path: str, before: Before | None = None
) -> tuple[Message | None, Found]:
    """The message of a resource; None if there is an error. A field under both of its names is
    none: stored revisions may have some."""
    message = messages.TYPES[type_url]()
    found = _whole(_definition(message), message, value, path, before)
    found.warnings += found.doubled
    return (None if found.errors else message), found


def read_into(message: Message, value: Raw, path: str) -> Found:
    """Fills an empty message; what it holds afterwards means nothing if there is an error."""
    found = _whole(_definition(message), message, value, path, None)
    found.errors += found.doubled
    return found


def _definition(message: Message) -> Descriptor:
    of = definitions.of(message.DESCRIPTOR.full_name)
    assert of is not None
    return of


def _whole(
    of: Descriptor, message: Message, value: object, path: str, before: Before | None
) -> Found:
    """Reads a message that is encoded by itself, and sees whether others can read it then: a level
    of JSON may be three of Protobuf, which are not counted when they are written."""
    found = _read(of, message, value, path, before)
    if not found.errors and not encoding.is_readable(message):
        found.errors.append(Remark(path + _deepest(message), encoding.TOO_DEEP))
    return found


def _deepest(message: Message) -> str:
    """The field without which a message could be read, as the end of a path; empty if none is."""
    if message.DESCRIPTOR.full_name.startswith(_AS_THEY_ARE):
        return ""  # no such field is written in JSON
    for of, _ in message.ListFields():
        rest = type(message)()
        rest.CopyFrom(message)
        rest.ClearField(of.name)
        if encoding.is_readable(rest):
            return f".{of.name}"
    return ""


def _read(
    of: Descriptor, message: Message, value: object, path: str, before: Before | None
) -> Found:
    walk = _Walk()
    try:
        readable = walk.message(of, value, _Place(path), before)
        if not walk.found.errors:
            # A text for a Duration, and so on.
            json_format.ParseDict(cast("Raw", readable), message)
            for steps, made in walk.made:
                _put(message, steps, made)
    except json_format.ParseError as error:
        walk.found.errors.append(_told(message.DESCRIPTOR.name, path, str(error)))
    except RecursionError:
        walk.found.errors.append(Remark(path, "is nested too deeply"))
    except Exception as error:  # protobuf has many types, depending on what is wrong
        text = f"cannot be read: {type(error).__name__}: {error}"
        walk.found.errors.append(Remark(path, text[:_LONGEST]))
    return walk.found


_LONGEST = 300
_NESTED = re.compile(r"^Failed to parse \S+ field: ")


def _told(root: str, path: str, text: str) -> Remark:
    """An error of protobuf, whose text contains the path below the root."""
    said = text.splitlines()[0]
    while (inner := _NESTED.sub("", said)) != said:
        said = inner
    at = re.search(rf" at (\\?[\"']?){root}(?P<below>[\w.\[\]]*)\1\.?", said)
    if at is None:
        return Remark(path, said[:_LONGEST])
    return Remark(path + at["below"].rstrip("."), said.replace(at[0], "")[:_LONGEST])


_Steps = tuple[tuple[str, int | str | None], ...]
"""To a message inside another one: names of fields, with the place in a list or the key in a map;
None for a field that is neither. No steps lead to the message itself, an `Any` inside an `Any`."""


def _put(message: Message, steps: _Steps, made: Message | list[Message]) -> None:
    if not steps:
        assert isinstance(made, Message)
        message.CopyFrom(made)
        return
    for name, key in steps[:-1]:
        inner = getattr(message, name)
        message = inner if key is None else inner[key]
    name, key = steps[-1]
    field = getattr(message, name)
    if isinstance(made, list):
        field.extend(made)
    else:
        (field if key is None else field[key]).CopyFrom(made)


class _Place(NamedTuple):
    """Where a value stands."""

    path: str
    """The path in messages to users."""
    steps: _Steps = ()
    """The path in the message that is filled."""

    def below(self, field: str, key: int | str | None = None) -> "_Place":
        """An entry of the field that stands here, or the field itself."""
        path = self.path if key is None else f"{self.path}[{key}]"
        return _Place(path, (*self.steps, (field, key)))


_FEW = 4
"""Up to so many messages of a list are always read one at a time."""


class _Walk:
    """Compares a value with the definitions, and copies it, with unknown types as structs. What is
    in `made` is left out of the copy: it need not be read from there."""

    def __init__(self) -> None:
        self.found = Found()
        self.made: list[tuple[_Steps, Message | list[Message]]] = []

    def message(self, of: Descriptor, value: object, at: _Place, before: Before | None) -> object:
        """The copy of a message."""
        if not is_mapping(value):
            return value
        if of.full_name == _ANY:
            return self._any(value, at, before)
        if of.full_name.startswith(_AS_THEY_ARE):
            return value
        fields = fields_of(of)
        result: Raw = {}
        for name, it in value.items():
            known, place = fields.get(name), at._replace(path=f"{at.path}.{name}")
            if known is None:
                text = f"is no field of {of.full_name}"
                self.found.errors.append(Remark(place.path, text))
            elif name != known.name and known.name in value:
                text = f"is left out, because it is {known.name}, which is there, too"
                self.found.doubled.append(Remark(place.path, text))
            else:
                was = _Field.of(before, name, known)
                result[name] = self._field(known, it, place, was)
        return result

    def _field(self, of: FieldDescriptor, value: object, at: _Place, was: "_Field") -> object:
        inner, scalar = of.message_type, scalars.of_wrapper(of)
        if inner is None or scalar is not None:
            misfits = scalars.misfits(scalar or of, value, is_several=of.is_repeated)
            self.found.errors += (Remark(at.path + end, why) for end, why in misfits)
            return value
        if inner.GetOptions().map_entry and is_mapping(value):
            held = inner.fields_by_name["value"]
            return {key: self._in_map(of, held, it, at, key) for key, it in value.items()}
        if is_list(value) and not inner.full_name.startswith(f"{_AS_THEY_ARE}ListValue"):
            made = self._entries(inner, value, at, was.entries())
            if made is not None:
                self.made.append((at.below(of.name).steps, made))
                return []
            return [
                self.message(inner, it, at.below(of.name, index), None)
                for index, it in enumerate(value)
            ]
        return self.message(inner, value, at.below(of.name), was.single())

    def _in_map(
        self, of: FieldDescriptor, held: FieldDescriptor, value: object, at: _Place, key: str
    ) -> object:
        inner, place = held.message_type, at.below(of.name, key)
        if inner is None or not is_mapping(value):
            return self._field(held, value, place, _Field())
        return self.message(inner, value, place, None)

    def _entries(
        self, of: Descriptor, value: list[object], at: _Place, known: list[Before]
    ) -> list[Message] | None:
        """The messages of a list that was read before; unchanged ones are not read again. None if
        too much has changed, because reading several messages at once is faster."""
        entries = [it for it in value if is_mapping(it)]
        before = _counterparts(entries, known)
        same = _same(entries, before)
        most = max(_FEW, len(value) // 4)
        if not known or len(entries) != len(value) or len(value) - len(same) > most:
            return None
        result: list[Message] = []
        for index, it in enumerate(entries):
            if (kept := same.get(index)) is not None:
                result.append(kept)
            else:
                result.append(message := message_factory.GetMessageClass(of)())
                self._note(_read(of, message, it, f"{at.path}[{index}]", before[index]))
        return result

    def _any(self, value: Raw, at: _Place, before: Before | None) -> Raw:
        if not value:
            return value  # one that holds nothing, as where a filter is enabled by a route
        url = value.get("@type", "")
        if not isinstance(url, str):
            self.found.errors.append(Remark(f"{at.path}.@type", "must be text"))
            return value
        name = url.rpartition("/")[2]
        if not name:
            self.found.errors.append(Remark(f"{at.path}.@type", "is required"))
            return value
        if _OLD_API.match(name):
            text = f"{name} is a type of Envoy's API v2, which Envoy no longer has"
            self.found.errors.append(Remark(f"{at.path}.@type", text))
            return value
        known, rest = definitions.of(name), {key: it for key, it in value.items() if key != "@type"}
        if known is None:
            text = f"the type {name} is not known here, so its fields are not checked"
            self.found.warnings.append(Remark(at.path, text))
            definitions.of(_TYPED_STRUCT)  # so that protobuf knows it
            return {"@type": _PREFIX + _TYPED_STRUCT, "typeUrl": _PREFIX + name, "value": rest}
        if known.file.name in _WITH_VALUE:
            return self._well_known(known, rest, at)
        return self._packed(known, rest, at, before)

    def _well_known(self, of: Descriptor, value: Raw, at: _Place) -> Raw:
        """Reads a message whose JSON form stands in `value`."""
        for name in sorted(value.keys() - {"value"}):
            text = f"is no field of {of.full_name} in an Any, which has value alone"
            self.found.errors.append(Remark(f"{at.path}.{name}", text))
        if "value" not in value:
            self.found.errors.append(Remark(f"{at.path}.value", "is required"))
            return value
        return self._packed(of, value["value"], at._replace(path=f"{at.path}.value"), None)

    def _packed(self, of: Descriptor, value: object, at: _Place, before: Before | None) -> Raw:
        """Reads the message inside an `Any` by itself."""
        message = message_factory.GetMessageClass(of)()
        found = _whole(of, message, value, at.path, _unpacked(of, before))
        self._note(found)
        if not found.errors:
            packed = any_pb2.Any(type_url=_PREFIX + of.full_name)
            packed.value = encoding.encoded(message)
            self.made.append((at.steps, packed))
        return {}

    def _note(self, found: Found) -> None:
        self.found.errors += found.errors
        self.found.warnings += found.warnings
        self.found.doubled += found.doubled


def _unpacked(of: Descriptor, before: Before | None) -> Before | None:
    if before is None or not isinstance(before.message, any_pb2.Any):
        return None
    message = message_factory.GetMessageClass(of)()
    return Before(before.value, message) if before.message.Unpack(message) else None


class _Field(NamedTuple):
    """A field as it was before."""

    value: object = None
    held: object = None
    """A message, or several."""

    @classmethod
    def of(cls, before: Before | None, name: str, known: FieldDescriptor) -> "_Field":
        """That of a message, by the name under which it was written."""
        if before is None or known.message_type is None or name not in before.value:
            return cls()
        return cls(before.value[name], getattr(before.message, known.name))

    def single(self) -> Before | None:
        """A field with one message."""
        value, held = self
        return Before(value, held) if is_mapping(value) and isinstance(held, Message) else None

    def entries(self) -> list[Before]:
        """A list of messages."""
        value, held = self
        if not is_list(value) or not _is_several(held):
            return []
        pairs = zip(value, held, strict=True)
        return [Before(it, made) for it, made in pairs if is_mapping(it)]


def _is_several(held: object) -> TypeGuard[Sequence[Message]]:
    return isinstance(held, Sequence)


def _counterparts(value: list[Raw], known: list[Before]) -> list[Before | None]:
    """The former value at the place of each entry, counted from the end where the ends are
    equal."""
    pairs = zip(reversed(value), reversed(known), strict=False)
    alike = sum(1 for _ in takewhile(lambda it: it[0] == it[1].value, pairs))
    fresh = max(len(value) - alike, 0)
    head: list[Before | None] = [*known[:fresh], *[None] * (fresh - len(known))]
    return [*head, *known[len(known) - alike :]]


def _same(value: list[Raw], before: list[Before | None]) -> dict[int, Message]:
    """The messages of unchanged entries, by index."""
    pairs = enumerate(zip(value, before, strict=True))
    same = {at: was for at, (it, was) in pairs if was is not None and it == was.value}
    # In Python, True equals 1.
    is_so = _text([value[it] for it in same]) == _text([it.value for it in same.values()])
    return {at: it.message for at, it in same.items()} if is_so else {}


_text = json.JSONEncoder(sort_keys=True).encode


@cache
def fields_of(of: Descriptor) -> dict[str, FieldDescriptor]:
    """The fields of a message, by both spellings of their names."""
    return {name: it for it in of.fields for name in (it.name, it.json_name)}

"""From the JSON form of an xDS resource to its message, with everything that is wrong with it.

Fields are compared with the protobuf definitions, also inside `@type`; all that are unknown are
told at once, with their paths. Types of extensions that our packages do not have are passed on to
Envoy as a `TypedStruct`, which it reads as well. What is valid in itself may still be refused by
Envoy: that is told when it happens.
"""

import re
from dataclasses import dataclass, field
from functools import cache

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from contour.envoy import definitions, messages
from crds.raw import Raw, is_list, is_mapping
from dag.rawconfig.content import Remark

_PREFIX = "type.googleapis.com/"
_TYPED_STRUCT = "xds.type.v3.TypedStruct"
_OLD_API = re.compile(r"envoy\.(api\.v2|.*\.v2(alpha\d*)?)\.")
_ANY = "google.protobuf.Any"
_AS_THEY_ARE = "google.protobuf."
"""Messages of this package have JSON forms of their own, which are checked when they are read."""


@dataclass(slots=True)
class Found:
    """What was found on the way."""

    errors: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)


def parsed(type_url: str, value: Raw, path: str) -> tuple[Message | None, Found]:
    """The message of a resource; None if there is an error."""
    message = messages.TYPES[type_url]()
    found = read_into(message, value, path)
    return (None if found.errors else message), found


def read_into(message: Message, value: Raw, path: str) -> Found:
    """Fills an empty message; what it holds afterwards means nothing if there is an error."""
    found, of = Found(), definitions.of(message.DESCRIPTOR.full_name)
    readable = _checked(of, value, path, found) if of is not None else value
    if not found.errors:
        try:
            json_format.ParseDict(readable, message)
        except json_format.ParseError as error:
            found.errors.append(_told(message.DESCRIPTOR.name, path, str(error)))
        except (ValueError, TypeError, RecursionError) as error:
            found.errors.append(Remark(path, f"cannot be read: {error}"))
    return found


_LONGEST = 300
_NESTED = re.compile(r"^Failed to parse \S+ field: ")


def _told(root: str, path: str, text: str) -> Remark:
    """An error of protobuf, which says itself where below the root it is."""
    said = text.splitlines()[0]
    while (inner := _NESTED.sub("", said)) != said:
        said = inner
    at = re.search(rf" at (\\?[\"']?){root}(?P<below>[\w.\[\]]*)\1\.?", said)
    if at is None:
        return Remark(path, said[:_LONGEST])
    return Remark(path + at["below"].rstrip("."), said.replace(at[0], "")[:_LONGEST])


def _checked(of: Descriptor, value: Raw, path: str, found: Found) -> Raw:
    """A copy of a message's JSON, with unknown types as structs; notes unknown fields."""
    if of.full_name == _ANY:
        return _checked_any(value, path, found)
    if of.full_name.startswith(_AS_THEY_ARE):
        return value
    fields = fields_of(of)
    result: Raw = {}
    for name, it in value.items():
        known = fields.get(name)
        if known is None:
            found.errors.append(Remark(f"{path}.{name}", f"is no field of {of.full_name}"))
        else:
            result[name] = _checked_field(known, it, f"{path}.{name}", found)
    return result


def _checked_field(of: FieldDescriptor, value: object, path: str, found: Found) -> object:
    inner = of.message_type
    if inner is None:
        if is_mapping(value) or (is_list(value) and not of.is_repeated):
            what = "an object" if is_mapping(value) else "a list"
            found.errors.append(Remark(path, f"must not be {what}"))
        return value
    if inner.GetOptions().map_entry and is_mapping(value):
        held = inner.fields_by_name["value"]
        return {key: _checked_field(held, it, f"{path}[{key}]", found) for key, it in value.items()}
    if is_list(value) and not inner.full_name.startswith(f"{_AS_THEY_ARE}ListValue"):
        return [
            _checked(inner, it, f"{path}[{index}]", found) if is_mapping(it) else it
            for index, it in enumerate(value)
        ]
    return _checked(inner, value, path, found) if is_mapping(value) else value


def _checked_any(value: Raw, path: str, found: Found) -> Raw:
    name = str(value.get("@type", "")).rpartition("/")[2]
    if not name:
        found.errors.append(Remark(f"{path}.@type", "is required"))
        return value
    if _OLD_API.match(name):
        text = f"{name} is a type of Envoy's API v2, which Envoy no longer has"
        found.errors.append(Remark(f"{path}.@type", text))
        return value
    known, rest = definitions.of(name), {key: it for key, it in value.items() if key != "@type"}
    if known is not None:
        return {"@type": _PREFIX + name, **_checked(known, rest, path, found)}
    text = f"the type {name} is not known here, so its fields are not checked"
    found.warnings.append(Remark(path, text))
    definitions.of(_TYPED_STRUCT)  # so that protobuf knows it
    return {"@type": _PREFIX + _TYPED_STRUCT, "typeUrl": _PREFIX + name, "value": rest}


@cache
def fields_of(of: Descriptor) -> dict[str, FieldDescriptor]:
    """The fields of a message, by both spellings of their names."""
    return {name: it for it in of.fields for name in (it.name, it.json_name)}

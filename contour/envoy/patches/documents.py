"""Converts resources to JSON for patches, and back.

Fields have the names of the protobuf definitions; the fields of an `Any` are next to its `@type`.
"""

from google.protobuf import json_format
from google.protobuf.message import Message

from contour.envoy import encoding, parsing
from contour.envoy.hooks import trust
from crds.raw import Raw


class UnreadableError(Exception):
    """A document is not a valid resource, or a resource cannot be written as JSON."""


def written(message: Message) -> Raw:
    """A message as JSON. Raises UnreadableError."""
    for _ in trust.messages(message):
        pass  # so that protobuf knows the types of what is in each `Any`
    try:
        found: Raw = json_format.MessageToDict(message, preserving_proto_field_name=True)
    except (TypeError, json_format.SerializeToJsonError) as error:
        raise UnreadableError(f"cannot be written as JSON: {error}") from error
    return found


def read(empty: Message, document: Raw) -> bytes:
    """The bytes of the message that a document is. Raises UnreadableError."""
    found = parsing.read_into(empty, document, "")
    if found.errors:
        first = found.errors[0]
        raise UnreadableError(f"{first.path.lstrip('.')} {first.text}".strip())
    return encoding.encoded(empty)

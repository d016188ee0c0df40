"""The canonical form of a message that another program has encoded.

Protobuf does not define the order in which the entries of a map are encoded; some languages change
it each time. Equal content has to give equal bytes here, or every answer would look like a change.
So a message is decoded and encoded again with sorted maps, and so is the content of each `Any`, if
its type is known. Fields that our packages do not know are kept unchanged.
"""

from functools import lru_cache
from typing import Final

from google.protobuf import any_pb2, message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message

from contour.envoy import definitions, encoding
from contour.hooks.wire import UnreadableError

_DEEPEST: Final = 200
"""How many messages may stand inside one another, also in what `Any` holds. It keeps recursion far
from Python's limit. Protobuf reads 100, and begins anew with each `Any`; a listener of ours has
some twenty."""
_ANY = any_pb2.Any.DESCRIPTOR


def settled(message: Message, unknown: set[str]) -> bytes:
    """The canonical bytes of a message, whose `Any` are replaced by their canonical form.

    Adds to `unknown` the types of which our packages have no definition: what they hold stays as
    it was encoded. Raises UnreadableError if an `Any` does not hold what its type says, or if
    messages are nested too deeply.
    """
    _settle(message, unknown, 0)
    return encoding.encoded(message)


def _settle(message: Message, unknown: set[str], depth: int) -> None:
    if depth == _DEEPEST:
        raise UnreadableError(f"{message.DESCRIPTOR.full_name} is nested too deeply")
    if isinstance(message, any_pb2.Any):
        _settle_any(message, unknown, depth)
        return
    for field, value in message.ListFields():
        inner = field.message_type
        if inner is None or not _reaches_any(inner):
            continue
        if inner.GetOptions().map_entry:
            for it in value.values():
                _settle(it, unknown, depth + 1)
        elif field.is_repeated:
            for it in value:
                _settle(it, unknown, depth + 1)
        else:
            _settle(value, unknown, depth + 1)


def _settle_any(found: any_pb2.Any, unknown: set[str], depth: int) -> None:
    name = found.type_url.rpartition("/")[2]
    known = definitions.of(name)
    if known is None:
        unknown.add(name)
        return
    inner = message_factory.GetMessageClass(known)()
    try:
        inner.ParseFromString(found.value)
    except DecodeError as error:
        raise UnreadableError(f"the value of an Any is no {name}: {error}") from error
    _settle(inner, unknown, depth + 1)
    found.value = encoding.encoded(inner)


@lru_cache(maxsize=4096)
def _reaches_any(of: Descriptor) -> bool:
    """Whether a message of this type may hold an `Any`, however deep."""
    seen: set[str] = set()
    waiting = [of]
    while waiting:
        it = waiting.pop()
        if it.full_name == _ANY.full_name:
            return True
        if it.full_name not in seen:
            seen.add(it.full_name)
            waiting += [field.message_type for field in it.fields if field.message_type]
    return False

"""The canonical form of a message that another program has encoded.

Protobuf does not define the order in which the entries of a map are encoded; some languages change
it each time. Equal content has to give equal bytes here, or every answer would look like a change.
So a message is decoded and encoded again with sorted maps, and so is the content of each `Any`, if
its type is known. Fields that our packages do not know are kept unchanged.
"""

from collections.abc import Iterator
from typing import Final

from google.protobuf import any_pb2, message_factory
from google.protobuf.message import DecodeError, Message

from contour.envoy import definitions, encoding
from contour.hooks.wire import UnreadableError

_DEEPEST: Final = 200
"""How many messages may stand inside one another, also in what `Any` holds. It keeps recursion far
from Python's limit. Protobuf reads 100, and begins anew with each `Any`; a listener of ours has
some twenty."""


class TooManyError(Exception):
    """There are more messages and entries of lists than are allowed."""


class Settling:
    """Brings messages into their canonical form, until they have too many parts together."""

    def __init__(self, most: int) -> None:
        self._left = most
        """How many messages and entries of lists there may still be."""
        self.unknown: set[str] = set()
        """The types of which our packages have no definition: what they hold stays as it was
        encoded."""

    def steps(self, message: Message) -> Iterator[None]:
        """Replaces each `Any` in a message by its canonical form, in steps.

        Raises UnreadableError if an `Any` does not hold what its type says, or if messages are
        nested too deeply, and TooManyError.
        """
        for it in self._inside(message):
            self._settle(it, 1)
            yield

    def _settle(self, message: Message, depth: int) -> None:
        if depth == _DEEPEST:
            raise UnreadableError(f"{message.DESCRIPTOR.full_name} is nested too deeply")
        if isinstance(message, any_pb2.Any):
            self._settle_any(message, depth)
            return
        for it in self._inside(message):
            self._settle(it, depth + 1)

    def _inside(self, message: Message) -> Iterator[Message]:
        """The messages directly inside one."""
        for field, value in message.ListFields():
            inner = field.message_type
            if field.is_repeated:
                self._count(len(value))
            elif inner is not None:
                self._count(1)
            if inner is None:
                continue
            if not field.is_repeated:
                yield value
            elif not (inner.has_options and inner.GetOptions().map_entry):
                yield from value
            elif inner.fields_by_name["value"].message_type is not None:
                yield from value.values()

    def _settle_any(self, found: any_pb2.Any, depth: int) -> None:
        name = found.type_url.rpartition("/")[2]
        known = definitions.of(name)
        if known is None:
            self.unknown.add(name)
            return
        inner = message_factory.GetMessageClass(known)()
        try:
            inner.ParseFromString(found.value)
        except DecodeError as error:
            raise UnreadableError(f"the value of an Any is no {name}: {error}") from error
        self._settle(inner, depth + 1)
        found.value = encoding.encoded(inner)

    def _count(self, number: int) -> None:
        self._left -= number
        if self._left < 0:
            raise TooManyError

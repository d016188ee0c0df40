"""An operation of a JSON patch (RFC 6902), applied to a document within limits.

Every `copy` can double the document, and a value may be added at many places, so what operations
write is counted before they are applied.
"""

import json

import jsonpatch

from crds.raw import Raw

_WITH_VALUE = frozenset({"add", "replace", "test"})
_WITH_SOURCE = frozenset({"move", "copy"})
_WRITING = frozenset({"add", "replace", "copy"})
_VALUES: tuple[type, ...] = (dict, list, str, int, float, type(None))
_LONGEST_REASON = 200


class NotAppliedError(Exception):
    """An operation cannot be applied; the text says why."""


def check(operation: Raw) -> None:
    """Raises NotAppliedError if an operation lacks a field that its op needs, or has one that it
    does not take. The API server cannot check this: validation rules cannot read fields of any
    type."""
    op = operation["op"]
    if ("value" in operation) != (op in _WITH_VALUE):
        raise NotAppliedError("value must be set for add, replace and test, and for no other op")
    if ("from" in operation) != (op in _WITH_SOURCE):
        raise NotAppliedError("from must be set for move and copy, and for no other op")


class Room:
    """How many characters of JSON operations may still write into a document."""

    def __init__(self, most: int) -> None:
        self._most = self._left = most

    def take(self, value: object) -> None:
        """Counts a value that is about to be written. Raises NotAppliedError if it is too long."""
        self._left -= len(json.dumps(value))
        if self._left < 0:
            raise NotAppliedError(f"more than {self._most:,} characters are written in all")


def applied(document: object, operation: Raw, room: Room) -> object:
    """The document after an operation that has been checked; `document` itself may be modified.
    Raises NotAppliedError."""
    try:
        if operation["op"] in _WRITING:
            room.take(_written(document, operation))
        result: object = jsonpatch.apply_patch(document, [operation], in_place=True)
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise NotAppliedError(_said(error)) from error
    except RecursionError as error:
        raise NotAppliedError("makes it nested too deeply") from error
    return result


def _written(document: object, operation: Raw) -> object:
    if operation["op"] == "copy":
        found: object = jsonpatch.JsonPointer(str(operation["from"])).resolve(document)
        if not isinstance(found, _VALUES):  # it is what `-` stands for
            raise NotAppliedError("from leads past the end of a list")
        return found
    return operation["value"]


def _said(error: Exception) -> str:
    said = str(error).splitlines()
    return said[0][:_LONGEST_REASON] if said else type(error).__name__

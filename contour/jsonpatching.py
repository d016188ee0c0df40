"""An operation of a JSON patch (RFC 6902), applied to a document within limits.

Every `copy` can double the document, so its size is checked after each operation.
"""

import json

import jsonpatch

from crds.raw import Raw

_WITH_VALUE = frozenset({"add", "replace", "test"})
_WITH_SOURCE = frozenset({"move", "copy"})
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


def applied(document: object, operation: Raw, longest: int) -> object:
    """The document after an operation that has been checked; `document` itself may be modified.
    Raises NotAppliedError, also if the result has more characters than `longest`."""
    try:
        result: object = jsonpatch.apply_patch(document, [operation], in_place=True)
        is_long = operation["op"] == "copy" and len(json.dumps(result)) > longest
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise NotAppliedError(_said(error)) from error
    except RecursionError as error:
        raise NotAppliedError("makes it nested too deeply") from error
    if is_long:
        raise NotAppliedError(f"makes it longer than {longest:,} characters")
    return result


def _said(error: Exception) -> str:
    said = str(error).splitlines()
    return said[0][:_LONGEST_REASON] if said else type(error).__name__

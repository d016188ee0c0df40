"""A JSON patch (RFC 6902) applied to a document, within limits.

Every `copy` can double a document, so its size is looked at after each of them.
"""

import copy
import json
from collections.abc import Sequence

import jsonpatch

from contour.rawconfig.parsing import Found
from crds.custombootstrap import LONGEST, JsonPatch
from crds.raw import Raw, is_mapping
from dag.rawconfig.content import Remark

_WITH_VALUE = frozenset({"add", "replace", "test"})
"""The API server cannot check this: its rules see no field of any type."""


def patched(document: Raw, patches: Sequence[JsonPatch], path: str, found: Found) -> Raw:
    """The patched document; notes the first operation that cannot be applied."""
    result: object = copy.deepcopy(document)
    for index, it in enumerate(patches):
        if (it.value is not None) != (it.op in _WITH_VALUE):
            text = "value must be set for add, replace and test, and for no other op"
            found.errors.append(Remark(f"{path}[{index}]", text))
            return {}
        try:
            result = jsonpatch.apply_patch(result, [operation(it)])
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
            found.errors.append(Remark(f"{path}[{index}]", f"{it.op} {it.path}: {_said(error)}"))
            return {}
        if it.op == "copy" and len(json.dumps(result)) > LONGEST:
            text = f"makes the bootstrap longer than {LONGEST:,} characters"
            found.errors.append(Remark(f"{path}[{index}]", text))
            return {}
    if is_mapping(result):
        return result
    found.errors.append(Remark(path, "leave no object"))
    return {}


def operation(it: JsonPatch) -> Raw:
    """An operation as RFC 6902 spells it."""
    result: Raw = {"op": it.op, "path": it.path}
    if it.from_ is not None:
        result["from"] = it.from_
    if it.value is not None:
        result["value"] = json.loads(it.value)
    return result


def _said(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__

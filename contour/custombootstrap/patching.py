"""A JSON patch (RFC 6902) applied to a bootstrap, within limits."""

import copy
import json
from collections.abc import Sequence

from contour import jsonpatching
from contour.envoy.parsing import Found
from crds.custombootstrap import LONGEST, JsonPatch
from crds.raw import Raw, is_mapping
from dag.rawconfig.content import Remark


def patched(document: Raw, patches: Sequence[JsonPatch], path: str, found: Found) -> Raw:
    """The patched document; notes the first operation that cannot be applied."""
    result: object = copy.deepcopy(document)
    room = jsonpatching.Room(LONGEST)
    for index, it in enumerate(patches):
        step = operation(it)
        try:
            jsonpatching.check(step)
        except jsonpatching.NotAppliedError as error:
            found.errors.append(Remark(f"{path}[{index}]", str(error)))
            return {}
        try:
            result = jsonpatching.applied(result, step, room)
        except jsonpatching.NotAppliedError as error:
            found.errors.append(Remark(f"{path}[{index}]", f"{it.op} {it.path}: {error}"))
            return {}
    if is_mapping(result):
        return result
    found.errors.append(Remark(path, "leave no object"))
    return {}


def operation(it: JsonPatch) -> Raw:
    """An operation as RFC 6902 writes it."""
    result: Raw = {"op": it.op, "path": it.path}
    if it.from_ is not None:
        result["from"] = it.from_
    if it.value is not None:
        result["value"] = json.loads(it.value)
    return result

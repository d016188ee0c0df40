"""Takes a field out of an object, or puts another value there."""

import copy
from typing import Any

_ANNOTATION = "annotation "


def replace(document: dict[str, Any], path: str, instead: Any) -> None:
    """Wherever the path leads; it is below `spec`, or an annotation."""
    if path.startswith(_ANNOTATION):
        steps = ["metadata", "annotations", path.removeprefix(_ANNOTATION)]
    else:
        steps = ["spec", *path.replace("[]", "").split(".")]
    _replace(document, steps, instead)


def holds(document: dict[str, Any], path: str) -> bool:
    """Whether there is anything to be taken out."""
    before = copy.deepcopy(document)
    replace(document := copy.deepcopy(document), path, None)
    return document != before


def _replace(value: Any, steps: list[str], instead: Any) -> None:
    if isinstance(value, list):
        for it in value:
            _replace(it, steps, instead)
    elif isinstance(value, dict) and steps[0] in value:
        if len(steps) > 1:
            _replace(value[steps[0]], steps[1:], instead)
        elif instead is None:
            del value[steps[0]]
        else:
            value[steps[0]] = instead

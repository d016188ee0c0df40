"""Pieces of text in the pages of the reference."""

import dataclasses
import math
import re
from collections.abc import Iterator
from typing import Any

from crds import shape


def summary(model: type) -> str:
    """The first paragraph of a model's docstring."""
    return " ".join((model.__doc__ or "").split("\n\n")[0].split())


def meaning(field: shape.FieldShape) -> str:
    """The meaning of a field without a description: the summary of its model."""
    return summary(field.model) if field.model is not None else ""


def cell(text: str) -> str:
    """A text for a cell of a Markdown table: no bar ends the cell early, and nothing in angle
    brackets is taken for a tag."""
    outside = re.split(r"(`[^`]*`)", " ".join(text.split()))
    told = (it if it.startswith("`") else it.replace("<", "&lt;") for it in outside)
    return "".join(told).replace("|", "\\|")


def between(least: float, most: float, unit: str) -> Iterator[str]:
    """Bounds in words; nothing if there are none."""
    low, high = _number(least), _number(most)
    if (least, most, unit) == (1, math.inf, " characters"):
        yield "not empty"
    elif least == most:
        yield f"{low}{unit}"
    elif math.isfinite(least) and math.isfinite(most):
        yield f"{low} to {high}{unit}"
    elif math.isfinite(least):
        yield f"at least {low}{unit}"
    elif math.isfinite(most):
        yield f"at most {high}{unit}"


def _number(value: float) -> str:
    return f"{value:,}" if math.isfinite(value) else ""


def plain(value: object) -> Any:
    """A default as in JSON, without empty values."""
    if (entries := shape.items(value)) is not None:
        return [plain(it) for it in entries]
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    found = {name: getattr(value, it.name) for name, it in shape.fields(type(value)).items()}
    return {name: plain(it) for name, it in found.items() if it not in (None, (), "")}

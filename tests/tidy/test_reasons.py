"""Types and reasons of conditions stand in `dag/problems` and nowhere else."""

import ast
from collections.abc import Iterator
from pathlib import Path

from crds.kinds import KINDS
from dag.problems.reasons import ConditionType, Contour, ErrorType, Gateway, Own, Word
from tests.tidy.test_house import ROOT, modules, parsed

_ENUMS: tuple[type[Word], ...] = (ConditionType, Contour, ErrorType, Gateway, Own)
_KINDS = {kind for _, kind in KINDS}
_WORDS = {str(it) for enum in _ENUMS for it in enum} - _KINDS
_CONSTRUCTORS = {"Problem", "Condition", "SubCondition", "error", "warning", "closing"}
_NO_REASONS = {"True", "False", "Unknown", *_KINDS}


def _rules() -> Iterator[Path]:
    """The modules that may import the enums. The operator knows nothing of the graph."""
    for path in modules():
        folder = path.relative_to(ROOT).parts
        if folder[0] in {"dag", "contour"} and folder[:2] != ("dag", "problems"):
            yield path


def test_no_reason_is_written_out() -> None:
    faults: list[str] = []
    for path in _rules():
        for call in (it for it in ast.walk(parsed(path)) if isinstance(it, ast.Call)):
            is_made = _name(call.func) in _CONSTRUCTORS
            for text in _texts(call):
                is_new = is_made and text[:1].isupper() and text.isalpha()
                if text in _WORDS or (is_new and text not in _NO_REASONS):
                    faults.append(f"{path.relative_to(ROOT)}:{call.lineno}: {text}")
    assert faults == []


def _texts(call: ast.Call) -> Iterator[str]:
    for it in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(it, ast.Constant) and isinstance(it.value, str):
            yield it.value


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""

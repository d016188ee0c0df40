"""Types and reasons of conditions stand in `dag/problems` and nowhere else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from crds.kinds import KINDS
from dag.problems.reasons import ConditionType, Contour, ErrorType, Gateway, Own, Word
from tests.tidy.test_house import ROOT, modules

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


@pytest.mark.parametrize("path", list(_rules()), ids=lambda it: str(it.relative_to(ROOT)))
def test_no_reason_is_written_out(path: Path) -> None:
    for call in (it for it in ast.walk(ast.parse(path.read_text())) if isinstance(it, ast.Call)):
        for text in _texts(call):
            assert text not in _WORDS, f"line {call.lineno}: {text}"
            is_made = _name(call.func) in _CONSTRUCTORS and text[:1].isupper() and text.isalpha()
            assert not is_made or text in _NO_REASONS, f"line {call.lineno}: {text}"


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

"""The house stays as drawn: arrows, sizes, names, and the folder that must not be a package."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "crds",
    "dag",
    "contour",
    "kube",
    "provisioning",
    "observability",
    "operator/contour_operator",
)
FORBIDDEN_WORDS = (
    "util", "helper", "common", "misc", "base", "manager", "processor", "handler", "context",
)  # fmt: skip
TERMS = {"connection_manager"}  # Envoy's own word
LONGEST_MODULE = 400
LONGEST_FUNCTION = 50


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted(Path(ROOT, package).rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text())


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_operator_is_not_a_package_and_never_shadows_the_standard_library() -> None:
    assert not Path(ROOT, "operator", "__init__.py").exists()
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import operator; print(operator.__file__)"
    )
    found = subprocess.run(
        [sys.executable, "-S", "-I", "-c", program], capture_output=True, text=True, check=True
    )
    assert not found.stdout.startswith(str(ROOT))


def test_the_arrows_hold() -> None:
    found = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr


def test_modules_say_what_they_are_for_and_stay_small() -> None:
    faults: list[str] = []
    for path in modules():
        if not ast.get_docstring(parsed(path)):
            faults.append(f"{_name(path)} has no docstring")
        if (length := len(path.read_text().splitlines())) > LONGEST_MODULE:
            faults.append(f"{_name(path)} has {length} lines")
        words = FORBIDDEN_WORDS if path.stem not in TERMS else ()
        empty = (it for it in words if re.search(rf"(^|_){it}s?(_|$)", path.stem))
        faults += [f"{_name(path)}: {it!r} names nothing" for it in empty]
    assert faults == []


def test_functions_stay_short() -> None:
    faults: list[str] = []
    for path in modules():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LONGEST_FUNCTION:
                    faults.append(f"{_name(path)}: {node.name} has {length} lines")
    assert faults == []


def test_every_test_package_is_a_package_all_the_way_down() -> None:
    for folder in {path.parent for path in Path(ROOT, "tests").rglob("test_*.py")}:
        for it in (folder, *folder.parents):
            if it == ROOT:
                break
            assert Path(it, "__init__.py").exists(), f"{it} has no __init__.py"


def test_every_invariant_names_a_test_that_exists() -> None:
    text = Path(ROOT, "ARCHITECTURE.md").read_text()
    invariants = re.findall(r"^\*\*I\d+\*\*.*?(?=^\*\*I\d+\*\*|^#|\Z)", text, re.M | re.S)
    assert invariants
    for invariant in invariants:
        named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", invariant)
        assert named, f"names no test: {invariant[:60]}"
        for file, function in named:
            source = Path(ROOT, file)
            assert source.exists(), file
            assert f"def {function}" in source.read_text(), f"{file}::{function}"


def test_links_in_the_documents_resolve() -> None:
    for document in [*ROOT.glob("*.md"), *Path(ROOT, "docs").rglob("*.md")]:
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", document.read_text(), flags=re.M | re.S)
        for link in re.findall(r"\]\((?!https?://|#)([^)#]+)", text):
            assert Path(document.parent, link).exists(), f"{document.name}: {link}"

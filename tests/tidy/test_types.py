"""How much of the product is typed as `Any`: no more than it was, and less where somebody can.

An alias of `Any` counts wherever it is used. The engine is left out: it serves values of any type.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.tidy.test_house import ROOT

PACKAGES = ("contour", "crds", "dag", "kube", "provisioning", "observability", "operator")
MOST = 302
"""Uses. The aim is 100; `provisioning.templating.Document` alone has about 130."""


def test_there_are_no_more_uses_of_any_than_before() -> None:
    found = {path: _uses(path) for path in _modules() if "engine" not in path.parts}
    assert sum(found.values()) <= MOST, sorted(found.items(), key=lambda it: -it[1])[:9]


def _modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from Path(ROOT, package).rglob("*.py")


def _uses(path: Path) -> int:
    names = {"Any", *_aliases(path)}
    for node in _tree(path).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module in _paths():
            theirs = _aliases(_paths()[node.module])
            names |= {it.asname or it.name for it in node.names if it.name in theirs}
    return sum(
        isinstance(it, ast.Name) and isinstance(it.ctx, ast.Load) and it.id in names
        for it in ast.walk(_tree(path))
    )


@cache
def _aliases(path: Path) -> frozenset[str]:
    """The types of a module that are made of `Any`."""
    found = {"Any"}
    for node in _tree(path).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name[0].isupper():
                used = {it.id for it in ast.walk(node.value) if isinstance(it, ast.Name)}
                found |= {name} if used & found else set()
    return frozenset(found - {"Any"})


@cache
def _paths() -> Mapping[str, Path]:
    """The file of each module."""
    parts = ((it.relative_to(ROOT).with_suffix("").parts, it) for it in _modules())
    return {".".join(names[names[0] == "operator" :]): path for names, path in parts}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def test_the_same_values_are_written_in_one_order() -> None:
    """`typing` takes unions with equal values for the same, whatever their order: a schema would
    have that of the module which is imported first."""
    found: dict[frozenset[object], dict[tuple[object, ...], Path]] = {}
    for path in _modules():
        for values in _literals(path):
            found.setdefault(frozenset(values), {})[values] = path
    assert [it for it in found.values() if len(it) > 1] == []


def _literals(path: Path) -> Iterator[tuple[object, ...]]:
    for it in ast.walk(_tree(path)):
        match it:
            case ast.Subscript(value=ast.Name(id="Literal"), slice=ast.Tuple(elts=values)):
                yield tuple(one.value for one in values if isinstance(one, ast.Constant))

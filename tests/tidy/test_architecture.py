"""What ARCHITECTURE says of the code is so: its map is complete, its walks name what is there."""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.tidy.test_house import ROOT, modules

TEXT = Path(ROOT, "ARCHITECTURE.md").read_text()
MAP = TEXT.partition("\n## The map\n")[2].partition("\n## ")[0]
WALKS = TEXT.partition("\n## Walks\n")[2].partition("\n## ")[0]
PATHS = sorted({*re.findall(r"`([\w/]+\.py)`", TEXT)})
STEPS = sorted({*re.findall(r"`([A-Za-z_/]+)\.(?!py\b)([a-z_]+)(?:\(\w+\))?`", WALKS)})


@cache
def sources() -> dict[str, str]:
    """The text of each module, by its path."""
    found = [*modules(), *Path(ROOT, "tests").rglob("*.py")]
    return {f"/{it.relative_to(ROOT)}": it.read_text() for it in found}


@pytest.mark.parametrize("package", ["contour", "dag"])
def test_the_map_has_every_folder_and_module(package: str) -> None:
    found = {it.split("/")[2] for it in sources() if it.startswith(f"/{package}/")}
    names = {it if it.endswith(".py") else f"{it}/" for it in found} - {"__init__.py"}
    assert [it for it in sorted(names) if not re.search(rf"[`/]{re.escape(it)}", MAP)] == []


@pytest.mark.parametrize("path", PATHS)
def test_a_module_that_is_named_is_there(path: str) -> None:
    assert [it for it in sources() if it.endswith(f"/{path}")]


@pytest.mark.parametrize(("owner", "name"), [it for it in STEPS if it[0] != "spec"])
def test_a_step_of_a_walk_is_where_it_is_said_to_be(owner: str, name: str) -> None:
    """The owner is a module or a class; the paths of fields are left out."""
    module = re.compile(rf"/{owner}(/__init__)?\.py$")
    named = [text for it, text in sources().items() if module.search(it)]
    owners = named or [it for it in sources().values() if f"class {owner}" in it]
    assert any(re.search(rf"^ *(async )?(def|class) {name}\b", it, re.M) for it in owners)

"""docs/reference has every field of the models, every condition, every command and option."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from contour.cli import COMMANDS
from contour_operator import reasons as operators
from crds import shape
from crds.kinds import KINDS
from dag.problems import reasons
from tests.testbed.processes import ROOT
from tests.tidy.test_help import OPTIONS

FOLDER = Path(ROOT, "docs", "reference")
ONLY_NAMES = {"Namespace", "CustomResourceDefinition"}
PAGES = {it.kind: it.model for it in KINDS.values() if it.kind not in ONLY_NAMES}
FEWEST_WORDS = 3


class Row(NamedTuple):
    """A field, as its page tells of it; a table has no column that would be empty."""

    type: str
    meaning: str
    default: str = ""
    limits: str = ""


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_has_the_fields_of_the_model_and_no_other(kind: str) -> None:
    told, fields = rows(kind), dict(fields_of(PAGES[kind], ""))
    assert set(told) == set(fields)
    for path, field in fields.items():
        is_required = field.default is dataclasses.MISSING
        assert (told[path].default == "**required**") == is_required, path
        assert len(told[path].meaning.split()) >= FEWEST_WORDS, path
        assert told[path].type, path
        if isinstance(field.default, str | int) and field.default != "":
            assert told[path].default.strip("`").strip('"') == _written(field.default), path


def rows(kind: str) -> dict[str, Row]:
    """The rows of a page, by the path of the field without the marks of lists and maps."""
    found: dict[str, Row] = {}
    place, columns = "", [""]
    for line in (FOLDER / f"{kind.lower()}.md").read_text().splitlines():
        if line.startswith("## "):
            place = line.removeprefix("## ").strip("`") + "."
        elif line.startswith("| field |"):
            _, *columns = line.strip("| ").split(" | ")
        elif line.startswith("| `"):
            name, *cells = (it.strip() for it in re.split(r"(?<!\\)\|", line)[1:-1])
            inside = "" if place == "The object." else place
            found[re.sub(r"\[\]|\{\}", "", inside + name.strip("`"))] = Row(
                **dict(zip(columns, cells, strict=True))
            )
    return found


def fields_of(model: type, prefix: str) -> Iterator[tuple[str, shape.FieldShape]]:
    for name, field in shape.fields(model).items():
        if prefix or name != "metadata":
            yield prefix + name, field
            if field.model is not None and dataclasses.is_dataclass(field.model):
                yield from fields_of(field.model, f"{prefix}{name}.")


def _written(value: str | int) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_limits_are_those_that_decoding_has() -> None:
    port = rows("HTTPProxy")["spec.routes.services.port"]
    assert port == Row("integer", port.meaning, "**required**", "1 to 65,535")
    pages = rows("HTTPProxy")["spec.virtualhost.aliases"].limits
    assert "at most 100 entries" in pages
    assert rows("Gateway")["spec.listeners"].limits == "1 to 64 entries"
    assert "`Exact`" in rows("Ingress")["spec.rules.http.paths.pathType"].limits


def test_the_list_has_every_page() -> None:
    listed = re.findall(r"\]\((\w+\.md)\)", (FOLDER / "fields.md").read_text())
    assert sorted(listed) == sorted(f"{it.lower()}.md" for it in PAGES)


WORDS = [
    *reasons.ConditionType, *reasons.ErrorType, *reasons.Contour, *reasons.Gateway, *reasons.Own,
    *reasons.Marin3r, *reasons.CommandLine,
]  # fmt: skip


@pytest.mark.parametrize("word", sorted(set(WORDS)))
def test_a_word_of_a_status_is_documented(word: str) -> None:
    page = (FOLDER / "conditions.md").read_text()
    assert re.search(rf"^\| `{word}` \| \S", page, re.MULTILINE)


def test_the_page_of_the_operator_is_referred_to_for_its_reasons() -> None:
    assert "(../operator.md)" in (FOLDER / "conditions.md").read_text()
    operator = Path(ROOT, "docs", "operator.md").read_text()
    assert all(f"`{it}`" in operator for it in operators.Reason)


def test_every_command_and_option_is_documented() -> None:
    page = (FOLDER / "commands.md").read_text()
    headings = re.findall(r"^## `([^`]+)`", page, re.MULTILINE)
    assert {it.split()[1] for it in headings if it.startswith("contour ")} == set(COMMANDS)
    assert "contour-operator run" in headings
    sections = dict(zip(headings, re.split(r"^## `[^`]+`$", page, flags=re.M)[1:], strict=True))
    for it in OPTIONS:
        path = str(it.id).rpartition(" ")[0]
        _, option = it.values
        assert path in sections
        assert max(getattr(option, "opts", ()), key=len) in sections[path], it.id

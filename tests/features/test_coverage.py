"""Every served field that the documents tell of has a row, or a reason for having none."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml

from tests.docs import test_fields as documents
from tests.features import rows

_FOLDERS = ("httpproxy", "ingress", "configuration", "gateway")


@cache
def _unproven() -> dict[str, Any]:
    found: dict[str, Any] = yaml.load((rows.FOLDER / "unproven.yaml").read_text(), yaml.CSafeLoader)
    return found


@cache
def _proven() -> frozenset[str]:
    found = (row for folder in _FOLDERS for row in rows.rows(folder))
    return frozenset(str(it).replace("[]", "") for row in found for it in row.proven)


@cache
def _excused() -> frozenset[str]:
    return frozenset(it for found in _unproven()["because"].values() for it in found)


@pytest.mark.parametrize("kind", documents._DOCUMENTED)
def test_a_served_field_has_a_row_or_a_reason(kind: str) -> None:
    missing = [it for it in _served(kind) if not _is_settled(f"{kind} {it}")]
    assert not missing, f"{kind} has neither rows nor reasons for {missing}"


def test_nothing_is_excused_that_has_a_row() -> None:
    assert not _excused() & _proven()


def test_the_tests_that_reasons_name_exist() -> None:
    for reason in _unproven()["because"]:
        for path in re.findall(r"tests/[\w/]+(?:\.py)?", reason):
            assert (rows.FOLDER.parents[1] / path).exists(), reason


def test_what_is_excused_exists() -> None:
    for path in [*_excused(), *_unproven()["same"], *_unproven()["same"].values()]:
        kind, _, field = path.partition(" ")
        if kind not in documents._DOCUMENTED:
            continue  # its fields are in no table
        found = [name for name, _ in documents._fields(kind)]
        assert any(it == field or it.startswith(f"{field}.") for it in found), path


def _served(kind: str) -> Iterator[str]:
    """Fields without fields of their own that are called served."""
    told, fields = documents._told(kind), dict(documents._fields(kind))
    for path in fields:
        is_leaf = not any(it.startswith(f"{path}.") for it in fields)
        row = next((told[it] for it in documents._above(path) if it in told), None)
        if is_leaf and row is not None and row.served in {"yes", "in part"}:
            yield path


def _is_settled(field: str, depth: int = 0) -> bool:
    above = list(_above(field))
    if field in _proven() or any(it in _excused() for it in above):
        return True
    if any(it in _proven() and re.split("[ .]", it)[-1] in _unproven()["whole"] for it in above):
        return True
    return depth < 2 and any(
        _has_rows_below(place) and _is_settled(field.replace(place, twin, 1), depth + 1)
        for place, twin in _unproven()["same"].items()
        if place in above
    )


def _has_rows_below(place: str) -> bool:
    """The place itself is proven to be read."""
    return any(it == place or it.startswith(f"{place}.") for it in _proven())


def _above(field: str) -> Iterator[str]:
    kind, _, path = field.partition(" ")
    for it in documents._above(path):
        yield f"{kind} {it}"

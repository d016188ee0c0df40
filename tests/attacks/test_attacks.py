"""Every row of the table is tried here, or is proved by a test that exists, or says why not."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from tests.attacks import worlds
from tests.attacks.rows import Json, Row, Tried, table

ROOT = Path(__file__).parents[2]
FEWEST = 90
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _cases(name: str) -> list[ParameterSet]:
    return list(_each(name))


def _each(name: str) -> Iterator[ParameterSet]:
    for row in table():
        if row.tried is not None:
            for number, value in enumerate(getattr(row.tried, name), 1):
                yield pytest.param(row.tried, value, id=f"{row.attack[:60]}-{number}")


@pytest.fixture(scope="module", name="folder")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("attacks")


@pytest.mark.parametrize("row", table(), ids=lambda it: it.attack[:60])
def test_a_row_is_shown_in_one_way(row: Row) -> None:
    assert row.ways == 1
    assert row.tried is None or row.tried.refused or row.tried.inert


def test_no_attack_is_there_twice_and_the_corpus_does_not_shrink() -> None:
    attacks = [it.attack for it in table()]
    assert len(attacks) == len(set(attacks)) >= FEWEST


@pytest.mark.parametrize("row", [it for it in table() if it.proved], ids=lambda it: it.attack[:60])
def test_what_proves_a_row_is_a_test(row: Row) -> None:
    for name in row.proved:
        path, _, function = name.partition("::")
        module = ast.parse((ROOT / path).read_text())
        found = {it.name for it in module.body if isinstance(it, _FUNCTIONS)}
        assert function in {it for it in found if it.startswith("test_")}, name


@pytest.mark.parametrize(
    "tried", [pytest.param(it.tried, id=it.attack[:60]) for it in table() if it.tried]
)
def test_what_is_harmless_is_served(tried: Tried, folder: Path) -> None:
    """So that a case of the row fails if its value is served, too."""
    found = worlds.outcome(folder, tried.manifests, tried.harmless)
    wanted = tried.served.replace("$it", str(tried.harmless))
    assert found.count(wanted) > worlds.before(folder).count(wanted), found.told
    assert not tried.told or not any(tried.told in it for it in found.told)


@pytest.mark.parametrize(("tried", "value"), _cases("refused"))
def test_what_is_refused_is_told_and_not_served(tried: Tried, value: Json, folder: Path) -> None:
    before = worlds.before(folder)
    found = worlds.outcome(folder, tried.manifests, value)
    unwanted = tried.served.replace("$it", str(value))
    assert found.count(unwanted) == before.count(unwanted), found.routes
    assert not tried.told or any(tried.told in it for it in found.told), found.told
    assert found.of_neighbour() == before.of_neighbour()
    if tried.routes is not None:
        assert tuple(it for it in found.routes if it not in before.routes) == tried.routes


@pytest.mark.parametrize(("tried", "value"), _cases("inert"))
def test_what_is_inert_changes_nothing_but_itself(tried: Tried, value: Json, folder: Path) -> None:
    harmless = worlds.outcome(folder, tried.manifests, tried.harmless)
    found = worlds.outcome(folder, tried.manifests, value)
    written = str(value).replace("%", "%%") if tried.is_formatted else str(value)
    assert found.without(written) == harmless.without(str(tried.harmless)), found.told
    assert found.of_neighbour() == worlds.before(folder).of_neighbour()

"""Every row, as it stands and without each of its fields: the first is so, the others are not."""

import asyncio
from collections import Counter

import pytest

from tests.features import edits, expectations, rows
from tests.features.stage import Stage

_ROWS = [*rows.rows("httpproxy"), *rows.rows("ingress")]


def test_every_row_has_a_name_of_its_own() -> None:
    names = Counter(it.variants[0].name for it in _ROWS)
    assert not [name for name, count in names.items() if count > 1]


@pytest.mark.envoy
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("row", _ROWS, ids=str)
async def test_it_is_so(hosts: Stage, row: rows.Row) -> None:
    await require_so(hosts, row)


@pytest.mark.envoy
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("row", _ROWS, ids=str)
async def test_it_is_not_so_without_one_of_the_fields(hosts: Stage, row: rows.Row) -> None:
    await require_not_so(hosts, row)


async def require_so(stage: Stage, row: rows.Row) -> None:
    """Requests become what the row says, and the user is told what it says."""
    await stage.play(row.variants[0])
    told = await stage.reasons(row.variants[0])
    assert row.wrong in told
    assert bool(told) == row.variants[0].is_told, told


async def require_not_so(stage: Stage, row: rows.Row) -> None:
    """Without any of its fields they do not; and the user is told if something is wrong."""
    variants = row.variants[1:]
    given = list(row.variants[0].documents(stage.names))
    for variant in variants:
        assert any(_holds(it, variant) for it in given), f"the row has no {variant.without}"
    played = await asyncio.gather(*(_is_so(stage, it) for it in variants))
    needless = [str(it.without) for it, is_so in zip(variants, played, strict=True) if is_so]
    assert not needless, "it is so without"
    for variant in variants:
        told = await stage.reasons(variant)
        assert bool(told) == variant.is_told, (str(variant.without), told)


def _holds(document: rows.Document, variant: rows.Variant) -> bool:
    without = variant.without
    return (
        without is not None
        and document["kind"] == without.kind
        and edits.holds(document, without.path)
    )


async def _is_so(stage: Stage, variant: rows.Variant) -> bool:
    try:
        await stage.play(variant)
    except expectations.UnmetError:
        return False
    return True

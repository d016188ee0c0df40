"""Settings of an instance: the rows of a file share one, and another one lacks a field of each."""

import pytest

from tests.features import expectations, rows
from tests.features.conftest import Configured

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="session")]

_ROWS = rows.rows("configuration")


@pytest.mark.parametrize("row", _ROWS, ids=str)
async def test_it_is_so(configured: Configured, row: rows.Row) -> None:
    found = await configured(row.file, None)
    await found.play(row.variants[0])
    told = await found.reasons(row.variants[0])
    assert row.wrong in told
    assert bool(told) == row.variants[0].is_told, told


@pytest.mark.parametrize("row", _ROWS, ids=str)
async def test_it_is_not_so_without_one_of_the_fields(
    configured: Configured, row: rows.Row
) -> None:
    for number, field in enumerate(row.proven):
        found = await configured(row.file, number)
        try:
            await found.play(row.variants[0])
        except expectations.UnmetError:
            continue
        pytest.fail(f"it is so without {field}")

"""Rows of the Gateway API, as they stand and without each of their fields."""

import pytest

from tests.features import rows
from tests.features.stage import Stage
from tests.features.test_rows import require_not_so, require_so

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="session")]

_ROWS = rows.rows("gateway")


@pytest.mark.parametrize("row", _ROWS, ids=str)
async def test_it_is_so(edge: Stage, row: rows.Row) -> None:
    await require_so(edge, row)


@pytest.mark.parametrize("row", _ROWS, ids=str)
async def test_it_is_not_so_without_one_of_the_fields(edge: Stage, row: rows.Row) -> None:
    await require_not_so(edge, row)

"""Every row, as it stands and without each of its fields: the first is so, the others are not."""

import pytest

from tests.features import edits, expectations, rows
from tests.features.stage import Stage

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="session")]

_ROWS = [*rows.rows("httpproxy"), *rows.rows("ingress")]
_WITHOUT = [it for row in _ROWS for it in row.variants[1:]]


@pytest.mark.parametrize("row", _ROWS, ids=str)
async def test_it_is_so(hosts: Stage, row: rows.Row) -> None:
    await hosts.play(row.variants[0])
    told = await hosts.reasons(row.variants[0])
    assert row.wrong in told
    assert bool(told) == row.variants[0].is_told, told


@pytest.mark.parametrize("variant", _WITHOUT, ids=lambda it: f"{it.row} - {it.without}")
async def test_it_is_not_so_without_the_field(hosts: Stage, variant: rows.Variant) -> None:
    assert variant.without is not None
    before = list(variant.row.variants[0].documents(hosts.ports))
    assert any(
        it["kind"] == variant.without.kind and edits.holds(it, variant.without.path)
        for it in before
    ), "the row does not have the field"
    with pytest.raises(expectations.UnmetError):
        await hosts.play(variant)
    told = await hosts.reasons(variant)
    assert bool(told) == variant.is_told, told

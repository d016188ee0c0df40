"""Settings of an instance. The rows of a file share one, and a second one lacks the field of each.

A test a file, for starting instances is what takes time; it tells of every row that fails.
"""

import asyncio
from pathlib import Path

import pytest

from tests.features import configurations, expectations, peers, rows
from tests.features.stage import Stage, stage

_ROWS = rows.rows("configuration")
_FILES = sorted({it.file for it in _ROWS})


@pytest.mark.envoy
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("file", _FILES)
async def test_it_is_so(file: str, behind: peers.Peers, tmp_path: Path) -> None:
    shared = [it for it in _ROWS if it.file == file]
    variants, merged = [it.variants[0] for it in shared], configurations.merged(shared)
    async with stage(tmp_path / "as-said", behind, variants, merged=merged) as found:
        failed = {it.row.row: why for it in variants if (why := await _fault(found, it))}
    assert not failed


@pytest.mark.envoy
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("file", _FILES)
async def test_it_is_not_so_without_the_field(
    file: str, behind: peers.Peers, tmp_path: Path
) -> None:
    shared = [it for it in _ROWS if it.file == file]
    variants = [it.variants[0] for it in shared]
    merged = configurations.merged(shared, without_fields=True)
    async with stage(tmp_path / "without", behind, variants, merged=merged) as found:
        played = await asyncio.gather(*(_is_so(found, it) for it in variants))
    assert not [it.row.proves for it, is_so in zip(variants, played, strict=True) if is_so]


async def _fault(found: Stage, variant: rows.Variant) -> str:
    try:
        await found.play(variant)
    except expectations.UnmetError as error:
        return str(error)
    told = await found.reasons(variant)
    is_as_said = variant.row.wrong in told and bool(told) == variant.is_told
    return "" if is_as_said else f"the user is told: {told!r}"


async def _is_so(found: Stage, variant: rows.Variant) -> bool:
    try:
        await found.play(variant)
    except expectations.UnmetError:
        return False
    return True


def test_a_row_proves_one_field() -> None:
    assert not [str(it) for it in _ROWS if len(it.proven) != 1]

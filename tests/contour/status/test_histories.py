"""Random histories: see `histories`."""

import pytest

from contour.status import retries
from contour.status.pacing import Pacing
from tests.contour.status.histories import histories


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(retries, "LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(retries, "LONGEST_STANDSTILL", 0.01)
    monkeypatch.setattr(Pacing, "shortest", 0.001)
    monkeypatch.setattr(Pacing, "longest", 0.001)


@pytest.mark.parametrize("seed", range(0, 40, 10))
async def test_no_history_loses_what_anybody_says_or_goes_back_to_an_older_version(
    seed: int,
) -> None:
    await histories(10, seed)

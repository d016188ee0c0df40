"""No random history ends with anything told that is not so; 10,000 of them by `hack/chaos`."""

import pytest

from tests.kube.histories import histories


# A connection that the double accepts in the moment it is stopped is left to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_what_is_told_equals_what_is_there_after_any_history() -> None:
    taken = await histories(100, seed=1)
    assert min(taken.values()) > 0

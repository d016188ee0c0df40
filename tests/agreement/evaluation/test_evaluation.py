"""A share of it in every run. All of it: `hack/bench evaluation`."""

from random import Random

import pytest

from tests.agreement.evaluation import comparing

pytestmark = pytest.mark.envoy


@pytest.mark.parametrize("routing", ["Single", "Shards"])
async def test_envoy_answers_as_the_evaluator_says(routing: str) -> None:
    found = await comparing.judged(routing, 6, 120, Random(0))
    assert found.disagreements == []
    assert found.routed > 0.6 * found.requests, found.steps

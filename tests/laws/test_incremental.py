"""Whatever happened, in whatever order: what is answered follows from what is there alone."""

from random import Random

import pytest

from tests.laws import histories
from tests.laws.histories import Served, World


@pytest.mark.parametrize("chunk", range(4))
def test_incremental_equals_rebuilt_and_the_reported_changes_are_the_real_ones(chunk: int) -> None:
    answers, seeds = 0, histories.seeds()[chunk::4]
    for seed in seeds:
        world = World()
        for step in histories.history(seed):
            world.step(step)
            if step.settles:
                world.settle()
        world.settle()
        assert not world.engine.failures, f"seed {seed}"
        assert world.reported == world.answered() == world.rebuilt(), f"seed {seed}"
        answers += len(world.reported)
    assert answers > 20 * len(seeds)


def test_every_step_of_a_history_equals_a_rebuild() -> None:
    for seed in histories.seeds(share=0.02):
        world = World()
        for number, step in enumerate(histories.history(seed)):
            world.step(step)
            world.settle()
            assert world.reported == world.rebuilt(), f"seed {seed}, step {number}"


def test_any_order_of_arrival_gives_the_same_bytes() -> None:
    for seed in histories.seeds(share=0.15):
        steps = histories.ended(seed)
        at_once, one_by_one = Served(), Served()
        at_once.take(*steps)
        Random(seed).shuffle(steps)
        for step in steps:
            one_by_one.take(step)
        assert at_once.bodies() == one_by_one.bodies(), f"seed {seed}"
        rows = (list(it.controller.board.rows()) for it in (at_once, one_by_one))
        assert next(rows) == next(rows), f"seed {seed}"

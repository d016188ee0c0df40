"""Evaluated answers differ where the comparison says so, and nowhere else: random pairs of worlds.

The worlds and requests are those by which Envoy judges the evaluator.
"""

from collections import Counter
from random import Random

import pytest
import yaml

from dag import nodes
from dag.comparison import Difference, Uncompared, worlds
from dag.engine.incremental import Engine
from dag.evaluation import evaluator
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer
from dag.values import hostnames
from tests.agreement.evaluation import asking
from tests.agreement.evaluation.worlds import made
from tests.dag import world

WORLDS, REQUESTS = 8, 150


def answer(engine: Engine, request: Request) -> tuple[object, ...]:
    """What a client sees, and which backends get the request; not why."""
    found: Answer = evaluator.evaluate(engine, world.FLEET, request).answer
    return found.status, found.location, found.backends, found.response_headers


def is_told(found: list[Difference | Uncompared], request: Request) -> bool:
    return any(_concerns(it.place, request) for it in found)


def _concerns(place: nodes.HostKey, request: Request) -> bool:
    names = (*hostnames.covering(request.name.rstrip(".")), *hostnames.covering(request.asked))
    return place.host in names or not place.host


@pytest.mark.parametrize("seed", range(WORLDS))
def test_what_is_answered_differently_is_told_and_the_other_way_round(seed: int) -> None:
    chance = Random(seed)
    old, new = (world.world(yaml.safe_dump_all(made(chance))) for _ in range(2))
    found = list(worlds.differences(old, new))
    counted: Counter[bool] = Counter()
    for _ in range(REQUESTS):
        request = asking.made(chance)
        differs = answer(old, request) != answer(new, request)
        counted[differs] += 1
        assert is_told(found, request) or not differs, request
    assert min(counted[True], counted[False]) > REQUESTS // 20
    told = [it for it in found if isinstance(it, Difference) and it.aspect == "answer"]
    examples = [it for it in told if it.example is not None]
    assert len(examples) >= 5
    for it in examples:
        assert it.example is not None
        assert answer(old, it.example) != answer(new, it.example), it

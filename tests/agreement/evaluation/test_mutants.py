"""The evaluators that lack a step can be made; that Envoy contradicts each is `hack/bench`'s."""

import sys
from pathlib import Path

import pytest

import dag.evaluation.evaluator
from dag.engine.incremental import Engine
from dag.evaluation import evaluator
from dag.evaluation.requests import Request
from dag.fleetnames import DEFAULT_FLEET
from dag.plan import PLAN
from tests.agreement.evaluation import mutants
from tests.testbed import load


@pytest.mark.parametrize("module", sorted({it.module for it in mutants.MUTANTS}))
def test_each_step_stands_once_in_its_module(module: str) -> None:
    text = (Path(dag.evaluation.__file__).parent / f"{module}.py").read_text()
    steps = [it.before for it in mutants.MUTANTS if it.module == module]
    assert [it for it in steps if text.count(it) != 1] == []


def test_the_evaluator_itself_stays_while_a_copy_lacks_a_step() -> None:
    assert mutants.evaluator(mutants.MUTANTS[0]) is not evaluator.evaluate
    assert sys.modules["dag.evaluation.evaluator"] is dag.evaluation.evaluator


def test_a_mutant_that_answers_otherwise_is_found_out() -> None:
    engine = Engine(PLAN)
    list(engine.settling())
    court = mutants.Court(mutants.MUTANTS[:1])
    asked = Request("a.test")
    assert evaluator.evaluate(engine, DEFAULT_FLEET, asked).answer.status is None
    court.judge(engine, asked, None)
    assert list(court.left) == [*mutants.MUTANTS[:1]]
    court.judge(engine, asked, load.Answer(404, {}, b""))
    assert not court.left

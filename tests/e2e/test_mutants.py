"""The table of mutants fits the program: `python -m tests.e2e.mutants` runs them, for minutes."""

import ast
import re

import pytest

from tests.e2e import mutants


def test_a_program_that_lacks_nothing_survives() -> None:
    mutant = next(it for it in mutants.MUTANTS if it.module == "dag.gateway.addresses")
    assert mutants.survives(mutant._replace(after=mutant.before))


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=str)
def test_a_mutant_differs_in_one_place_and_its_test_exists(mutant: mutants.Mutant) -> None:
    text = mutant.path.read_text()
    assert text.count(mutant.before) == 1
    ast.parse(text.replace(mutant.before, mutant.after))
    file, _, name = mutant.proof.partition("::")
    assert re.search(rf"^(async )?def {name}\(", (mutants.ROOT / file).read_text(), re.MULTILINE)

"""Random objects over the whole model: no rule raises, and each is answered in bounded time."""

from random import Random
from time import process_time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crds.decode import Decoded, decode
from dag import tables
from dag.engine.incremental import Engine
from dag.plan import STATUSES
from tests.dag.httpproxy import generated, surroundings

ENGINE: list[Engine] = []
"""One for all examples, which makes each a change of the one before."""


def taken(engine: Engine, document: generated.Document) -> bool:
    """Whether the object is one; no rule may fail on it, and its author is told a status."""
    found = decode(document)
    if not isinstance(found, Decoded) or found.object is None:
        return False
    engine.write(tables.BY_KIND[found.kind.kind], found.key, found.object)
    engine.settle()
    assert not engine.failures, (document, engine.failures)
    engine.answer(STATUSES[found.kind.kind], found.key)
    return True


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_no_rule_raises(chance: Random) -> None:
    if not ENGINE:
        ENGINE.append(surroundings.engine())
    start = process_time()
    taken(ENGINE[0], generated.document(chance))
    assert process_time() - start < 2


def test_most_random_objects_are_taken_and_reach_every_field() -> None:
    hit: set[str] = set()
    count = 0
    for seed in range(1000):
        document = generated.document(Random(seed), generated.KIND_OF["HTTPProxy"])
        found = decode(document)
        if isinstance(found, Decoded) and found.object is not None:
            count += 1
            hit.update(generated.set_fields(document["spec"]))
    assert count > 500
    missing = generated.fields("HTTPProxy") - hit
    assert len(missing) < 0.03 * len(generated.fields("HTTPProxy")), sorted(missing)

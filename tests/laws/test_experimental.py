"""Objects of the experimental channel that come and go among everything else, and their kinds with
them: what is served and told follows from what is there."""

from collections import Counter
from collections.abc import Iterator
from random import Random

from crds.decode import Decoded, decode
from dag import nodes, tables
from tests.laws import experimental, histories
from tests.laws.gateways import Document
from tests.laws.histories import Step, World


def _written(chance: Random) -> Step:
    """An object that comes, is edited, or goes."""
    step = _step(experimental.document(chance))
    return step if chance.random() < 0.85 else step._replace(object=None)


def _step(document: Document) -> Step:
    found = decode(document)
    assert isinstance(found, Decoded)
    assert not found.errors, found.errors
    return Step(found.kind, found.key, found.object, settles=True)


def test_incremental_equals_rebuilt_with_kinds_of_the_experimental_channel() -> None:
    found: Counter[str] = Counter()
    for seed in histories.seeds(share=0.2):
        world, chance = World(), Random(seed)
        for step in histories.history(seed):
            world.step(experimental.referring(step, chance))
            if chance.random() < 0.5:
                world.step(_written(chance))
            if chance.random() < 0.3:
                world.step(_step(chance.choice(experimental.ground())))
            if chance.random() < 0.05:
                kind = chance.choice(("XBackend", "ClusterTrustBundle"))
                world.write(tables.ABSENT, kind, chance.random() < 0.2 or None)
            if step.settles:
                world.settle()
                found.update(_words(world))
        world.settle()
        assert not world.engine.failures, f"seed {seed}"
        assert world.reported == world.answered() == world.rebuilt(), f"seed {seed}"
    assert all(found[it] for it in _MET)


_MET = (
    *("status_of_XBackend", "status_of_XTelemetryPolicy", "status_of_XBackendTrafficPolicy"),
    *("far", "bounded"),
)


def _words(world: World) -> Iterator[str]:
    """Which queries have answers; `far` for clusters of XBackends, `bounded` for those with a
    budget for retries."""
    for query, key in world.reported:
        yield query.name
        cluster = getattr(key, "cluster", None)
        if isinstance(cluster, nodes.Cluster) and cluster.port.kind == "XBackend":
            yield "far"
        if isinstance(cluster, nodes.Cluster) and cluster.retry_budget is not None:
            yield "bounded"

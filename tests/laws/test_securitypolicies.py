"""Policies that come and go among everything else: what applies follows from what is there."""

from dataclasses import replace
from random import Random

from crds.decode import Decoded, decode
from tests.laws import histories, securitypolicies
from tests.laws.histories import Step, World


def _policy(chance: Random) -> Step:
    """A policy that comes, is edited, or goes."""
    metadata = {"name": chance.choice(("a1", "a2", "a3")), "namespace": chance.choice("ab")}
    made = {"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "SecurityPolicy"}
    found = decode(made | {"metadata": metadata} | securitypolicies.policy(chance))
    assert isinstance(found, Decoded)
    assert not found.errors
    is_there = chance.random() < 0.8
    return Step(found.kind, found.key, found.object if is_there else None, settles=True)


def _labelled(step: Step, chance: Random) -> Step:
    """The same with labels, if it is a target that is there."""
    if step.object is None or step.kind.kind not in {"Gateway", "HTTPRoute", "GRPCRoute"}:
        return step
    metadata = replace(step.object.metadata, labels=chance.choice(securitypolicies.LABELS))
    return step._replace(object=replace(step.object, metadata=metadata))


def test_incremental_equals_rebuilt_with_policies() -> None:
    told = 0
    for seed in histories.seeds(share=0.2):
        world, chance = World(), Random(seed)
        for step in histories.history(seed):
            world.step(_labelled(step, chance))
            if chance.random() < 0.3:
                world.step(_policy(chance))
            if step.settles:
                world.settle()
        world.settle()
        assert not world.engine.failures, f"seed {seed}"
        assert world.reported == world.answered() == world.rebuilt(), f"seed {seed}"
        told += sum("SecurityPolicy" in query.name for query, _ in world.reported)
    assert told > 0

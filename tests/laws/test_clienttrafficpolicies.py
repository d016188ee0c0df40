"""Policies of clients that come and go among everything else: what holds follows from what is
there."""

from random import Random
from typing import Any

from crds.decode import Decoded, decode
from tests.laws import histories
from tests.laws.histories import Step, World

_GROUP = "gateway.networking.k8s.io"
_TARGETS = (("Gateway", "g1"), ("Gateway", "g2"), ("ListenerSet", "l1"))
_SPECS: tuple[dict[str, Any], ...] = (
    {"clientIPDetection": {"xForwardedFor": {"numTrustedHops": 1}}},
    {"path": {"disableMergeSlashes": True}, "tls": {"minVersion": "1.3"}},
    {"tcpKeepalive": {"probes": 3}, "http3": {}},
    {"tls": {"clientValidation": {"caCertificateRefs": [{"name": "nowhere"}]}}},
    {"tls": {"clientValidation": {"mode": "Request"}}},
    {"connection": {"connectionLimit": {"value": 5}, "bufferLimit": "x"}},
)


def _policy(chance: Random) -> Step:
    """A policy that comes, is edited, or goes."""
    metadata = {"name": chance.choice(("c1", "c2", "c3")), "namespace": chance.choice("ab")}
    targets = [_target(chance, *it) for it in chance.sample(_TARGETS, chance.choice((1, 1, 2)))]
    made = {"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "ClientTrafficPolicy"}
    spec = {"targetRefs": targets, **chance.choice(_SPECS)}
    found = decode(made | {"metadata": metadata, "spec": spec})
    assert isinstance(found, Decoded)
    assert not found.errors
    is_there = chance.random() < 0.8
    return Step(found.kind, found.key, found.object if is_there else None, settles=True)


def _target(chance: Random, kind: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"group": _GROUP, "kind": kind, "name": name}
    if chance.random() < 0.4:
        found["sectionName"] = chance.choice(("h1", "h2", "gone"))
    return found


def test_incremental_equals_rebuilt_with_policies_of_clients() -> None:
    told = 0
    for seed in histories.seeds(share=0.2):
        world, chance = World(), Random(seed)
        for step in histories.history(seed):
            world.step(step)
            if chance.random() < 0.3:
                world.step(_policy(chance))
            if step.settles:
                world.settle()
        world.settle()
        assert not world.engine.failures, f"seed {seed}"
        assert world.reported == world.answered() == world.rebuilt(), f"seed {seed}"
        told += sum("ClientTrafficPolicy" in query.name for query, _ in world.reported)
    assert told > 0

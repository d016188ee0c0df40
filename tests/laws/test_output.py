"""What is served hangs together, whatever there is; and every object is told exactly one status."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from crds.meta import NamespacedName, ObjectRef
from tests.laws import documents, histories, references
from tests.laws.histories import Served

ROOT = Path(__file__).parents[2]


def test_equal_input_gives_identical_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    chance = Random(7)
    world = tmp_path / "world.json"
    world.write_text(json.dumps([documents.document(chance) for _ in range(150)]))
    digests = [
        subprocess.run(
            [sys.executable, "-m", "tests.laws.digest", world],
            cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert digests[0]
    assert digests[0] == digests[1]


def test_nothing_refers_to_what_is_not_there() -> None:
    checked = 0
    for seed in histories.seeds(share=0.1):
        checked += references.require_there(_served(seed).shown(), f"seed {seed}")
    assert checked > 20 * len(histories.seeds(share=0.1))


def test_envoy_waits_for_whatever_it_fetches_until_it_is_there() -> None:
    found = [it for seed in histories.seeds(share=0.05) for it in _sources(_served(seed).shown())]
    assert len(found) > 20
    assert {it.get("initial_fetch_timeout") for it in found} == {"0s"}


def _sources(shown: Any) -> Iterator[dict[str, Any]]:
    """Every source of configuration."""
    for it in shown.values() if isinstance(shown, dict) else shown:
        if isinstance(it, dict | list):
            yield from _sources(it)
    if isinstance(shown, dict) and "ads" in shown:
        yield shown


def test_every_object_is_told_exactly_one_status() -> None:
    for seed in histories.seeds(share=0.2):
        served, steps = _served(seed), histories.ended(seed)
        told = {it for it in served.controller.board.told if it.kind != "BackendTLSPolicy"}
        assert told == set(_told(steps)), f"seed {seed}"


def _served(seed: int) -> Served:
    served = Served()
    for step in histories.history(seed):
        served.take(step)
    return served


def _told(steps: list[histories.Step]) -> Iterator[ObjectRef]:
    """The objects that are for this controller, as their own fields say.

    Policies are left out: whether one is for us depends on where routes lead.
    """
    by_kind: dict[str, list[Any]] = {}
    for step in steps:
        by_kind.setdefault(step.kind.kind, []).append(step.object)
    controller = _controller(by_kind.get("ContourConfiguration", []))
    classes = [
        it for it in by_kind.get("GatewayClass", ()) if it.spec.controller_name == controller
    ]
    oldest = min(map(_age, classes), default=None)
    gateways = [
        it.metadata.key
        for it in by_kind.get("Gateway", ())
        if oldest is not None and it.spec.gateway_class_name == oldest[1]
    ]
    yield from (_reference("GatewayClass", it) for it in classes)
    names = {it.metadata.name for it in classes}
    of_a_class = (it for it in by_kind.get("Gateway", ()) if it.spec.gateway_class_name in names)
    yield from (_reference("Gateway", it) for it in of_a_class)
    for kind in ("TLSCertificateDelegation", "ContourConfiguration"):
        yield from (_reference(kind, it) for it in by_kind.get(kind, ()))
    for kind in ("HTTPProxy", "Ingress"):
        for it in by_kind.get(kind, ()):
            if it.spec.ingress_class_name in {None, "contour"}:
                yield _reference(kind, it)
    sets = [
        it for it in by_kind.get("ListenerSet", ()) if _parent(it, it.spec.parent_ref) in gateways
    ]
    yield from (_reference("ListenerSet", it) for it in sets)
    ours = {("Gateway", it) for it in gateways} | {("ListenerSet", it.metadata.key) for it in sets}
    for kind in ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute"):
        for it in by_kind.get(kind, ()):
            if any((parent.kind, _parent(it, parent)) in ours for parent in it.spec.parent_refs):
                yield _reference(kind, it)


def _controller(configurations: list[Any]) -> str:
    if len(configurations) != 1:  # several of them count as none
        return documents.CONTROLLER
    gateway = configurations[0].spec.gateway
    return gateway.controller_name or documents.CONTROLLER if gateway else ""


def _age(it: Any) -> tuple[float, str]:
    """Older first; without a date, they are the oldest."""
    created = it.metadata.creation_timestamp
    return created.timestamp() if created else 0, it.metadata.name


def _reference(kind: str, it: Any) -> ObjectRef:
    return ObjectRef(kind, *it.metadata.key)


def _parent(route: Any, parent: Any) -> NamespacedName:
    return NamespacedName(parent.namespace or route.metadata.namespace, parent.name)

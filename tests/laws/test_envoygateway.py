"""Filters, backends and patches of Envoy Gateway that come and go among everything else: what is
served and told follows from what is there, whatever came before, and hangs together."""

from collections import Counter
from collections.abc import Iterator
from random import Random

from crds.decode import Decoded, decode
from dag import hosts, nodes, tables
from dag.patches import policies
from tests.laws import envoygateway, histories, references
from tests.laws.gateways import Document
from tests.laws.histories import Served, Step, World


def _step(document: Document) -> Step:
    found = decode(document)
    assert isinstance(found, Decoded)
    assert not found.errors, found.errors
    return Step(found.kind, found.key, found.object, settles=True)


def _history(seed: int) -> Iterator[Step]:
    """A history on ground that allows such objects, with them between its steps."""
    chance = Random(seed)
    yield from map(_step, envoygateway.ground())
    for step in histories.history(seed):
        if step.kind.kind != "ContourConfiguration":  # several of them count as none
            yield envoygateway.referring(step, chance)
        if chance.random() < 0.3:
            yield _step(chance.choice(envoygateway.ground()))
        for _ in range(chance.choice((0, 1, 2))):
            made = _step(envoygateway.document(chance))
            yield made if chance.random() < 0.85 else made._replace(object=None)


def test_incremental_equals_rebuilt_with_filters_backends_and_patches() -> None:
    found: Counter[str] = Counter()
    for seed in histories.seeds(share=0.15):
        world, chance = World(), Random(seed)
        for step in _history(seed):
            world.step(step)
            if chance.random() < 0.05:
                world.write(tables.ABSENT, "Backend", chance.random() < 0.2 or None)
            if chance.random() < 0.4:
                world.settle()
                found.update(_words(world))
        world.settle()
        assert not world.engine.failures, f"seed {seed}"
        assert world.reported == world.answered() == world.rebuilt(), f"seed {seed}"
    assert not [it for it in _MET if not found[it]]


_MET = (
    *("status_of_Backend", "status_of_EnvoyPatchPolicy", "injected", "rewritten", "answered"),
    "cookies",
    *("to a Backend", "patched listener", "patched host", "patched cluster", "fallback"),
)


def _words(world: World) -> Iterator[str]:
    """What of it all is in force."""
    for query, _ in world.reported:
        yield query.name.replace("envoy_patch_policy", "status_of_EnvoyPatchPolicy")
    for _, found in world.engine.answers(hosts.virtual_host):
        for route in found.routes if found is not None else ():
            yield from _of_route(route)
    for _, made in world.engine.answers(policies.patching):
        if made is not None:
            yield from (f"patched {place.kind}" for place, _ in made.patches)


def _of_route(route: nodes.Route) -> Iterator[str]:
    action = route.action
    if route.match.cookies:
        yield "cookies"
    if isinstance(action, nodes.Respond) and action.status in {200, 403}:
        yield "answered"
    if not isinstance(action, nodes.Forward):
        return
    if action.rewrite is not None and action.rewrite.path is not None:
        yield "rewritten"
    for cluster in filter(None, (it.cluster for it in action.backends)):
        if cluster.injection is not None:
            yield "injected"
        if cluster.port.kind == "Backend":
            yield "to a Backend"
        if any(it.is_fallback for it in cluster.members):
            yield "fallback"


def test_any_order_of_arrival_gives_the_same_bytes_and_nothing_leads_nowhere() -> None:
    checked = 0
    for seed in histories.seeds(share=0.05):
        last = {(it.kind, it.key): it for it in _history(seed)}
        steps = [it for it in last.values() if it.object is not None]
        at_once, one_by_one = Served(), Served()
        at_once.take(*steps)
        Random(seed).shuffle(steps)
        for step in steps:
            one_by_one.take(step)
        assert at_once.bodies() == one_by_one.bodies(), f"seed {seed}"
        rows = (list(it.controller.board.rows()) for it in (at_once, one_by_one))
        assert next(rows) == next(rows), f"seed {seed}"
        checked += references.require_there(at_once.shown(), f"seed {seed}")
    assert checked

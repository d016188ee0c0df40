"""A rule that raises is our bug; it may harm the answers that need it, and nothing else."""

from collections.abc import Iterable
from typing import Any

import pytest

from contour.envoy import locating, routing
from dag import hosts, nodes
from dag.engine.view import View
from tests.laws import histories
from tests.laws.histories import Answers, Step, World

HARMED = "x.com"
OF_HOSTS = {hosts.virtual_host, routing.host}
BEHIND_HOSTS = {routing.cluster, locating.endpoints}  # there while a host uses them


def test_a_rule_that_raises_harms_only_its_output(monkeypatch: pytest.MonkeyPatch) -> None:
    raised = 0
    for seed in histories.seeds(share=0.12):
        steps = list(histories.history(seed))
        harmed, unharmed = World(), World()
        for world in (harmed, unharmed):
            _play(world, steps[: histories.STEPS])
        good = _of_harmed(harmed.reported)
        with monkeypatch.context() as patch:
            patch.setattr(hosts.virtual_host, "rule", _raising)
            _play(harmed, steps[histories.STEPS :])
        _play(unharmed, steps[histories.STEPS :])
        raised += bool(harmed.engine.failures)
        assert {key.host for _, key, _ in harmed.engine.failures} <= {HARMED}, f"seed {seed}"
        assert _of_others(harmed.reported) == _of_others(unharmed.reported), f"seed {seed}"
        # The last good answer stands, or one for which the rule is not asked: streams have none.
        right = good.items() | _of_harmed(unharmed.reported).items()
        assert _of_harmed(harmed.reported).items() <= right, f"seed {seed}"
    assert raised > len(histories.seeds(share=0.12)) / 4


def test_the_next_change_heals_what_a_rule_has_harmed(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in histories.seeds(share=0.07):
        steps = list(histories.history(seed))
        world = World()
        with monkeypatch.context() as patch:
            patch.setattr(hosts.virtual_host, "rule", _raising)
            _play(world, steps[: histories.STEPS])
        _play(world, steps[histories.STEPS :])
        for step in histories.ended(seed):
            world.step(step._replace(object=None))
        world.settle()
        _play(world, histories.ended(seed))
        assert not world.engine.failures, f"seed {seed}"
        assert world.reported == world.rebuilt(), f"seed {seed}"


_RULE = hosts.virtual_host.rule


def _raising(view: View, key: nodes.HostKey) -> nodes.VirtualHost | None:
    if key.host == HARMED:
        raise ValueError("planted")
    return _RULE(view, key)


def _play(world: World, steps: Iterable[Step]) -> None:
    for step in steps:
        world.step(step)
        world.settle()


def _of_harmed(answers: Answers) -> Answers:
    return {at: it for at, it in answers.items() if at[0] in OF_HOSTS and at[1].host == HARMED}


def _of_others(answers: Answers) -> Answers:
    return {at: it for at, it in answers.items() if not _is_near_harmed(*at)}


def _is_near_harmed(query: Any, key: Any) -> bool:
    # A host that keeps its last good answer keeps the scopes by which it is found.
    is_of_host = query in OF_HOSTS or query is routing.ways
    return query in BEHIND_HOSTS or (is_of_host and key.host == HARMED)

"""Killed after each write of a life: the next operator goes on, and nothing is left at the end.

Every step in this process, where a death is an exception that nobody catches; some of them with a
real process and SIGKILL.
"""

import pytest

from provisioning.keeping.ownership import Owner
from tests.operator import inprocess
from tests.operator.kill_after_writes import KillAfterWrites
from tests.operator.operators import Rig
from tests.operator.proxy import Proxy

pytestmark = pytest.mark.cluster

CHILDREN = 12


async def test_one_that_dies_after_each_write_makes_changes_and_removes_an_instance(
    rig: Rig,
) -> None:
    """So every state in which a crash can leave an instance is one from which another goes on."""
    rig.configure()
    # The finalizer, each child, the status.
    assert await _lives(rig) >= CHILDREN + 2
    assert rig.condition("Provisioned")["status"] == "True"
    assert len(rig.children()) == CHILDREN
    rig.configure(contour={"watchNamespaces": [rig.home], "replicas": 1})
    # Of each of two roles two bindings more and one less, the Deployment, the status.
    assert await _lives(rig) >= 8
    assert len(rig.children()) == CHILDREN + 2
    rig.cluster.delete(rig.configuration())
    # Each child, the finalizer.
    assert await _lives(rig) >= CHILDREN + 3
    assert rig.is_gone(rig.configuration())
    assert rig.children() == {}


async def _lives(rig: Rig) -> int:
    """How many operators it takes until one has nothing left to write."""
    owner, config = Owner(rig.namespace, "contour"), rig.access()
    for count in range(100):
        if not await inprocess.live(config, owner, after=1):
            return count
    raise AssertionError("it never ends")


def test_a_process_that_is_killed_is_made_up_for(rig: Rig) -> None:
    proxy = Proxy(rig.cluster)
    with proxy.running():
        rig.configure()
        for change in ("made", "removed"):
            killing = KillAfterWrites(proxy, after=6)
            killing.operator = rig.start(proxy=proxy)
            rig.until(killing.dead.is_set)
            proxy.answered = lambda *_: None
            successor = rig.start(proxy=proxy)
            if change == "made":
                rig.until_provisioned()
                assert len(rig.children()) == CHILDREN
                successor.stop()
                rig.cluster.delete(rig.configuration())
                rig.operators.clear()
            else:
                rig.until(lambda: rig.is_gone(rig.configuration()))
                assert rig.children() == {}

"""Whatever the rules accept of ClientTrafficPolicies, Envoy accepts."""

from pathlib import Path

import pytest

from crds.meta import ObjectRef
from dag.ports import OFFSET
from dag.statuses import PolicyStatus
from tests.agreement import clienttrafficpolicies, configurations, live
from tests.testbed.ports import free_ports

pytestmark = pytest.mark.envoy

SEEDS, COUNT = 3, 30


@pytest.mark.parametrize("field", clienttrafficpolicies.FIELDS)
async def test_envoy_refuses_no_policy_that_the_rules_accept(field: str, tmp_path: Path) -> None:
    ports = free_ports(configurations.PORTS)  # in a pod, where sockets may have other options
    listened = [it - OFFSET for it in free_ports(2)]
    accepted = 0
    async with live.live(tmp_path, ports, is_pod=True) as running:
        running.take([configurations.with_gateways(ports)])
        for seed in range(SEEDS):
            given = clienttrafficpolicies.documents(field, seed, COUNT, listened)
            running.take(given)
            await running.settled()
            assert running.refusals() == [], seed
            accepted += sum(_is_accepted(running, f"p{it}") for it in range(COUNT))
    assert accepted > 0.5 * SEEDS * COUNT


def _is_accepted(running: live.Live, name: str) -> bool:
    subject = ObjectRef("ClientTrafficPolicy", "default", name)
    told = running.instance.controller.board.told.get(subject)
    assert isinstance(told, PolicyStatus)
    assert told.ancestors
    return all(it.status == "True" for each in told.ancestors for it in each.conditions)

"""Whatever the rules accept of BackendTrafficPolicies, Envoy accepts."""

from pathlib import Path
from random import Random

import pytest

from crds.meta import ObjectRef
from dag.statuses import PolicyStatus
from tests.agreement import configurations, live, securitypolicies, trafficpolicies
from tests.testbed.ports import free_ports

pytestmark = pytest.mark.envoy

SEEDS, COUNT = 3, 30
KIND = "BackendTrafficPolicy"


async def test_envoy_refuses_no_policy_that_the_rules_accept(tmp_path: Path) -> None:
    ports = free_ports(configurations.PORTS)
    accepted = 0
    fields = {**trafficpolicies.FIELDS, "all": trafficpolicies.every}
    async with live.live(tmp_path, ports) as running:
        running.take([configurations.with_gateways(ports)])
        for seed in range(SEEDS):
            for field, make in fields.items():
                chance = Random(f"{field} {seed}")
                running.take(securitypolicies.world(KIND, make, chance, COUNT))
                await running.settled()
                assert running.refusals() == [], (field, seed)
                accepted += sum(_is_accepted(running, f"p{it}") for it in range(COUNT))
    assert accepted > 0.9 * SEEDS * COUNT * len(fields)


def _is_accepted(running: live.Live, name: str) -> bool:
    told = running.instance.controller.board.told.get(ObjectRef(KIND, "default", name))
    assert isinstance(told, PolicyStatus)
    return all(it.status == "True" for each in told.ancestors for it in each.conditions)

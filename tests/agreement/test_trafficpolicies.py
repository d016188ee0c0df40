"""Whatever the rules accept of BackendTrafficPolicies, Envoy accepts."""

from pathlib import Path
from random import Random

import pytest

from crds.meta import ObjectRef
from tests.agreement import configurations, live, trafficpolicies, worlds
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
                running.take(worlds.policies(KIND, make, chance, COUNT))
                await running.settled()
                assert running.refusals() == [], (field, seed)
                accepted += sum(
                    running.is_met(ObjectRef(KIND, "default", f"p{it}")) for it in range(COUNT)
                )
    assert accepted > 0.9 * SEEDS * COUNT * len(fields)

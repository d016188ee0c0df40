"""Whatever the rules accept of SecurityPolicies, Envoy accepts."""

from pathlib import Path

import pytest

from crds.meta import ObjectRef
from tests.agreement import configurations, live, securitypolicies
from tests.testbed.ports import free_ports

pytestmark = pytest.mark.envoy

SEEDS, COUNT = 3, 30


@pytest.mark.parametrize("field", securitypolicies.FIELDS)
async def test_envoy_refuses_no_policy_that_the_rules_accept(field: str, tmp_path: Path) -> None:
    ports = free_ports(configurations.PORTS)
    accepted = 0
    async with live.live(tmp_path, ports) as running:
        running.take([configurations.with_gateways(ports)])
        for seed in range(SEEDS):
            running.take(securitypolicies.documents(field, seed, COUNT))
            await running.settled()
            assert running.refusals() == [], seed
            accepted += sum(
                running.is_met(ObjectRef("SecurityPolicy", "default", f"p{it}"))
                for it in range(COUNT)
            )
    assert accepted > 0.5 * SEEDS * COUNT

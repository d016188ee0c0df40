"""A share of it in every run. All of it: `hack/fuzz --envoy`."""

from pathlib import Path

import pytest

from crds.meta import ObjectRef
from tests.agreement import configurations, features, gatewayfields, live, pushing
from tests.agreement.coverage import Coverage
from tests.testbed.ports import free_ports

pytestmark = pytest.mark.envoy


async def test_envoy_refuses_no_httpproxy_that_the_rules_accept(tmp_path: Path) -> None:
    found = Coverage()
    async with live.live(tmp_path, free_ports(configurations.PORTS)) as running:
        assert await pushing.push_proxies(running, 75, 0, found) == []
    assert found.objects["HTTPProxy"] > 5 * found.refused["HTTPProxy"]
    assert len(found.missing_pairs()) < 0.1 * len(features.PAIRS), found.missing_pairs()


async def test_envoy_refuses_no_configuration_that_the_rules_accept(tmp_path: Path) -> None:
    found = Coverage()
    ports = free_ports(configurations.PORTS)
    async with live.live(tmp_path, ports, is_pod=True) as running:
        assert await pushing.push_proxies(running, 6, 0, Coverage()) == []
        assert await pushing.push_configurations(running, ports, range(12), found) == []
    assert found.refused["ContourConfiguration"] < 12


@pytest.mark.parametrize("field", gatewayfields.FIELDS)
async def test_envoy_refuses_no_gateway_with_a_field_of_v1_7(field: str, tmp_path: Path) -> None:
    ports = free_ports(configurations.PORTS)
    accepted = 0
    async with live.live(tmp_path, ports) as running:
        running.take([configurations.with_gateways(ports)])
        for seed in range(8):
            running.take(gatewayfields.documents(field, seed))
            await running.settled()
            assert running.refusals() == [], seed
            other = ObjectRef(field, "default", "gw")
            is_met = field not in gatewayfields.OF_OTHERS or running.is_met(other)
            accepted += is_met and running.is_route_accepted("route")
    assert accepted >= 5

"""Whatever the rules accept of HTTPRouteFilters, Envoy accepts."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.agreement import configurations, live, routefilters
from tests.testbed.ports import free_ports

pytestmark = pytest.mark.envoy

SEEDS, COUNT = 3, 30
FIELDS = {**routefilters.FIELDS, "all": routefilters.every}


async def test_envoy_refuses_no_filter_that_the_rules_accept(tmp_path: Path) -> None:
    ports = free_ports(configurations.PORTS)
    accepted: Counter[str] = Counter()
    async with live.live(tmp_path, ports) as running:
        running.take([configurations.with_gateways(ports)])
        for seed in range(SEEDS):
            for field, make in FIELDS.items():
                running.take(routefilters.world(make, Random(f"{field} {seed}"), COUNT))
                await running.settled()
                assert running.refusals() == [], (field, seed)
                accepted[field] += sum(running.is_route_accepted(f"r{it}") for it in range(COUNT))
    assert all(accepted[it] >= 10 for it in FIELDS), accepted

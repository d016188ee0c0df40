"""Zones: which endpoints real gRPC clients call, where a Service prefers those of their zone."""

from pathlib import Path

import pytest

from tests.contour.envoy.grpcclients.plane import (
    ONE,
    TWO,
    bootstrap,
    configuration,
    endpoints,
    plane,
    service,
)
from tests.testbed.grpcpeers import peer
from tests.testbed.ports import free_ports
from tests.testbed.world import Document

ECHO = "xds:///echo.shop:50051"
IN_A, IN_B = endpoints("echo", ONE, zone="a"), endpoints("echo", TWO, zone="b")


def echo(preference: str = "") -> Document:
    made = service("echo")
    if preference:
        made["spec"]["trafficDistribution"] = preference
    return made


@pytest.mark.parametrize(
    ("preference", "zone", "replies"),
    [
        ("PreferSameZone", "a", {"one"}),
        ("PreferSameZone", "b", {"two"}),
        ("PreferClose", "b", {"two"}),
        ("PreferSameNode", "b", {"two"}),
        ("PreferSameZone", "", {"one", "two"}),
        ("PreferSameZone", "elsewhere", {"one", "two"}),
        ("", "a", {"one", "two"}),
    ],
)
@pytest.mark.usefixtures("servers")
async def test_a_client_calls_its_own_zone_where_a_service_prefers_that(
    tmp_path: Path, preference: str, zone: str, replies: set[str]
) -> None:
    async with plane(tmp_path, configuration(), echo(preference), IN_A, IN_B) as it:
        with peer(bootstrap(it.address, zone=zone)) as client:
            # Its endpoints may connect one after the other.
            said = await it.asked(client.call, ECHO, 40)
            assert set(said.replies) <= replies
            assert said.errors == {}
            await it.until_replies(client, ECHO, replies)
        assert it.is_settled


@pytest.mark.usefixtures("servers")
async def test_clients_of_two_zones_follow_what_changes(tmp_path: Path) -> None:
    async with plane(tmp_path, configuration(), echo("PreferSameZone"), IN_A, IN_B) as it:
        given = [bootstrap(it.address, zone=zone) for zone in ("a", "b")]
        with peer(given[0]) as one, peer(given[1]) as two:
            assert set((await it.asked(one.call, ECHO, 5)).replies) == {"one"}
            assert set((await it.asked(two.call, ECHO, 5)).replies) == {"two"}
            it.take(gone=[IN_B])
            await it.until(lambda: it.is_settled)
            await it.until_replies(two, ECHO, {"one"})
            it.take(IN_B)
            await it.until_replies(two, ECHO, {"two"})
            assert set((await it.asked(one.call, ECHO, 5)).replies) == {"one"}


@pytest.mark.usefixtures("servers")
async def test_another_zone_is_called_while_none_of_ones_own_can_be_reached(tmp_path: Path) -> None:
    nobody = endpoints("echo", *free_ports(1), zone="c")
    async with plane(tmp_path, configuration(), echo("PreferSameZone"), nobody, IN_B) as it:
        with peer(bootstrap(it.address, zone="c")) as client:
            said = await it.asked(client.call, ECHO, 5)
            assert (set(said.replies), said.errors) == ({"two"}, {})

"""Real gRPC clients and servers; one control plane."""

from pathlib import Path

import pytest
from envoy.config.route.v3 import route_pb2

from contour.xds.resources import ROUTE, Change, Name, part
from dag import exports
from tests.contour.envoy.grpcclients.plane import (
    ONE,
    TWO,
    bootstrap,
    configuration,
    endpoints,
    plane,
    route,
    rule,
    service,
)
from tests.testbed.grpcpeers import SAY, SHOUT, peer
from tests.testbed.world import Document

ECHO = "xds:///echo.shop:50051"
WORLD = (service("echo"), endpoints("echo", ONE), service("other"), endpoints("other", TWO))


@pytest.mark.parametrize(
    "target",
    [
        "xds:///echo.shop:50051",
        "xds:///echo.shop",
        "xds://a.example/echo.shop:50051",
        "xds://old.example/echo.shop:50051",
    ],
)
@pytest.mark.usefixtures("servers")
async def test_a_client_calls_a_service_by_each_of_its_names(tmp_path: Path, target: str) -> None:
    settings = configuration("a.example", ["old.example"])
    async with plane(tmp_path, settings, *WORLD) as it:
        named = {"a.example": it.address, "old.example": it.address}
        for given in (bootstrap(it.address), bootstrap(planes=named)):
            if target.startswith("xds:///") or "authorities" in given:
                with peer(given) as client:
                    said = await it.asked(client.call, target, 3)
                    assert (said.replies, said.errors) == ({"one": 3}, {})


@pytest.mark.usefixtures("servers")
async def test_endpoints_move_without_a_failed_call(tmp_path: Path) -> None:
    async with plane(tmp_path, configuration(), *WORLD) as it:
        with peer(bootstrap(it.address)) as client:
            await it.asked(client.start, ECHO)
            for port, before in ((TWO, ONE), (ONE, TWO)) * 3:
                it.take(endpoints("echo", port), gone=[endpoints("echo", before)])
                await it.until(lambda: it.is_settled)
            said = await it.asked(client.stop)
            assert said.errors == {}
            assert said.replies.keys() == {"one", "two"}


OF_ECHO = {"method": {"service": "echo.Echo"}}
SHOUTS = {"method": {"service": "echo.Echo", "method": "Shout"}}
VIPS = {"headers": [{"name": "x-vip", "value": "yes"}]}
PATTERN = {"method": {"type": "RegularExpression", "service": "echo[.]E.*"}}


@pytest.mark.parametrize(
    ("rules", "replies", "method", "metadata"),
    [
        ([rule(("other", 1))], {"two"}, SHOUT, []),
        ([rule(("other", 1), match=SHOUTS), rule(("echo", 1))], {"two"}, SHOUT, []),
        ([rule(("other", 1), match=SHOUTS), rule(("echo", 1))], {"one"}, SAY, []),
        ([rule(("other", 1), match=OF_ECHO)], {"two"}, SHOUT, []),
        ([rule(("other", 1), match=PATTERN)], {"two"}, SHOUT, []),
        ([rule(("other", 1), match=VIPS), rule(("echo", 1))], {"two"}, SHOUT, [("x-vip", "yes")]),
        ([rule(("other", 1), match=VIPS), rule(("echo", 1))], {"one"}, SHOUT, []),
        ([rule(("other", 1), ("echo", 1))], {"one", "two"}, SHOUT, []),
        ([rule(("other", 1), ("echo", 0))], {"two"}, SHOUT, []),
    ],
)
@pytest.mark.usefixtures("servers")
async def test_a_route_shapes_the_calls(
    tmp_path: Path,
    rules: list[Document],
    replies: set[str],
    method: str,
    metadata: list[tuple[str, str]],
) -> None:
    async with plane(tmp_path, configuration(), *WORLD, route("r", *rules)) as it:
        with peer(bootstrap(it.address)) as client:
            said = await it.asked(client.call, ECHO, 40, method, metadata=metadata)
            assert (set(said.replies), said.errors) == (replies, {})
        assert it.told("GRPCRoute", "r") == "Accepted, ResolvedRefs"


HEADERS = {"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": []}}


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ([rule(("echo", 1), match=SHOUTS)], ""),
        ([rule(("echo", 1), filters=[HEADERS])], "spec.rules[0].filters: gRPC clients"),
        ([rule(("gone", 1))], "Service shop/gone not found"),
        ([rule(("gone", 1), ("none", 1))], "Service shop/gone not found"),
        ([rule()], ""),
    ],
)
@pytest.mark.usefixtures("servers")
async def test_calls_that_lead_nowhere_fail_at_once(
    tmp_path: Path, rules: list[Document], told: str
) -> None:
    async with plane(tmp_path, configuration(), *WORLD, route("r", *rules)) as it:
        with peer(bootstrap(it.address)) as client:
            said = await it.asked(client.call, ECHO, 3, timeout=10)
            assert not said.replies
            assert all(error.startswith("UNAVAILABLE") for error in said.errors)
        assert told in it.told("GRPCRoute", "r")


@pytest.mark.usefixtures("servers")
async def test_a_client_sees_what_is_for_its_namespace(tmp_path: Path) -> None:
    async with plane(tmp_path, configuration(namespaces=["shop"]), *WORLD) as it:
        for namespace, replies in (("shop", {"one": 1}), ("bank", {})):
            with peer(bootstrap(it.address, namespace=namespace)) as client:
                said = await it.asked(client.call, ECHO, timeout=5)
                assert said.replies == replies


@pytest.mark.usefixtures("servers")
async def test_what_a_client_refuses_is_told_on_the_route_and_the_service(tmp_path: Path) -> None:
    """What our translation never makes is published behind it."""
    shaped = (*WORLD, route("r", rule(("echo", 1))))
    async with plane(tmp_path, configuration(), *shaped) as it:
        fleet = it.server.fleets[exports.FLEET]
        name = Name(ROUTE, "echo.shop:50051")
        good = fleet.store.types[ROUTE][name.name].parts[""]
        bad = route_pb2.RouteConfiguration.FromString(good.body)
        bad.virtual_hosts[0].routes[0].match.path_separated_prefix = "/echo.Echo"
        spoilt = part(bad.SerializeToString(), good.needs, good.origins)
        with peer(bootstrap(it.address)) as client:
            said = await it.asked(client.call, ECHO)
            assert said.replies == {"one": 1}
            fleet.publish([Change(name, "", spoilt)])
            await it.until(lambda: "gRPC clients refuse it" in it.told("GRPCRoute", "r"))
            said = await it.asked(client.call, ECHO)
            assert said.replies == {"one": 1}
            assert not list(fleet.quarantine)
            assert "gRPC clients refuse it" in it.told("Service", "echo")
            fleet.publish([Change(name, "", good)])
            await it.until(lambda: it.told("GRPCRoute", "r") == "Accepted, ResolvedRefs")
            await it.until(lambda: not it.told("Service", "echo"))

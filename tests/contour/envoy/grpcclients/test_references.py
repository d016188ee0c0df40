"""References to resources of another control plane, and real gRPC clients of both."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from crds import decode
from tests.contour.envoy.grpcclients.plane import (
    ONE,
    TWO,
    Plane,
    bootstrap,
    configuration,
    endpoints,
    plane,
    route,
    rule,
    service,
)
from tests.testbed.grpcpeers import SHOUT, peer
from tests.testbed.world import Document

ECHO = "echo.shop:50051"
OWN, THEIRS = f"xds://a.example/{ECHO}", f"xds://b.example/{ECHO}"
SHOUTS = {"method": {"service": "echo.Echo", "method": "Shout"}}

ALL: Document = {"namespaces": ["shop"], "clientNamespaces": ["*"]}
LABELLED: Document = {"matchLabels": {"at": "b"}, "authority": "b.example"}


def exporting(authority: str, *entries: Document) -> Document:
    """The configuration of a plane with these entries of `exports`."""
    made = configuration(authority)
    made["spec"]["xdsServer"]["grpcClients"]["exports"] = list(entries)
    return made


@asynccontextmanager
async def planes(
    folder: Path, of_a: tuple[Document, ...], of_b: tuple[Document, ...]
) -> AsyncIterator[tuple[Plane, Plane]]:
    """Two planes, `a.example` and `b.example`."""
    for it in "ab":
        (folder / it).mkdir()
    async with plane(folder / "a", *of_a) as a, plane(folder / "b", *of_b) as b:
        yield a, b


def known(a: Plane, b: Plane) -> Mapping[str, Any]:
    """The bootstrap of a client of both."""
    return bootstrap(planes={"a.example": a.address, "b.example": b.address})


HERE = (service("echo", at="b"), endpoints("echo", ONE))
THERE = (configuration("b.example"), service("echo"), endpoints("echo", TWO))


@pytest.mark.parametrize(
    ("exported", "replies"),
    [
        ([ALL], {"one"}),
        ([ALL, LABELLED], {"two"}),
        ([LABELLED, ALL], {"two"}),
        ([ALL, LABELLED | {"matchLabels": {"at": "c"}}], {"one"}),
    ],
)
@pytest.mark.usefixtures("servers")
async def test_a_service_is_looked_for_elsewhere_where_the_configuration_says_so(
    tmp_path: Path, exported: list[Document], replies: set[str]
) -> None:
    of_a = (exporting("a.example", *exported), *HERE)
    async with planes(tmp_path, of_a, THERE) as (a, b):
        with peer(known(a, b)) as client:
            for target in (OWN, f"xds:///{ECHO}"):
                said = await a.asked(client.call, target, 3)
                assert (set(said.replies), said.errors) == (replies, {})


@pytest.mark.usefixtures("servers")
async def test_the_routes_of_the_plane_that_has_the_service_hold(tmp_path: Path) -> None:
    more = (service("other"), endpoints("other", ONE))
    shouting = route("r", rule(("other", 1), match=SHOUTS), rule(("echo", 1)))
    of_a = (exporting("a.example", ALL, LABELLED), service("echo", at="b"))
    async with planes(tmp_path, of_a, (*THERE, *more, shouting)) as (a, b):
        with peer(known(a, b)) as client:
            said = await a.asked(client.call, OWN, 3)
            assert (set(said.replies), said.errors) == ({"two"}, {})
            said = await a.asked(client.call, OWN, 3, SHOUT)
            assert (set(said.replies), said.errors) == ({"one"}, {})


@pytest.mark.usefixtures("servers")
async def test_a_route_shares_calls_between_two_planes(tmp_path: Path) -> None:
    """There, a route leads elsewhere; what is shared is the Service itself."""
    other = (service("other"), endpoints("other", ONE))
    away = route("r", rule(("other", 1)), service="far")
    of_b = (configuration("b.example"), service("far"), endpoints("far", TWO), *other, away)
    shared = route("r", rule(("echo", 1), ("far", 1)))
    own = (service("echo"), endpoints("echo", ONE), service("far", at="b"), shared)
    async with planes(tmp_path, (exporting("a.example", ALL, LABELLED), *own), of_b) as (a, b):
        with peer(known(a, b)) as client:
            said = await a.asked(client.call, OWN, 40)
            assert (set(said.replies), said.errors) == ({"one", "two"}, {})
            await b.server.stop(0)
            said = await a.asked(client.call, OWN, 40)
            assert (set(said.replies), said.errors) == ({"one", "two"}, {})
            a.take(route("r", rule(("echo", 1))))
            await a.until_replies(client, OWN, {"one"})
        assert a.told("GRPCRoute", "r") == "Accepted, ResolvedRefs"


@pytest.mark.usefixtures("servers")
async def test_a_client_that_does_not_know_the_authority_is_told_so(tmp_path: Path) -> None:
    of_a = (exporting("a.example", ALL, LABELLED), *HERE)
    async with plane(tmp_path, *of_a) as a:
        with peer(bootstrap(planes={"a.example": a.address})) as client:
            said = await a.asked(client.call, OWN)
            assert not said.replies
            (error,) = said.errors
            assert "b.example" in error
        a.take(exporting("a.example", ALL))
        with peer(bootstrap(planes={"a.example": a.address})) as client:
            said = await a.asked(client.call, OWN)
            assert said.replies == {"one": 1}


@pytest.mark.usefixtures("servers")
async def test_two_planes_that_name_one_another_lead_nowhere_and_serve_the_rest(
    tmp_path: Path,
) -> None:
    back = LABELLED | {"authority": "a.example"}
    more = service("other"), endpoints("other", ONE)
    of_a = (exporting("a.example", ALL, LABELLED), *HERE, *more)
    of_b = (exporting("b.example", ALL, back), *HERE)
    async with planes(tmp_path, of_a, of_b) as (a, b):
        with peer(known(a, b)) as client:
            for target in (OWN, THEIRS):
                said = await a.asked(client.call, target, timeout=2)
                assert (said.replies, len(said.errors)) == ({}, 1)
            said = await a.asked(client.call, "xds://a.example/other.shop")
            assert said.replies == {"one": 1}


@pytest.mark.parametrize("authority", ["a.example", "old.example"])
def test_ones_own_authority_is_no_other_one(authority: str) -> None:
    wrong = exporting("a.example", ALL, LABELLED | {"authority": authority})
    wrong["spec"]["xdsServer"]["grpcClients"]["aliases"] = ["old.example"]
    found = decode.decode(wrong)
    assert isinstance(found, decode.Decoded)
    (complaint,) = found.complaints
    assert complaint.path == ("spec", "xdsServer", "grpcClients")
    assert complaint.message == "authority of an export must be that of another control plane"

"""Several control planes and real gRPC clients: each plane answers for its own authorities."""

from pathlib import Path

import pytest

from contour.bootstrap.grpcclients import Files
from contour.xds.credentials import Files as ServerFiles
from provisioning import identities
from tests.contour.envoy.grpcclients.plane import (
    ONE,
    TWO,
    bootstrap,
    configuration,
    endpoints,
    plane,
    service,
)
from tests.testbed import certificates
from tests.testbed.grpcpeers import peer


def world(authority: str, port: int, *aliases: str) -> tuple[dict[str, object], ...]:
    """A plane on which `echo` is one endpoint."""
    return configuration(authority, aliases), service("echo"), endpoints("echo", port)


def folder(of: Path, name: str) -> Path:
    made = of / name
    made.mkdir()
    return made


@pytest.mark.usefixtures("servers")
async def test_a_plane_that_is_killed_fails_no_call_and_touches_no_other(tmp_path: Path) -> None:
    a, b = (folder(tmp_path, it) for it in "ab")
    of_a, of_b = "xds://a.example/echo.shop", "xds://b.example/echo.shop"
    async with plane(a, *world("a.example", ONE)) as one, plane(b, *world("b.example", TWO)) as two:
        known = {"a.example": one.address, "b.example": two.address}
        with peer(bootstrap(planes=known)) as client:
            said = await one.asked(client.call, of_a)
            assert said.replies == {"one": 1}
            said = await one.asked(client.call, of_b)
            assert said.replies == {"two": 1}
            said = await one.asked(client.call, "xds:///echo.shop")
            assert said.replies == {"one": 1}
            await one.asked(client.start, of_a, of_b)
            await two.server.stop(0)
            one.take(endpoints("echo", TWO), gone=[endpoints("echo", ONE)])
            await one.until(lambda: one.is_settled)
            async with plane(b, *world("b.example", ONE)) as again:
                await again.until(lambda: again.streams and again.is_settled)
                said = await one.asked(client.stop)
                assert said.errors == {}
                assert said.replies.keys() == {"one", "two"}
                for target, name in ((of_a, "two"), (of_b, "one")):
                    said = await one.asked(client.call, target)
                    assert said.replies == {name: 1}


@pytest.mark.usefixtures("servers")
async def test_an_authority_is_renamed_under_load(tmp_path: Path) -> None:
    async with plane(tmp_path, *world("old.example", ONE)) as it:
        known = {"old.example": it.address, "new.example": it.address}
        with peer(bootstrap(planes=known)) as client:
            await it.asked(client.start, "xds://old.example/echo.shop")
            it.take(configuration("new.example", ["old.example"]))
            await it.until(lambda: it.is_settled)
            said = await it.asked(client.call, "xds://new.example/echo.shop")
            assert said.replies == {"one": 1}
            assert (await it.asked(client.stop)).errors == {}


@pytest.mark.usefixtures("servers")
async def test_a_plane_answers_for_no_other_authority(tmp_path: Path) -> None:
    async with plane(tmp_path, *world("a.example", ONE)) as it:
        with peer(bootstrap(planes={"b.example": it.address})) as client:
            said = await it.asked(client.call, "xds://b.example/echo.shop", timeout=3)
            assert (said.replies, len(said.errors)) == ({}, 1)


@pytest.mark.usefixtures("servers")
async def test_the_next_address_of_an_authority_is_asked(tmp_path: Path) -> None:
    async with plane(tmp_path, *world("a.example", ONE)) as it:
        addresses = (f"unix:{tmp_path}/nobody", it.address)
        with peer(bootstrap(planes={"a.example": addresses})) as client:
            said = await it.asked(client.call, "xds://a.example/echo.shop")
            assert said.replies == {"one": 1}


@pytest.mark.parametrize(
    ("names", "namespace", "replies"),
    [
        ([identities.grpc_client("shop")], "shop", {"one": 1}),
        ([identities.grpc_client("bank")], "bank", {}),  # sees nothing of the shop
        ([identities.grpc_client("bank")], "shop", {}),  # is not whom it says
        (["shop.example"], "shop", {}),
    ],
)
@pytest.mark.usefixtures("servers")
async def test_a_certificate_says_what_a_client_sees(
    tmp_path: Path, names: list[str], namespace: str, replies: dict[str, int]
) -> None:
    authority = certificates.known_authority("planes")
    ours, theirs = folder(tmp_path, "ours"), folder(tmp_path, "theirs")
    shown = certificates.issued(authority, "127.0.0.1", "contour")
    tls = ServerFiles(*certificates.write(shown, authority, ours))
    pair = certificates.write(certificates.issued(authority, *names), authority, theirs)
    of_shop = configuration(namespaces=["shop"])
    async with plane(tmp_path, of_shop, *world("", ONE)[1:], tls=tls) as it:
        given = bootstrap(it.address, namespace=namespace, files=Files(*pair))
        with peer(given) as client:
            said = await it.asked(client.call, "xds:///echo.shop", timeout=5)
            assert said.replies == replies

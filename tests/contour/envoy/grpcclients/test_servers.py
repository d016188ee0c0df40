"""Real gRPC servers that are told by xDS how to listen, and mutual TLS between them and clients."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contour.bootstrap.grpcclients import Files
from contour.xds import view
from dag import exports
from provisioning import rotation
from tests.contour.envoy.grpcclients.plane import (
    Plane,
    bootstrap,
    configuration,
    endpoints,
    plane,
    service,
)
from tests.testbed import certificates
from tests.testbed.grpcpeers import Calls, Peer, peer
from tests.testbed.ports import free_port

ECHO = "xds:///echo.shop"
AUTHORITY = certificates.known_authority("planes")
MUTUAL: dict[str, Any] = {"namespaces": ["shop"], "transport": "MutualTLS"}


def files(folder: Path, namespace: str, *names: str, by: str = "planes") -> Files:
    """The certificate of an application of a namespace, or one with other names."""
    made = folder / f"{namespace}-{by}-{len(names)}"
    made.mkdir(exist_ok=True)
    names = names or rotation.grpc_application(namespace).names
    shown = certificates.issued(certificates.known_authority(by), *names)
    return Files(*certificates.write(shown, AUTHORITY, made))


async def started(it: Plane, server: Peer, port: int, address: str = "127.0.0.1") -> None:
    """A server, from the moment it has its configuration: it does not listen before."""
    await it.asked(server.serve, ("one", port), address=address)

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    await it.until(listens)


def calling(client: Peer, target: str = ECHO) -> Callable[[], Calls]:
    return lambda: client.call(target, timeout=10)


@pytest.mark.parametrize(
    ("authority", "transport", "address", "id_"),
    [
        (None, "Plaintext", "127.0.0.1", "127.0.0.1"),
        (None, "MutualTLS", "0.0.0.0", "0.0.0.0"),
        ("a.example", "MutualTLS", "127.0.0.1", "127.0.0.1"),
        ("a.example", "Plaintext", "[::]", "%5B::%5D"),
    ],
)
async def test_a_server_gets_its_listener(
    tmp_path: Path, authority: str | None, transport: str, address: str, id_: str
) -> None:
    port, given = free_port(), MUTUAL | {"transport": transport}
    world = configuration(authority, **given), service("echo"), endpoints("echo", port)
    pair = files(tmp_path, "shop") if transport == "MutualTLS" else None
    async with plane(tmp_path, *world) as it:
        planes = {authority: it.address} if authority else None
        told = bootstrap(it.address, planes=planes, files=pair, server="echo")
        target = f"xds://{authority}/echo.shop" if authority else ECHO
        with peer(told) as server, peer({**told, "node": told["node"] | {"id": "c"}}) as client:
            await started(it, server, port, address)
            said = await it.asked(calling(client, target))
            assert (said.replies, said.errors) == ({"one": 1}, {})
            await it.until(lambda: it.is_settled)
            asked = {name for of in it.streams for by in of.subscriptions.values()
                     for name in by.names}  # fmt: skip
            assert any(f"server/echo.shop/{id_}:{port}" in name for name in asked)


NAMED, EVERYBODY = ["bank", "shop"], ["*"]
ENVOY = ("envoy.projectcontour",)


@pytest.mark.parametrize(
    ("audience", "namespace", "names", "by", "words"),
    [
        (NAMED, "bank", (), "planes", ""),
        (NAMED, "town", (), "planes", "PERMISSION_DENIED: Unauthorized RPC rejected"),
        (NAMED, "shop", (), "strangers", "UNAVAILABLE"),
        (EVERYBODY, "town", (), "planes", ""),
        (EVERYBODY, "shop", ENVOY, "planes", "PERMISSION_DENIED: Unauthorized RPC rejected"),
    ],
)
async def test_a_server_answers_clients_of_its_audience(
    tmp_path: Path, audience: list[str], namespace: str, names: tuple[str, ...], by: str, words: str
) -> None:
    """All of them see the Service: the plane believes its socket, the server does not."""
    port = free_port()
    given = configuration(**MUTUAL, clientNamespaces=audience)
    async with plane(tmp_path, given, service("echo"), endpoints("echo", port)) as it:
        served = bootstrap(it.address, files=files(tmp_path, "shop"), server="echo")
        told = bootstrap(it.address, files=files(tmp_path, namespace, *names, by=by))
        with peer(served) as server, peer(told) as client:
            await started(it, server, port)
            said = await it.asked(calling(client))
            assert (said.replies == {"one": 1}) == (not words)
            assert all(error.startswith(words) for error in said.errors)


async def test_a_client_calls_servers_of_the_namespace_alone(tmp_path: Path) -> None:
    port = free_port()
    given = configuration(**MUTUAL), service("echo"), endpoints("echo", port)
    async with plane(tmp_path, *given) as it:
        posing = files(tmp_path, "shop", *rotation.grpc_application("bank").names)
        served = bootstrap(it.address, files=posing, server="echo")
        told = bootstrap(it.address, files=files(tmp_path, "shop"))
        with peer(served) as server, peer(told) as client:
            await started(it, server, port)
            said = await it.asked(calling(client))
            assert not said.replies
            assert "SANs from certificate did not match" in str(said.errors)


async def test_a_change_of_the_audience_reaches_a_server_that_runs(tmp_path: Path) -> None:
    port = free_port()
    given = service("echo"), endpoints("echo", port)
    both = configuration(**MUTUAL, clientNamespaces=["bank", "shop"])
    async with plane(tmp_path, both, *given) as it:
        pair = files(tmp_path, "shop")
        served = bootstrap(it.address, files=pair, server="echo")
        # Over the socket it is believed to be of the bank; its certificate says otherwise.
        told = bootstrap(it.address, namespace="bank", files=pair)
        with peer(served) as server, peer(told) as client:
            await started(it, server, port)
            assert (await it.asked(calling(client))).replies == {"one": 1}
            it.take(configuration(**MUTUAL, clientNamespaces=["bank"]))
            await it.until(lambda: it.is_settled)
            said = await it.asked(calling(client))
            assert said.errors == {"PERMISSION_DENIED: Unauthorized RPC rejected": 1}


async def test_who_has_no_certificate_refuses_and_is_told(tmp_path: Path) -> None:
    given = configuration(**MUTUAL), service("echo"), endpoints("echo", 1)
    async with plane(tmp_path, *given) as it:
        with peer(bootstrap(it.address)) as client:
            said = await it.asked(calling(client))
            words = "unrecognized certificate provider instance name: contour"
            assert words in str(said.errors)
            await it.until(lambda: words in str(view.fleet(it.server.fleets[exports.FLEET])))

"""TLS on both sides: what clients must show, what backends must show, and what is passed on."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from crds.meta import NamespacedName, ObjectRef
from dag import nodes
from tests.contour.envoy import proxies, world
from tests.contour.envoy.served import encrypted, peers
from tests.contour.envoy.served.conftest import ONE, Served
from tests.testbed import certificates, ports
from tests.testbed.certificates import known_authority
from tests.testbed.patience import PATIENCE

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

TRUST = nodes.Trust((ObjectRef("Secret", "shop", "ca"),))
CLIENTS = nodes.Trust((ObjectRef("ConfigMap", "shop", "clients"),))
REVOKING = nodes.Trust(CLIENTS.authorities, NamespacedName("shop", "crl"))
GONE = nodes.Trust((ObjectRef("Secret", "shop", "gone"),))
ALL = nodes.ForwardedCertificate(subject=True, dns=True, certificate=True, uri=True, chain=True)

VALIDATIONS: dict[str, tuple[nodes.ClientValidation, set[str]]] = {
    # what is asked of clients; who gets in
    "required": (nodes.ClientValidation(CLIENTS), {"good", "revoked"}),
    "optional": (nodes.ClientValidation(CLIENTS, is_optional=True), {"none", "good", "revoked"}),
    "revoking": (nodes.ClientValidation(REVOKING, only_leaf_revocations=True), {"good"}),
    "untrusted": (
        nodes.ClientValidation(None, accepts_untrusted=True, forward=ALL),
        {"good", "revoked", "other"},
    ),
    "known-not-checked": (
        nodes.ClientValidation(CLIENTS, accepts_untrusted=True),
        {"good", "revoked", "other"},
    ),
    "unrevoking": (
        nodes.ClientValidation(REVOKING, accepts_untrusted=True, only_leaf_revocations=True),
        {"good", "revoked", "other"},
    ),
    "lenient": (
        nodes.ClientValidation(CLIENTS, is_optional=True, accepts_untrusted=True),
        {"none", "good", "revoked", "other"},
    ),
    "gone": (nodes.ClientValidation(GONE), set()),
    "nothing": (nodes.ClientValidation(), set()),
}
KNOWN = (nodes.AlternativeName("DNS", "backend.test"),)
UPSTREAMS: dict[str, tuple[nodes.UpstreamTls | None, int]] = {
    "unchecked": (None, 200),
    "known": (nodes.UpstreamTls(TRUST, names=KNOWN, sni="backend.test"), 200),
    "any-name": (nodes.UpstreamTls(TRUST), 200),
    "second-name": (
        nodes.UpstreamTls(TRUST, names=(nodes.AlternativeName("URI", "spiffe://x"), *KNOWN)),
        200,
    ),
    "other-name": (
        nodes.UpstreamTls(TRUST, names=(nodes.AlternativeName("DNS", "other.test"),)),
        503,
    ),
    "uri": (nodes.UpstreamTls(TRUST, names=(nodes.AlternativeName("URI", "backend.test"),)), 503),
    "other-authority": (nodes.UpstreamTls(CLIENTS), 503),
    "bundle-gone": (nodes.UpstreamTls(GONE), 503),
    "system": (nodes.UpstreamTls(system=True), 503),
    "old": (nodes.UpstreamTls(TRUST, minimum="1.2", maximum="1.2"), 200),
}
CERTIFICATE = NamespacedName("shop", "client")
BACKEND = world.cluster("secret")


def hosts(served: Served) -> None:
    made = served.proxy.world
    for key, body in (
        (TRUST, nodes.TrustBundle(known_authority("backends").pem)),
        (CLIENTS, nodes.TrustBundle(known_authority("clients").pem)),
        (
            REVOKING,
            nodes.TrustBundle(
                known_authority("clients").pem,
                certificates.revocations(
                    known_authority("clients"), encrypted.issued("clients", "revoked")
                ),
            ),
        ),
    ):
        made.engine.write(world.BUNDLES, key, body)
    own = encrypted.issued("clients", "envoy")
    made.engine.write(world.SECRETS, CERTIFICATE, nodes.Secret(own.pem, own.key_pem))
    for name, (clients, _) in VALIDATIONS.items():
        served.serve(f"{name}.test", world.route(world.forward(ONE)))
        made.secure(f"{name}.test", world.tls(clients=clients))
    for name, (tls, _) in UPSTREAMS.items():
        backend = world.cluster("secret", protocol="tls", tls=tls)
        served.serve(f"{name}-up.test", world.route(world.forward(backend)))
    strict = nodes.UpstreamTls(TRUST, client_certificate=CERTIFICATE, sni="backend.test")
    for name, shown in (("shown", strict), ("hidden", nodes.UpstreamTls(TRUST))):
        backend = world.cluster("strict", protocol="tls", tls=shown)
        served.serve(f"{name}-up.test", world.route(world.forward(backend)))
    for name, secure in {
        "passed.test": nodes.SecureHost(None, stream=_stream(BACKEND)),
        "*.passed.test": nodes.SecureHost(None, stream=_stream(BACKEND)),
        "stream.test": nodes.SecureHost(world.tls(), stream=_stream(ONE)),
        "shared.test": nodes.SecureHost(None, stream=_stream(BACKEND, None)),
        "closed.test": nodes.SecureHost(None, stream=_stream(None)),
    }.items():
        made.engine.write(
            world.SECURE_HOSTS, nodes.HostKey(world.FLEET, world.SECURE, name), secure
        )


def _stream(*clusters: nodes.Cluster | None) -> nodes.Stream:
    return nodes.Stream(tuple(nodes.WeightedCluster(it) for it in clusters))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backends(envoy: Served) -> AsyncIterator[Served]:
    """With two backends that speak TLS; one wants to see a certificate."""
    pair = encrypted.issued("backends", "backend.test")
    async with encrypted.serving(pair) as lax, encrypted.serving(pair, "clients") as strict:
        made = envoy.proxy.world
        made.endpoints(BACKEND, lax)
        made.endpoints(world.cluster("strict"), strict)
        await envoy.proxy.publish()
        await peers.eventually(lambda: envoy.proxy.fleet.acceptance.is_settled)
        yield envoy


@pytest.mark.parametrize("name", VALIDATIONS)
async def test_clients_get_in_with_the_certificate_that_is_asked_for(
    envoy: Served, name: str
) -> None:
    shown = {
        "none": None,
        "good": encrypted.issued("clients", "good"),
        "revoked": encrypted.issued("clients", "revoked"),
        "other": encrypted.issued("others", "other"),
    }
    for who, pair in shown.items():
        answer = await encrypted.get(envoy.secure, f"{name}.test", pair)
        assert (answer is not None and " 200 " in answer) == (who in VALIDATIONS[name][1]), who


async def test_backends_are_told_of_the_certificate(envoy: Served) -> None:
    good = encrypted.issued("clients", "good")
    told = await encrypted.get(envoy.secure, "untrusted.test", good)
    assert told is not None
    assert "DNS=good" in told
    told = await encrypted.get(envoy.secure, "required.test", good)
    assert told is not None
    assert "x-forwarded-client-cert" not in told


@pytest.mark.parametrize("name", UPSTREAMS)
async def test_backends_are_believed_with_the_certificate_that_is_asked_for(
    backends: Served, name: str
) -> None:
    answer = await backends.ask(f"{name}-up.test")
    assert answer.status == UPSTREAMS[name][1]
    if name == "known":
        assert answer.body == "backend.test|"


async def test_backends_are_shown_the_certificate_that_the_user_names(backends: Served) -> None:
    assert (await backends.ask("shown-up.test")).body == "backend.test|envoy"
    assert (await backends.ask("hidden-up.test")).status == 503


async def test_encrypted_bytes_are_passed_on(backends: Served) -> None:
    for name in ("passed.test", "x.passed.test"):
        answer = await encrypted.get(backends.secure, name)
        assert answer is not None
        assert answer.endswith(f"{name}|")


async def test_a_share_without_a_backend_is_closed(backends: Served) -> None:
    answers = [await encrypted.get(backends.secure, "shared.test") for _ in range(20)]
    assert {it is None for it in answers} == {True, False}
    assert await encrypted.get(backends.secure, "closed.test") is None


async def test_a_stream_may_be_decrypted(backends: Served) -> None:
    answer = await encrypted.get(backends.secure, "stream.test")
    assert answer is not None
    assert '"host": "stream.test"' in answer
    assert "x-request-id" not in answer


class _Echo(asyncio.DatagramProtocol):
    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._transport.sendto(b"you said " + data, addr)


class _Heard(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.heard: asyncio.Queue[bytes] = asyncio.Queue()

    def datagram_received(self, data: bytes, _: Any) -> None:
        self.heard.put_nowait(data)


async def test_connections_and_datagrams_without_names_are_passed_on(backends: Served) -> None:
    made, (tcp, udp) = backends.proxy.world, ports.free_ports(2)
    loop = asyncio.get_running_loop()
    server, _ = await loop.create_datagram_endpoint(_Echo, ("127.0.0.1", 0))
    echo = world.cluster("echo")
    made.endpoints(echo, server.get_extra_info("sockname")[1])
    streams = (
        nodes.Listener("tcp-9", "TCP", 9, "127.0.0.1", tcp, stream=_stream(ONE)),
        nodes.Listener("udp-9", "UDP", 9, "127.0.0.1", udp, stream=_stream(echo)),
        nodes.Listener("udp-10", "UDP", 10, "127.0.0.1", udp + 1, stream=_stream(echo, ONE)),
        nodes.Listener("tcp-10", "TCP", 10, "127.0.0.1", tcp + 1),
    )
    plain, secure = world.plain_listener(backends.plain), world.secure_listener(backends.secure)
    made.listeners(plain, secure, *streams)
    await backends.proxy.publish()
    answer = await proxies.until(tcp, "any.test", 200)
    assert "aiohttp" in answer.headers["Server"]  # as the backend wrote it
    assert await proxies.ask(tcp + 1, "any.test") is None
    client, heard = await loop.create_datagram_endpoint(_Heard, remote_addr=("127.0.0.1", udp))
    await peers.eventually(lambda: backends.proxy.fleet.acceptance.is_settled)
    client.sendto(b"hello")
    async with asyncio.timeout(PATIENCE):
        assert await heard.heard.get() == b"you said hello"
    client.close()
    server.close()

"""Guards of connections that nobody reads: who is refused hears nothing, and nobody hears of it.

The backend speaks first, as those of mail and databases do; its clients here say nothing at all.
"""

import asyncio
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any

import pytest

from crds.meta import NamespacedName
from dag import nodes
from tests.contour.envoy import proxies, world
from tests.contour.envoy.served.conftest import GRPC, Served

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

TLS = {"passed": None, "ended": world.tls()}
STREAM = nodes.Stream((nodes.WeightedCluster(world.cluster("greeter")),))
NEAR, FAR = "127.0.0.0/8", "10.0.0.0/8"
SOURCES = ("Peer", "Remote")
FILTERS = [
    *product(("ALLOW", "DENY"), SOURCES, (NEAR, FAR)),
]


class Greeter(socketserver.ThreadingTCPServer):
    """Says hello to whoever comes."""

    daemon_threads = True
    callers = 0

    def finish_request(self, request: Any, _: Any) -> None:
        self.callers += 1
        request.sendall(b"hello\n")
        request.recv(1)


GREETERS: list[Greeter] = []


@pytest.fixture(scope="module", autouse=True)
def greeter() -> Iterator[Greeter]:
    with Greeter(("127.0.0.1", 0), socketserver.BaseRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        GREETERS.append(server)
        yield server
        server.shutdown()


def hosts(served: Served) -> None:
    port = GREETERS[-1].server_address[1]
    endpoints = nodes.Endpoints((nodes.Endpoint("127.0.0.1", int(port)),))
    greeter = nodes.ServicePort(NamespacedName("shop", "greeter"), 80, "http")
    served.proxy.world.engine.write(world.ENDPOINTS, greeter, endpoints)
    service = nodes.RateLimitService(GRPC, domain="shop", timeout=1.0)
    served.proxy.world.engine.write(world.RATE_LIMIT_SERVICES, (), service)
    for kind in TLS:
        # A wildcard that is open must not take what a name of its own refuses.
        _stream(served, f"*.{kind}.test", kind, None)
        for action, source, cidr in FILTERS:
            guards = nodes.StreamGuards(_filter(action, source, cidr))
            for host in _names(kind, action, source, cidr):
                _stream(served, host, kind, guards)
        both = nodes.IpFilter("DENY", (nodes.IpRange(FAR), nodes.IpRange(NEAR, "Remote")))
        _stream(served, f"both.{kind}.test", kind, nodes.StreamGuards(both))
        for owner in ("first", "second"):
            limit = nodes.ConnectionLimit(1, "hour", 1, owner)
            _stream(served, f"{owner}.{kind}.test", kind, nodes.StreamGuards(limit=limit))
        for value in ("seldom", "too-often", "100%"):
            entries = (nodes.RemoteAddress(), nodes.GenericKey(value))
            guards = nodes.StreamGuards(descriptors=(entries,))
            _stream(served, f"{value.rstrip('%')}.{kind}.test", kind, guards)
    _stream(served, "*", "passed", nodes.StreamGuards(_filter("DENY", "Peer", NEAR)))


def _filter(action: Any, source: Any, cidr: str) -> nodes.IpFilter:
    return nodes.IpFilter(action, (nodes.IpRange(cidr, source),))


def _names(kind: str, action: str, source: str, cidr: str) -> tuple[str, str]:
    """A name, and a wildcard of more labels."""
    name = f"{action}-{source}-{cidr.partition('.')[0]}".lower()
    return f"{name}.{kind}.test", f"*.{name}.{kind}.test"


def _stream(served: Served, host: str, kind: str, guards: nodes.StreamGuards | None) -> None:
    key = nodes.HostKey(world.FLEET, world.SECURE, host)
    stream = nodes.Stream(STREAM.shares, guards=guards)
    found = nodes.SecureHost(TLS[kind], (world.ORIGIN,), stream)
    served.proxy.world.engine.write(world.SECURE_HOSTS, key, found)


async def _heard(served: Served, name: str, kind: str) -> bytes:
    """What a client hears that says nothing beyond the name it comes for."""
    try:
        async with asyncio.timeout(8):
            if kind == "ended":
                reader, writer = await proxies.connection(served.secure, name)
            else:
                reader, writer = await asyncio.open_connection("127.0.0.1", served.secure)
                writer.write(_client_hello(name))
            found = await reader.read(6)
            writer.close()
            return found
    except (ConnectionError, ssl.SSLError):
        return b""


def _client_hello(name: str) -> bytes:
    context = ssl.create_default_context()
    outgoing = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname=name)
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("kind", TLS)
@pytest.mark.parametrize(("action", "source", "cidr"), FILTERS)
async def test_addresses_are_filtered_before_anything_is_dialled(
    envoy: Served, greeter: Greeter, action: str, source: str, cidr: str, kind: str
) -> None:
    is_in = (action == "ALLOW") == (cidr == NEAR)
    for name in _names(kind, action, source, cidr):
        before = greeter.callers
        found = await _heard(envoy, name.replace("*", "some"), kind)
        assert found == (b"hello\n" if is_in else b"")
        assert greeter.callers == before + is_in


async def test_ranges_of_both_kinds_and_every_other_name(envoy: Served, greeter: Greeter) -> None:
    before = greeter.callers
    assert await _heard(envoy, "both.passed.test", "passed") == b""
    assert await _heard(envoy, "both.ended.test", "ended") == b""
    assert await _heard(envoy, "nobody.else", "passed") == b""
    assert greeter.callers == before
    assert await _heard(envoy, "open.passed.test", "passed") == b"hello\n"
    counted = await envoy.proxy.admin("stats?filter=no_filter_chain_match&usedonly")
    assert "no_filter_chain_match: " in counted


@pytest.mark.parametrize("kind", TLS)
async def test_each_owner_has_so_many_connections(
    envoy: Served, greeter: Greeter, kind: str
) -> None:
    for owner in ("first", "second"):
        before = greeter.callers
        found = [await _heard(envoy, f"{owner}.{kind}.test", kind) for _ in range(4)]
        assert found == [b"hello\n", b"hello\n", b"", b""]
        assert greeter.callers == before + 2


@pytest.mark.parametrize("kind", TLS)
async def test_a_service_counts_connections(envoy: Served, greeter: Greeter, kind: str) -> None:
    before = greeter.callers
    assert await _heard(envoy, f"too-often.{kind}.test", kind) == b""
    assert greeter.callers == before
    for value in ("seldom", "100%"):
        assert await _heard(envoy, f"{value.rstrip('%')}.{kind}.test", kind) == b"hello\n"
        asked = envoy.peers.limited[-1]
        found = [(it.key, it.value) for it in asked.descriptors[0].entries]
        assert (asked.domain, found) == (
            "shop",
            [("remote_address", "127.0.0.1"), ("generic_key", value)],
        )

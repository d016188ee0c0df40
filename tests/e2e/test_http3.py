"""HTTP/3 beside HTTPS: the same hosts, routes and certificates, asked over UDP."""

import asyncio
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, pairs
from tests.testbed.processes import wait

pytest.importorskip("aioquic", reason="no client for HTTP/3: install aioquic")

from aioquic.asyncio import client as quic
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3 import connection, events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent

pytestmark = pytest.mark.envoy

_ON = "{listener: {http3: true}}"


@pytest.fixture(scope="module")
def modern(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    authority = certificates.authority()
    pair = certificates.issued(authority, "*.example.com")
    files = {name: manifest(name) for name in ("services.yaml", "tls.yaml")}
    files["secret.yaml"] = pairs.of("certificate", pair)
    files["configuration.yaml"] = _configuration(_ON)
    with standalone(tmp_path_factory.mktemp("modern"), files) as running:
        running.authority = authority
        yield running


def _configuration(envoy: str) -> str:
    return (
        "apiVersion: projectcontour.io/v1alpha1\nkind: ContourConfiguration\n"
        f"metadata: {{name: contour}}\nspec: {{envoy: {envoy}}}\n"
    )


class _Client(QuicConnectionProtocol):
    """One request on a connection of its own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._h3 = connection.H3Connection(self._quic)
        self._headers: dict[bytes, bytes] = {}
        self._answer: asyncio.Future[dict[bytes, bytes]] = (
            asyncio.get_running_loop().create_future()
        )

    async def ask(self, host: str, path: str) -> dict[bytes, bytes]:
        asked = {":method": "GET", ":scheme": "https", ":authority": host, ":path": path}
        encoded = [(name.encode(), value.encode()) for name, value in asked.items()]
        stream = self._quic.get_next_available_stream_id()
        self._h3.send_headers(stream, encoded, end_stream=True)
        self.transmit()
        return await self._answer

    def quic_event_received(self, event: QuicEvent) -> None:
        for it in self._h3.handle_event(event):
            if isinstance(it, events.HeadersReceived):
                self._headers |= dict(it.headers)
            if not isinstance(it, events.HeadersReceived | events.DataReceived):
                continue
            if it.stream_ended and not self._answer.done():
                self._answer.set_result(self._headers)


def _ask(instance: Standalone, host: str, path: str = "/", sni: str = "") -> int:
    """The status of an answer over HTTP/3; 0 if there is no connection."""
    try:
        return asyncio.run(_asked(instance, host, path, sni or host))
    except (ConnectionError, TimeoutError):
        return 0


async def _asked(instance: Standalone, host: str, path: str, sni: str) -> int:
    trusted = instance.authority.pem
    wanted = QuicConfiguration(alpn_protocols=connection.H3_ALPN, server_name=sni, cadata=trusted)
    wanted.verify_mode = ssl.CERT_REQUIRED
    port = instance.ports["https"]
    async with (
        asyncio.timeout(2),
        quic.connect("127.0.0.1", port, configuration=wanted, create_protocol=_Client) as client,
    ):
        assert isinstance(client, _Client)
        return int((await client.ask(host, path))[b":status"])


def test_hosts_of_https_are_asked_over_udp_too(modern: Standalone) -> None:
    wait(lambda: _ask(modern, "secure.example.com") == 200, "an answer over HTTP/3")
    assert _ask(modern, "new.example.com", "/any") == 200


def test_answers_over_tcp_say_where_else(modern: Standalone) -> None:
    told = modern.ask("https://secure.example.com/").headers
    assert told["alt-svc"] == 'h3=":443"; ma=86400'
    assert "alt-svc" not in modern.ask("https://old.example.com/").headers
    assert "alt-svc" not in modern.ask("http://secure.example.com/open").headers


def test_a_connection_over_udp_reaches_the_host_it_was_opened_for(modern: Standalone) -> None:
    wait(lambda: _ask(modern, "secure.example.com") == 200, "an answer over HTTP/3")
    assert _ask(modern, "new.example.com", sni="secure.example.com") == 421
    assert _ask(modern, "secure.example.com", sni="old.example.com") == 0, "it wants TLS 1.2"


def test_it_ends_where_the_configuration_says_so(modern: Standalone) -> None:
    wait(lambda: _ask(modern, "secure.example.com") == 200, "an answer over HTTP/3")
    for off in ("{}", "{listener: {http3: true, useProxyProtocol: true}}"):
        modern.write("configuration.yaml", _configuration(off))
        wait(lambda: _ask(modern, "secure.example.com") == 0, "the end of HTTP/3")
        modern.write("configuration.yaml", _configuration(_ON))
        wait(lambda: _ask(modern, "secure.example.com") == 200, "an answer over HTTP/3")

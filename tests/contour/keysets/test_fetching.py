"""One request for a key set: what servers may answer, and what is told of other answers."""

import asyncio
import json
import socket
import threading
from typing import Any

import pytest
from aiohttp import web

from contour.keysets import fetching, slots
from contour.keysets.slots import LastOutcome, Slot
from dag import nodes
from dag.references import jwks
from dag.references.keysets import Wanted
from tests.testbed import certificates, keyserver, tokens

AUTHORITY = certificates.authority()
ADDRESS = "127.0.0.7"
MIXED = {"keys": [*json.loads(tokens.jwks())["keys"], {"kty": "XYZ"}, {"kty": "EC", "crv": "?"}]}
ANSWERS: dict[str, web.Response | bytes | float] = {
    "/good": tokens.jwks().encode(),
    "/mixed": json.dumps(MIXED).encode(),
    "/text": b"hello",
    "/empty": b"",
    "/list": b"[]",
    "/none": b'{"keys": []}',
    "/unknown": b'{"keys": [{"kty": "XYZ"}]}',
    "/deep": b"[" * 100_000,
    "/large": b" " * (10 * 1024 * 1024),
    "/slow": 60.0,
    "/broken": web.Response(status=500),
    "/inwards": web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}),
    "/zipped": web.Response(status=200, headers={"Content-Encoding": "gzip"}),
}


def request(
    port: int, path: str, tls: nodes.UpstreamTls, authority: certificates.Pair = AUTHORITY
) -> fetching.Request:
    source = nodes.RemoteJwks(f"https://{ADDRESS}:{port}{path}", tls, timeout=5.0)
    return fetching.Request(source, Wanted(authority.pem, loopback=True), Slot())


async def fetched(path: str, tls: nodes.UpstreamTls, shown: certificates.Pair) -> str:
    async with keyserver.serving(ANSWERS, shown, ADDRESS) as server:
        return await fetching.fetch(request(server.port, path, tls))


SYSTEM = nodes.UpstreamTls(system=True, sni=ADDRESS)
GOOD = certificates.issued(AUTHORITY, ADDRESS, "keys.example.com")


async def test_the_keys_that_can_be_read_are_used() -> None:
    for path in ("/good", "/mixed"):
        assert json.loads(await fetched(path, SYSTEM, GOOD)) == json.loads(tokens.jwks())


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/text", "answers with a text that is not JSON"),
        ("/empty", "answers with a text that is not JSON"),
        ("/deep", "answers with a text that is not JSON"),
        ("/list", "answers with a text that is no key set"),
        ("/none", "answers with a text that has 0 keys"),
        ("/unknown", "answers with a text that has no key that can be read"),
        ("/large", f"answers with a text that is larger than {jwks.MAX_SIZE} bytes"),
        ("/broken", "answers 500"),
        ("/gone", "answers 404"),
        ("/inwards", "answers 302, and redirects are not followed"),
        ("/zipped", "answers with a text that is not JSON"),
    ],
)
async def test_an_answer_that_cannot_be_used_is_told(path: str, why: str) -> None:
    with pytest.raises(fetching.FetchError, match=why):
        await fetched(path, SYSTEM, GOOD)


async def test_a_server_that_is_silent_is_not_waited_for() -> None:
    async with keyserver.serving(ANSWERS, GOOD, ADDRESS) as server:
        asked = request(server.port, "/slow", SYSTEM)
        source = nodes.RemoteJwks(asked.source.uri, SYSTEM, timeout=0.2)
        with pytest.raises(fetching.FetchError, match=r"does not answer within 0.2 s"):
            await fetching.fetch(asked._replace(source=source))


def named(*names: nodes.AlternativeName) -> nodes.UpstreamTls:
    trust = nodes.Trust(())
    return nodes.UpstreamTls(trust, names=names, sni=ADDRESS)


def dns(name: str) -> nodes.AlternativeName:
    return nodes.AlternativeName("DNS", name)


SPIFFE = "spiffe://example.com/keys"


@pytest.mark.parametrize(
    ("tls", "shown", "why"),
    [
        (SYSTEM, GOOD, None),
        (SYSTEM, certificates.issued(AUTHORITY, "else.example.com"), "certificate"),
        (SYSTEM, certificates.self_signed(ADDRESS), "certificate"),
        (SYSTEM, certificates.issued(certificates.authority("other"), ADDRESS), "certificate"),
        (named(dns("keys.example.com")), GOOD, None),
        (named(dns("a.com"), dns("keys.example.com")), GOOD, None),
        (named(dns("keys.example.com")), certificates.issued(AUTHORITY, "*.example.com"), None),
        (named(dns("else.example.com")), GOOD, "none of the names that are required"),
        (named(nodes.AlternativeName("URI", SPIFFE)), certificates.issued(AUTHORITY, SPIFFE), None),
        (named(nodes.AlternativeName("URI", SPIFFE)), GOOD, "none of the names"),
    ],
    ids=range(10),
)
async def test_the_certificate_of_a_server_is_verified(
    tls: nodes.UpstreamTls, shown: certificates.Pair, why: str | None
) -> None:
    if why is None:
        assert await fetched("/good", tls, shown)
        return
    with pytest.raises(fetching.FetchError, match=why):
        await fetched("/good", tls, shown)


async def test_without_validation_any_certificate_will_do() -> None:
    async with keyserver.serving(ANSWERS, certificates.self_signed("x"), ADDRESS) as server:
        asked = request(server.port, "/good", nodes.UpstreamTls(sni=ADDRESS))
        assert await fetching.fetch(asked._replace(how=Wanted(None, loopback=True)))


async def test_a_name_may_not_lead_to_the_machine_itself() -> None:
    async with keyserver.serving(ANSWERS, None, "127.0.0.1") as server:
        source = nodes.RemoteJwks(f"http://localhost:{server.port}/good", timeout=5.0)
        assert await fetching.fetch(fetching.Request(source, Wanted(None, loopback=True), Slot()))
        with pytest.raises(fetching.FetchError, match="leads to an address that is loopback"):
            await fetching.fetch(fetching.Request(source, Wanted(None, loopback=False), Slot()))


async def test_a_silent_resolver_keeps_its_slot_and_delays_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resolve, ended = socket.getaddrinfo, threading.Event()

    def answer(host: str, *args: Any, **more: Any) -> Any:
        if host != "localhost":
            ended.wait(30)
        return resolve("localhost", *args, **more)

    async def ask(name: str) -> str:
        source = nodes.RemoteJwks(f"http://{name}:{server.port}/good", timeout=1.0)
        async with found.slot(source, LastOutcome.NEW) as slot:
            return await fetching.fetch(fetching.Request(source, Wanted(None, loopback=True), slot))

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    found = slots.Slots()
    silent = [f"silent{it}.example.com" for it in range(slots.AT_ONCE)]
    async with keyserver.serving(ANSWERS, None, "127.0.0.1") as server:
        every = await asyncio.gather(*map(ask, silent[1:]), return_exceptions=True)
        assert {"does not answer within 1 s" in str(it) for it in every} == {True}
        assert await ask("localhost"), "one slot is left"
        with pytest.raises(fetching.FetchError):
            await ask(silent[0])
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(ask("localhost"))
            await asyncio.sleep(0.1)
            assert not waiting.done(), "no slot is left"
            ended.set()
        assert waiting.result()

"""The client in conversation with a scripted server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from envoy.config.cluster.v3 import cluster_pb2

from contour.hooks import wire
from contour.hooks.client import Client, Retries, Service, Tls
from contour.hooks.replies import Answer, Failure
from contour.hooks.wire import Hook
from tests.contour.hooks import questions
from tests.contour.hooks.questions import about_clusters, about_host, encoded, host, host_reply
from tests.testbed import certificates
from tests.testbed.extensionserver import Scripted, echoed, never, scripted, unchanged

ONCE = Retries(attempts=1)


@asynccontextmanager
async def asking(server: Scripted, **how: Any) -> AsyncIterator[Client]:
    client = Client(Service(server.address, **{"deadline": 30.0, **how}))
    try:
        yield client
    finally:
        await client.close()


async def ask(client: Client) -> Answer | Failure:
    return await client.ask("VirtualHost", about_host())


@pytest.mark.parametrize("hook", wire.RPCS)
async def test_every_hook_is_asked_by_its_own_rpc(hook: Hook) -> None:
    name: wire.Field = wire.FIELDS[hook][0]
    body = questions.cluster("a") if hook == "Translation" else b""
    question = wire.encoded_request(hook, wire.Request({name: (body,)}))
    async with scripted(echoed) as server, asking(server) as client:
        found = await client.ask(hook, question)
    assert isinstance(found, Answer)
    assert wire.decoded_reply(hook, found.body).resources[name] == (body,)
    assert server.asked == {hook: 1}


async def _garbage(_: Hook, __: bytes) -> bytes:
    return b"\xff" * 100


async def _other(_: Hook, __: bytes) -> bytes:
    return host_reply(host("other"))


async def _large(_: Hook, __: bytes) -> bytes:
    return host_reply(questions.typed("x/y", bytes(5 << 20)))


async def _not_there(_: Hook, __: bytes) -> grpc.StatusCode:
    return grpc.StatusCode.UNIMPLEMENTED


async def _broken(_: Hook, __: bytes) -> grpc.StatusCode:
    return grpc.StatusCode.INTERNAL


async def _dying(_: Hook, __: bytes) -> bytes:
    raise SystemError("the script ends here")


@pytest.mark.parametrize(
    ("script", "reason"),
    [(_garbage, "Unreadable"), (_other, "WrongName"), (_large, "TooLarge"),
     (_not_there, "Unimplemented"), (_broken, "Error"), (_dying, "Error")],
)  # fmt: skip
async def test_what_a_server_does_is_a_failure_with_a_reason(script: Any, reason: str) -> None:
    async with scripted(script) as server, asking(server) as client:
        found = await ask(client)
        assert isinstance(found, Failure)
        assert found.reason == reason
        assert server.asked["VirtualHost"] == 1, "it is not asked again"
        server.script = unchanged
        assert await ask(client) == Answer(b"")


async def test_four_mebibytes_are_a_bound_of_both_directions() -> None:
    async with scripted(echoed) as server, asking(server) as client:
        below = host("shop", *(f"{it:0>250}" for it in range(15_000)))
        assert isinstance(await client.ask("VirtualHost", about_host(below)), Answer)
        above = host("shop", *(f"{it:0>250}" for it in range(17_000)))
        found = await client.ask("VirtualHost", about_host(above))
    assert isinstance(found, Failure)
    assert found.reason == "TooLarge"
    assert server.asked["VirtualHost"] == 1, "what is too large is not sent"


async def test_an_answer_about_all_clusters_may_have_sixty_four_mebibytes_and_no_more() -> None:
    names = ["one", "two", "three"]

    async def long(_: Hook, __: bytes) -> bytes:
        more = "x" * 2_000_000
        bodies = (encoded(cluster_pb2.Cluster(name=it, alt_stat_name=more)) for it in names)
        return wire.encoded_reply("Translation", {"clusters": tuple(bodies)})

    async with scripted(long) as server, asking(server, deadline=60.0) as client:
        assert isinstance(await client.ask("Translation", about_clusters("one")), Answer)
        names = [f"c{it}" for it in range(34)]
        found = await client.ask("Translation", about_clusters("one"))
        assert isinstance(found, Failure)
        assert found.reason == "TooLarge"
        server.script = echoed
        assert isinstance(await client.ask("Translation", about_clusters("one")), Answer)


async def test_a_server_that_hangs_is_given_up_and_left_for_a_new_connection() -> None:
    async with scripted(never) as server, asking(server, deadline=0.2) as client:
        async with aclosing(client.connections()) as made:
            assert await anext(made) == 1
            failures = [await ask(client) for _ in range(3)]
            assert failures == [Failure("DeadlineExceeded", "no answer within 0.2 s")] * 3
            assert await anext(made) == 2, "the old one may lead to nobody"
        server.script = unchanged
        while not isinstance(await ask(client), Answer):
            pass  # on a busy machine an answer may take longer than the deadline, too


async def test_a_server_that_is_away_is_tried_again_and_found_when_it_is_back() -> None:
    async with scripted() as server, asking(server, retries=ONCE) as client:
        async with aclosing(client.connections()) as made:
            assert await anext(made) == 1
            await server.stop()
            found = await ask(client)
            assert isinstance(found, Failure)
            assert found.reason == "Unavailable"
            await server.start()
            assert await anext(made) == 2
        assert await ask(client) == Answer(b"")


async def test_questions_that_are_open_when_a_server_dies_are_asked_again() -> None:
    async with scripted(never) as server, asking(server, retries=Retries(attempts=50)) as client:
        open_ = [asyncio.ensure_future(ask(client)) for _ in range(10)]
        while server.most_at_once < 10:
            await asyncio.sleep(0.01)
        await server.stop()
        server.script = unchanged
        await server.start()
        assert await asyncio.gather(*open_) == [Answer(b"")] * 10


async def test_the_number_of_attempts_is_bounded() -> None:
    async def busy(_: Hook, __: bytes) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE

    retries = Retries(attempts=3, shortest=0.01)
    async with scripted(busy) as server, asking(server, retries=retries) as client:
        found = await ask(client)
    assert found == Failure("Unavailable", "as the script says")
    assert server.asked["VirtualHost"] == 3


async def test_no_more_than_64_questions_are_open_at_once() -> None:
    gate = asyncio.Event()

    async def held(_: Hook, __: bytes) -> bytes:
        await gate.wait()
        return b""

    async with scripted(held) as server, asking(server) as client:
        open_ = [asyncio.ensure_future(ask(client)) for _ in range(200)]
        while server.most_at_once < 64:
            await asyncio.sleep(0.01)
        gate.set()
        assert await asyncio.gather(*open_) == [Answer(b"")] * 200
    assert server.most_at_once == 64


async def test_another_answer_each_time_is_another_answer_and_another_order_is_not() -> None:
    orders = [list(questions.PAIRS.items()), list(reversed(questions.PAIRS.items()))]
    bodies = [questions.mapped(it) for it in orders] + [questions.typed("x/y", b"1")]

    async def changing(_: Hook, __: bytes) -> bytes:
        return host_reply(bodies.pop(0))

    async with scripted(changing) as server, asking(server) as client:
        found = [await ask(client) for _ in range(3)]
    assert found[0] == found[1] != found[2]


async def test_after_closing_no_question_is_asked() -> None:
    async with scripted() as server:
        async with asking(server) as client:
            made = client.connections()
            assert await anext(made) == 1
        assert await ask(client) == Failure("Unavailable", "the connection has been closed")
        assert [it async for it in made] == []
    assert not server.asked


async def test_a_unix_socket(tmp_path: Path) -> None:
    async with scripted(address=f"unix:{tmp_path}/socket") as server, asking(server) as client:
        assert await ask(client) == Answer(b"")


OURS = certificates.authority("ours")
THEIRS = certificates.authority("theirs")
SERVER = certificates.issued(OURS, "server.test")
US = certificates.issued(OURS, "contour")
SHOWN = Tls(OURS.pem, US.pem, US.key_pem, "server.test")


@pytest.mark.parametrize(
    ("tls", "is_answered"),
    [
        (SHOWN, True),
        (Tls(THEIRS.pem, US.pem, US.key_pem, "server.test"), False),
        (Tls(OURS.pem, US.pem, US.key_pem, "other.test"), False),
        (Tls(OURS.pem, US.pem, US.key_pem), False),
        (Tls(OURS.pem, server_name="server.test"), False),
        (None, False),
    ],
    ids=["both", "other authority", "other name", "host", "no certificate", "no tls"],
)
async def test_tls_holds_both_ways(tls: Tls | None, is_answered: bool) -> None:
    credentials = grpc.ssl_server_credentials([(SERVER.key_pem, SERVER.pem)], OURS.pem, True)
    async with (
        scripted(credentials=credentials) as server,
        asking(server, tls=tls, retries=ONCE) as client,
    ):
        found = await ask(client)
    if is_answered:
        assert found == Answer(b"")
    else:
        assert isinstance(found, Failure)
        assert found.reason == "Unavailable"
        assert not server.asked


def test_what_is_secret_is_not_shown() -> None:
    shown = repr(Service("a:1", SHOWN)) + repr(wire.Request({"secrets": (b"SECRET",)}))
    assert "PRIVATE" not in shown
    assert "SECRET" not in shown

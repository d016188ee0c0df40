"""The real rate limit service, configured by our xDS server: what it takes and what it answers."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from grpc import aio

from contour.ratelimits import messages
from contour.xds import resources
from contour.xds.fleet import Fleet
from contour.xds.resources import RATE_LIMITS, Change, Name
from contour.xds.server import Server
from tests.contour.ratelimits import asking
from tests.contour.ratelimits.asking import eventually, rule
from tests.testbed import ratelimit
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_port

NAME = Name(RATE_LIMITS, "limits")
HEAD = Change(NAME, "", resources.part(asking.head("limits", "test")))


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ratelimit.Redis]:
    ratelimit.require()
    with ratelimit.redis(tmp_path_factory.mktemp("redis")) as it:
        yield it


@asynccontextmanager
async def serving(port: int) -> AsyncIterator[tuple[Server, Fleet]]:
    server = Server((f"127.0.0.1:{port}",))
    fleet = server.fleet("ratelimit")
    fleet.uri, fleet.counted = "projectcontour://rate-limit-service", RATE_LIMITS
    fleet.publish([HEAD])
    await server.start()
    try:
        yield server, fleet
    finally:
        await server.stop()


def limited(key: str, requests: int) -> Change:
    """The part of one rule."""
    return Change(NAME, key, resources.part(asking.part(rule(key, requests))))


async def test_each_edit_is_counted_by_at_once(tmp_path: Path, redis: ratelimit.Redis) -> None:
    port = free_port()
    async with serving(port) as (_, fleet):
        fleet.publish([limited("a", 2)])
        with ratelimit.service(tmp_path, f"127.0.0.1:{port}", redis) as service:
            await eventually(lambda: "a_a" in service.configuration())
            async with asking.client(service.port) as ask:
                assert [await ask("test", a="a") for _ in range(3)] == [True, True, False]
                assert await ask("test", other="b")
                fleet.publish([limited("b", 1)])
                await eventually(lambda: not fleet.acceptance.is_pending(NAME))
                assert [await ask("test", b="b") for _ in range(2)] == [True, False]
                fleet.publish([Change(NAME, "a", None)])
                await eventually(lambda: not fleet.acceptance.is_pending(NAME))
                assert await ask("test", a="a")


async def test_what_it_refuses_is_found_and_the_rest_counts(
    tmp_path: Path, redis: ratelimit.Redis
) -> None:
    port = free_port()
    bad = messages.RateLimitDescriptor(
        key="bad", rate_limit=messages.RateLimitPolicy(requests_per_unit=1)
    )
    async with serving(port) as (_, fleet):
        fleet.publish([limited("c", 1), Change(NAME, "bad", resources.part(asking.part(bad)))])
        with ratelimit.service(tmp_path, f"127.0.0.1:{port}", redis) as service:
            await eventually(lambda: fleet.quarantine.refusal(NAME, "bad"))
            refusal = fleet.quarantine.refusal(NAME, "bad")
            assert refusal is not None
            assert "invalid rate limit unit" in refusal.words
            async with asking.client(service.port) as ask:
                assert [await ask("test", c="c") for _ in range(2)] == [True, False]


async def test_it_answers_an_error_to_values_that_are_not_utf_8(
    tmp_path: Path, redis: ratelimit.Redis
) -> None:
    # What docs/gateway-api.md says of it; ours counts them.
    port, asked = free_port(), asking.request("test", [("a", "~")]).SerializeToString()
    async with serving(port):
        with ratelimit.service(tmp_path, f"127.0.0.1:{port}", redis) as service:
            async with aio.insecure_channel(f"127.0.0.1:{service.port}") as channel:
                call = channel.unary_unary(asking.PATH)
                with pytest.raises(aio.AioRpcError, match="invalid UTF-8"):
                    await call(asked.replace(b"~", b"\xff"), timeout=PATIENCE)


async def test_it_answers_an_error_to_more_than_4_mib(
    tmp_path: Path, redis: ratelimit.Redis
) -> None:
    # What docs/gateway-api.md says of it; ours answers that it is over the limit.
    port, asked = free_port(), asking.request("test", [("a", "a" * (4 << 20))])
    async with serving(port):
        with ratelimit.service(tmp_path, f"127.0.0.1:{port}", redis) as service:
            async with aio.insecure_channel(f"127.0.0.1:{service.port}") as channel:
                call = channel.unary_unary(asking.PATH)
                with pytest.raises(aio.AioRpcError, match="larger than max"):
                    await call(asked.SerializeToString(), timeout=PATIENCE)


async def test_it_follows_the_next_control_plane(tmp_path: Path, redis: ratelimit.Redis) -> None:
    port = free_port()
    with ratelimit.service(tmp_path, f"127.0.0.1:{port}", redis) as service:

        async def told(key: str) -> None:
            async with serving(port) as (_, fleet):
                fleet.publish([limited(key, 1)])
                await eventually(lambda: f"{key}_{key}" in service.configuration())
                await eventually(lambda: not fleet.acceptance.is_pending(NAME))

        for it in ("d", "e"):
            await told(it)

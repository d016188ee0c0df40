"""Our service and the real one answer the same, on random limits and requests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from envoy.service.ratelimit.v3 import rls_pb2, rls_pb2_grpc
from google.protobuf import wrappers_pb2
from grpc import aio
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from contour.ratelimits import limits, messages
from contour.ratelimits.counting import Memory
from contour.ratelimits.service import Service
from contour.xds import resources
from contour.xds.resources import RATE_LIMITS, Change, Name
from contour.xds.server import Server
from tests.contour.ratelimits import asking
from tests.contour.ratelimits.asking import eventually
from tests.testbed import ratelimit
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_port

Descriptors = list[messages.RateLimitDescriptor]

KEYS, VALUES = st.sampled_from("kl"), st.sampled_from(["", "x", "y"])
# A window of a day: no test lasts until the next but around midnight, where both begin anew.
UNITS = st.sampled_from([asking.DAY])


def descriptors(below: st.SearchStrategy[Descriptors]) -> st.SearchStrategy[Descriptors]:
    limit = st.none() | st.builds(
        messages.RateLimitPolicy, unit=UNITS, requests_per_unit=st.integers(0, 4)
    )
    made = st.builds(
        messages.RateLimitDescriptor, key=KEYS, value=VALUES, rate_limit=limit, descriptors=below
    )
    return st.lists(made, max_size=4, unique_by=lambda it: (it.key, it.value))


TREES = st.recursive(st.just(Descriptors()), descriptors, max_leaves=12)
ENTRIES = st.lists(st.tuples(KEYS, st.sampled_from("xyz")), min_size=1, max_size=3)
ADDEND = st.none() | st.integers(0, 3)


@st.composite
def requests(draw: st.DrawFn) -> rls_pb2.RateLimitRequest:
    made = asking.request(
        draw(st.sampled_from(["test", "test", "other"])),
        *draw(st.lists(ENTRIES, min_size=1, max_size=3)),
    )
    made.hits_addend = draw(st.integers(0, 2))
    for it in made.descriptors:
        if (addend := draw(ADDEND)) is not None:
            it.hits_addend.CopyFrom(wrappers_pb2.UInt64Value(value=addend))
    return made


def level(
    key: str, value: str, *below: messages.RateLimitDescriptor, most: int | None = None
) -> messages.RateLimitDescriptor:
    limit = messages.RateLimitPolicy(unit=asking.DAY, requests_per_unit=most) if most else None
    return messages.RateLimitDescriptor(key=key, value=value, descriptors=below, rate_limit=limit)


FILTER = (
    level("rule", "f/0", level("bucket", "", most=2)),
    level(
        "rule", "f/1", level("bucket", "", level("match-0", "yes", level("header-1", "", most=1)))
    ),
)
"""As a RateLimitFilter of two rules is told: each bucket has a count of its own."""
ASKED = [
    asking.request(
        "test",
        [("rule", "f/0"), ("bucket", bucket)],
        [("rule", "f/1"), ("bucket", bucket), ("match-0", "yes"), ("header-1", user)],
    )
    for bucket, user in [*zip("aabaabb", "xyxxyxy", strict=True), ("a_b", "x"), ("a", "b_x")]
]


Publish = Callable[[bytes], Callable[[], bool]]
"""Sends a configuration; the answer tells whether it is taken."""


class Real:
    """The real service, whose limits can be replaced; it counts in a Redis that can be emptied."""

    def __init__(self, redis: ratelimit.Redis, publish: Publish, port: int) -> None:
        self.redis = redis
        self._publish = publish
        self._port = port

    async def answers(
        self, config: bytes, asked: list[rls_pb2.RateLimitRequest]
    ) -> list[rls_pb2.RateLimitResponse]:
        self.redis.ask("FLUSHALL")
        await eventually(self._publish(config))
        # The service acknowledges a moment before it uses what it has taken.
        await asyncio.sleep(0.02)
        async with aio.insecure_channel(f"127.0.0.1:{self._port}") as channel:
            stub = rls_pb2_grpc.RateLimitServiceStub(channel)
            return [await stub.ShouldRateLimit(it, timeout=PATIENCE) for it in asked]


@asynccontextmanager
async def real(folder: Path, redis: ratelimit.Redis) -> AsyncIterator[Real]:
    port, name = free_port(), Name(RATE_LIMITS, "limits")
    server = Server((f"127.0.0.1:{port}",))
    fleet = server.fleet("ratelimit")
    fleet.uri, fleet.counted = "projectcontour://rate-limit-service", RATE_LIMITS

    def publish(config: bytes) -> Callable[[], bool]:
        fleet.publish([Change(name, "", resources.part(config))])
        return lambda: not fleet.acceptance.is_pending(name)

    publish(asking.head("limits", "test"))
    await server.start()
    with ratelimit.service(folder, f"127.0.0.1:{port}", redis) as service:
        await eventually(lambda: fleet.counts["sent", RATE_LIMITS])
        yield Real(redis, publish, service.port)
    await server.stop()


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ratelimit.Redis]:
    ratelimit.require()
    with ratelimit.redis(tmp_path_factory.mktemp("redis")) as it:
        yield it


def plain(answer: rls_pb2.RateLimitResponse) -> list[object]:
    """What counts of an answer; when a window ends depends on the moment."""
    return [
        answer.overall_code,
        *(
            (it.code, it.limit_remaining, it.current_limit.requests_per_unit, it.current_limit.unit)
            for it in answer.statuses
        ),
    ]


def test_both_answer_the_same(tmp_path: Path, redis: ratelimit.Redis) -> None:
    with asyncio.Runner() as runner:
        running = real(tmp_path, redis)
        judge = runner.run(running.__aenter__())

        @settings(
            max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow],
            derandomize=True,
        )  # fmt: skip
        @example([*FILTER], ASKED)
        @given(TREES, st.lists(requests(), min_size=1, max_size=12))
        def agree(found: Descriptors, asked: list[rls_pb2.RateLimitRequest]) -> None:
            config = messages.RateLimitConfig(name="limits", domain="test", descriptors=found)
            body = config.SerializeToString()
            ours = Service(Memory())
            ours.domains = limits.read([body])

            async def both() -> tuple[list[object], list[object]]:
                theirs = await judge.answers(body, asked)
                return [plain(await asking.decided(ours, it)) for it in asked], [
                    *map(plain, theirs)
                ]

            mine, theirs = runner.run(both())
            assert mine == theirs

        try:
            agree()
        finally:
            runner.run(running.__aexit__(None, None, None))

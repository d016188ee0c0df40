"""The embedded rate limit service: windows, bad configurations, its process, and Redis."""

import asyncio
import importlib
import os
import re
import signal
import socket
import ssl
import tracemalloc
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path

import pytest

from contour.ratelimits import limits, messages
from contour.ratelimits.calls import Connection, Refused
from contour.ratelimits.child import Child, Keeper
from contour.ratelimits.counting import Hit, Memory
from contour.ratelimits.redis import Redis
from contour.ratelimits.service import Response, Service
from contour.ratelimits.settings import Settings
from contour.xds import credentials, resources
from contour.xds.fleet import Fleet
from contour.xds.resources import RATE_LIMITS, Change, Name
from contour.xds.server import Server
from provisioning import identities
from tests.contour.ratelimits import asking
from tests.contour.ratelimits.asking import HOUR, MINUTE, SECOND, decided, eventually, rule
from tests.testbed import certificates, ratelimit, webservers
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_ports

NAME = Name(RATE_LIMITS, "limits")


def config(*descriptors: messages.RateLimitDescriptor, domain: str = "test") -> bytes:
    made = messages.RateLimitConfig(name="limits", domain=domain, descriptors=descriptors)
    return made.SerializeToString()


def apart(key: str) -> messages.RateLimitDescriptor:
    """One request a day of each value."""
    made = rule(key, 1)
    made.value = ""
    return made


@pytest.mark.parametrize(("unit", "seconds"), [(SECOND, 1), (MINUTE, 60), (HOUR, 3600)])
async def test_windows_begin_at_multiples_of_their_length(unit: int, seconds: int) -> None:
    now = [1_000_000 * seconds + seconds - 1]  # the last second of a window
    service = Service(Memory(), lambda: now[0])
    service.domains = limits.read([config(rule("a", 1, unit))])
    asked = asking.request("test", [("a", "a")])
    codes = [(await decided(service, asked)).overall_code for _ in range(2)]
    now[0] += 1
    answer = await decided(service, asked)
    codes.append(answer.overall_code)
    assert codes == [Response.OK, Response.OVER_LIMIT, Response.OK]
    assert answer.statuses[0].duration_until_reset.seconds == seconds


async def test_all_descriptors_count_although_one_is_over_its_limit() -> None:
    service = Service(Memory(), lambda: 7)
    service.domains = limits.read([config(rule("a", 0), rule("b", 2))])
    both = asking.request("test", [("a", "a")], [("b", "b")])
    for _ in range(2):
        assert (await decided(service, both)).overall_code == Response.OVER_LIMIT
    alone = await decided(service, asking.request("test", [("b", "b")]))
    assert alone.overall_code == Response.OVER_LIMIT


async def test_values_are_counted_by_their_bytes(caplog: pytest.LogCaptureFixture) -> None:
    service = Service(Memory(), lambda: 7)
    service.domains = limits.read([config(apart("user"), rule("é", 1))])
    asked = asking.request("test", [("user", "~")], [("é", "é")]).SerializeToString()
    codes = [
        [it.code for it in (await decided(service, asked.replace(b"~", value))).statuses]
        for value in (b"\xff", b"\xfe", b"\xff")
    ]
    over = Response.OVER_LIMIT
    assert codes == [[Response.OK, Response.OK], [Response.OK, over], [over, over]]
    assert not caplog.messages


async def test_what_cannot_be_read_is_refused_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    service = Service(Memory())
    service.domains = {}
    for _ in range(2):
        with pytest.raises(Refused, match="not a RateLimitRequest"):
            await decided(service, b"\xff")
        await decided(service, asking.request("test"))
    assert [it for it in caplog.messages if "no RateLimitRequest" in it] == caplog.messages
    assert len(caplog.messages) == 1


def test_who_sends_more_than_can_be_counted_is_over_the_limit() -> None:
    assert Response.FromString(Service.too_long).overall_code == Response.OVER_LIMIT


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        ([b"\xff"], "not a RateLimitConfig"),
        ([config(domain="")], "is empty or there twice"),
        ([config(), config()], "is empty or there twice"),
        ([config(rule("", 1))], "has no key"),
        ([config(rule("a", 1), rule("a", 2))], "there twice"),
        ([config(rule("a", 1, 0))], "no unit that is known"),
    ],
)
def test_what_cannot_be_used_is_refused(configs: list[bytes], words: str) -> None:
    with pytest.raises(limits.Invalid, match=words):
        limits.read(configs)


async def test_a_clock_that_is_set_back_opens_nothing() -> None:
    memory = Memory()
    found = [await memory.add([Hit(b"a", 60, 1)], it) for it in (600, 599, 660)]
    assert found == [[1], [2], [1]]


class _Odd(Memory):
    """Counters of which one is out of order."""

    async def add(self, hits: Sequence[Hit], now: int) -> Sequence[int]:
        if any(it.seconds == 60 for it in hits):
            raise OSError("out of order")
        return await super().add(hits, now)


async def test_a_fault_of_one_counter_is_logged_once_a_minute_whatever_is_counted_in_between(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [1_000_000]
    service = Service(_Odd(), lambda: now[0])
    service.domains = limits.read([config(rule("odd", 9, MINUTE), rule("b", 9, SECOND))])
    for seconds, logged in ((0, 1), (59, 1), (1, 2)):
        now[0] += seconds
        for key in ("odd", "b", "odd"):
            asked = asking.request("test", [(key, key)]).SerializeToString()
            with suppress(Refused):
                await service.answer(asked, lambda _: None)
        assert caplog.messages == ["out of order"] * logged


async def test_each_limit_has_its_share_of_the_counters(caplog: pytest.LogCaptureFixture) -> None:
    service = Service(Memory(most=6), lambda: 7)
    told = (apart("user"), apart("guest"), rule("all", 1), apart(messages.BUCKET))
    service.domains = limits.read([config(*told)])

    async def found(key: str, *values: str) -> str:
        """`-` for each that is within the limit, `x` for the others."""
        asked = [asking.request("test", [(key, it)]) for it in values]
        codes = [(await decided(service, it)).overall_code for it in asked]
        return "".join("-" if it == Response.OK else "x" for it in codes)

    assert await found("user", *"abcdefabcdef") == "------xxxxxx"
    assert await found("user", *"ghgha") == "----x", "no more are limited"
    assert await found("guest", *"abcdabcd") == "----xxx-", "half of all"
    assert await found("all", "all", "all") == "-x"
    assert await found(messages.BUCKET, *"abcdefgabcdefg") == "-------xxxxxxx", "a limit each"
    assert len(caplog.messages) == 1


async def test_many_limits_have_twice_the_counters_and_one_each_at_most() -> None:
    memory, limits_ = Memory(most=100), 50
    hits = [Hit(bytes((it, key)), 60, 1, it) for it in range(limits_) for key in range(100)]
    await memory.add(hits, 7)
    counted = [hit.limit for hit, count in zip(hits, await memory.add(hits, 7), strict=True)
               if count == 2]  # fmt: skip
    assert len(counted) <= 2 * 100 + limits_
    assert len({*counted}) == limits_


async def test_long_values_take_no_more_memory_than_short_ones() -> None:
    service = Service(Memory())
    service.domains = limits.read([config(apart("user"))])
    tracemalloc.start()
    try:
        for it in range(100):
            await decided(service, asking.request("test", [("user", f"{it}{'x' * 16_000}")]))
        assert tracemalloc.get_traced_memory()[0] < 400_000
    finally:
        tracemalloc.stop()


async def test_a_clock_that_was_a_day_ahead_leaves_windows_as_they_are() -> None:
    memory = Memory()
    found = [await memory.add([Hit(b"a", 60, 1)], it) for it in (87_000, 600, 601, 660, 720)]
    assert found == [[1], [1], [2], [1], [1]]


@asynccontextmanager
async def running(folder: Path, redis: str | None = None) -> AsyncIterator[tuple[Fleet, Path]]:
    """The child process on an xDS server."""
    server = Server((f"unix:{folder}/xds",))
    fleet = server.fleet("ratelimit")
    fleet.uri, fleet.counted = "projectcontour://rate-limit-service", RATE_LIMITS
    fleet.publish([Change(NAME, "", resources.part(asking.head("limits", "test")))])
    await server.start()
    given = Settings(redis=redis or "")
    child = Child(f"unix:{folder}/xds", f"unix:{folder}/asked", folder / "log", given)
    task = asyncio.ensure_future(child.run())
    try:
        await eventually(lambda: fleet.counts["sent", RATE_LIMITS])
        yield fleet, folder / "asked"
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await server.stop()


def limited(key: str, requests: int) -> Change:
    return Change(NAME, key, resources.part(asking.part(rule(key, requests))))


async def taken(fleet: Fleet) -> None:
    await eventually(lambda: not fleet.acceptance.is_pending(NAME))


async def test_the_process_counts_follows_edits_and_refuses(tmp_path: Path) -> None:
    async with running(tmp_path) as (fleet, socket), asking.embedded(f"unix:{socket}") as ask:
        fleet.publish([limited("a", 2)])
        await taken(fleet)
        assert [await ask("test", a="a") for _ in range(3)] == [True, True, False]
        bad = Change(NAME, "bad", resources.part(asking.part(rule("bad", 1, 0))))
        fleet.publish([bad, limited("b", 1)])
        await eventually(lambda: fleet.quarantine.refusal(NAME, "bad"))
        await taken(fleet)
        assert [await ask("test", b="b") for _ in range(2)] == [True, False]
        assert not await ask("test", a="a")


def _processes(words: str) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if words in path.read_bytes().replace(b"\0", b" ").decode(errors="replace"):
                yield int(path.parent.name)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_process_that_ends_is_started_again(tmp_path: Path, number: int) -> None:
    async with running(tmp_path) as (fleet, socket):
        fleet.publish([limited("a", 1)])
        await taken(fleet)
        sent = fleet.counts["sent", RATE_LIMITS]
        (pid,) = _processes(f"-m contour.ratelimits unix:{tmp_path}")
        os.kill(pid, number)
        await eventually(lambda: fleet.counts["sent", RATE_LIMITS] > sent)
        await taken(fleet)
        async with asking.embedded(f"unix:{socket}") as ask:
            assert [await ask("test", a="a") for _ in range(2)] == [True, False]
    assert not list(_processes(f"-m contour.ratelimits unix:{tmp_path}"))


async def test_who_keeps_a_process_that_cannot_be_started_ends(tmp_path: Path) -> None:
    child = Child("unix:xds", f"unix:{tmp_path}/asked", tmp_path / "missing" / "log")
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(FileNotFoundError):
            await Keeper(lambda: child).run()


async def test_a_process_that_does_not_end_is_killed(tmp_path: Path) -> None:
    """Otherwise a leader would never end its term, and not free its Lease."""
    child = Child(f"unix:{tmp_path}/xds", f"unix:{tmp_path}/asked")
    keeping = asyncio.ensure_future(Keeper(lambda: child).run())
    named = f"-m contour.ratelimits unix:{tmp_path}"
    await eventually((tmp_path / "asked").exists)
    (pid,) = _processes(named)
    os.kill(pid, signal.SIGSTOP)
    keeping.cancel()
    await asyncio.wait((keeping,), timeout=PATIENCE)
    still_there = [*_processes(named)]
    for it in still_there:
        os.kill(it, signal.SIGKILL)
    assert not still_there


async def test_services_share_the_counters_of_a_redis(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ratelimit.require()
    with ratelimit.redis(tmp_path) as redis:
        folders = [tmp_path_factory.mktemp("service") for _ in range(2)]
        url = f"redis://{redis.address}"
        async with running(folders[0], url) as one, running(folders[1], url) as other:
            for fleet, _ in (one, other):
                fleet.publish([limited("a", 3)])
                await taken(fleet)
            async with (
                asking.embedded(f"unix:{one[1]}") as first,
                asking.embedded(f"unix:{other[1]}") as second,
            ):
                found = [await ask("test", a="a") for ask in (first, second, first, second)]
                assert found == [True, True, True, False]
                redis.process.kill()
                with pytest.raises(Exception, match="Redis does not count"):
                    await first("test", a="a")


async def test_over_tls_only_envoys_may_ask(tmp_path: Path) -> None:
    authority = certificates.authority()
    service = certificates.issued(authority, "service", identities.RATE_LIMIT_SERVICE)
    plane = certificates.issued(authority, identities.CONTROL_PLANE)
    files = credentials.Files(*(tmp_path / it for it in ("plane.crt", "plane.key", "ca.crt")))
    for path, content in (
        (files.certificate, plane.pem),
        (files.key, plane.key_pem),
        (files.authority, authority.pem),
    ):
        path.write_bytes(content)
    port, asked = free_ports(2)
    server = Server((f"127.0.0.1:{port}",), tls=files)
    fleet = server.fleet("ratelimit")
    fleet.uri, fleet.counted = identities.RATE_LIMIT_SERVICE, RATE_LIMITS
    head = Change(NAME, "", resources.part(asking.head("limits", "test")))
    fleet.publish([head, limited("a", 1)])
    await server.start()
    given = Settings(
        certificate=service.pem.decode(),
        key=service.key_pem.decode(),
        authority=authority.pem.decode(),
    )
    child = Child(f"127.0.0.1:{port}", f"127.0.0.1:{asked}", tmp_path / "log", given)
    task = asyncio.ensure_future(child.run())
    try:
        await eventually(lambda: fleet.counts["sent", RATE_LIMITS])
        await taken(fleet)

        def client(*names: str) -> AbstractAsyncContextManager[asking.Ask]:
            shown = certificates.issued(authority, *names)
            context = ssl.create_default_context(cadata=authority.pem.decode())
            return asking.embedded(f"127.0.0.1:{asked}", certificates.show(context, shown))

        async with client(identities.RATE_LIMIT_CLIENT) as ask:
            assert [await ask("test", a="a") for _ in range(2)] == [True, False]
        async with client("envoy.projectcontour") as ask:
            with pytest.raises(
                asking.RefusedError, match="7: only contour-rate-limit-client may ask"
            ):
                await ask("test", a="a")
        nameless = ssl.create_default_context(cadata=authority.pem.decode())
        with pytest.raises((ssl.SSLError, ConnectionError, EOFError)):
            async with asking.embedded(f"127.0.0.1:{asked}", nameless) as ask:
                await ask("test", a="a")
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await server.stop()


async def test_what_is_asked_at_the_same_time_shares_round_trips_to_redis(tmp_path: Path) -> None:
    ratelimit.require()
    with ratelimit.redis(tmp_path) as redis:
        counters, hits = Redis(f"redis://{redis.address}"), [Hit(b"a", 3600, 1), Hit(b"b", 60, 2)]
        found: list[tuple[int, ...]] = []
        for _ in range(10):
            counted = await asyncio.gather(*(counters.add(hits, 7) for _ in range(32)))
            found += map(tuple, counted)
        assert sorted(found) == [(it + 1, 2 * it + 2) for it in range(320)]
        told = redis.ask("INFO", "commandstats").decode()
        assert "cmdstat_incrby:calls=640," in told
        (expired,) = re.findall(r"cmdstat_expire:calls=(\d+),", told)
        assert int(expired) < 640, "once for each window of a round trip"
        redis.process.kill()
        for _ in range(2):
            with pytest.raises(OSError, match="Redis does not count"):
                await counters.add(hits, 7)
        await counters.close()


async def test_hits_are_counted_although_redis_has_closed_the_connection(tmp_path: Path) -> None:
    ratelimit.require()
    with ratelimit.redis(tmp_path) as redis:
        counters, hits = Redis(f"redis://{redis.address}"), [Hit(b"a", 3600, 1)]
        assert await counters.add(hits, 7) == (1,)
        redis.ask("CLIENT", "KILL", "TYPE", "normal")
        assert await counters.add(hits, 7) == (2,)
        await counters.close()


async def test_what_redis_refuses_of_one_counter_concerns_nobody_else(tmp_path: Path) -> None:
    ratelimit.require()
    with ratelimit.redis(tmp_path) as redis:
        counters = Redis(f"redis://{redis.address}")
        redis.ask("SET", f"contour/0/{b'odd'.hex()}", "text")
        hits = [[Hit(b"a", 60, 1), Hit(b"b", 60, 1)], [Hit(b"odd", 60, 1)], [Hit(b"a", 60, 1)]]
        await counters.add([Hit(b"first", 60, 1)], 7)
        found = await asyncio.gather(*(counters.add(it, 7) for it in hits), return_exceptions=True)
        one, odd, other = found
        assert sorted(map(str, (one, other))) == ["(1, 1)", "(2,)"]
        assert isinstance(odd, OSError)
        assert "not an integer" in str(odd)
        await counters.close()


async def test_who_is_a_replica_now_is_left_for_the_primary(tmp_path: Path) -> None:
    ratelimit.require()
    with ratelimit.redis(tmp_path) as old, ratelimit.redis(tmp_path) as new:
        at = [old.port]

        async def led(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            """A connection leads where the name leads when it is opened."""
            answers, asked = await asyncio.open_connection("127.0.0.1", at[0])
            await asyncio.gather(_passed(reader, asked), _passed(answers, writer))

        async with webservers.streams(led) as port:
            counters, hits = Redis(f"redis://127.0.0.1:{port}"), [Hit(b"a", 3600, 1)]
            assert await counters.add(hits, 7) == (1,)
            old.ask("REPLICAOF", "127.0.0.1", str(new.port))
            at[0] = new.port
            with pytest.raises(OSError, match="read only replica"):
                await counters.add(hits, 7)
            assert await counters.add(hits, 7) == (1,)
            await counters.close()


async def _passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
    writer.close()


async def test_the_log_of_the_process_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contour.ratelimits.child._LOGS_EVERY", 0.01)
    log = tmp_path / "log"
    async with running(tmp_path):
        os.truncate(log, 17 << 20)
        await eventually(lambda: log.stat().st_size < 1 << 20)
    assert log.with_name("log.1").stat().st_size == 8 << 20


async def test_the_kernel_looks_after_connections_of_envoys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An Envoy that vanishes with its node ends none of them."""
    main, (port,) = importlib.import_module("contour.ratelimits.__main__"), free_ports(1)
    made: list[asyncio.BaseTransport] = []

    class Noted(Connection):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            made.append(transport)
            super().connection_made(transport)

    monkeypatch.setattr(main, "Connection", Noted)
    server = await main._listening(Service(Memory()), f"127.0.0.1:{port}", Settings())
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    await eventually(lambda: made)
    accepted = made[0].get_extra_info("socket")
    assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    writer.close()
    server.close()

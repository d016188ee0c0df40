"""When key sets are fetched, what stays while that fails, and what a restart finds."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from contour.keysets import keeper, slots
from contour.keysets.fetching import FetchError, Request
from contour.keysets.store import Store
from dag import nodes
from dag.references.keysets import KeySet, Source, Wanted
from tests.testbed import tokens

ONE, TWO = (nodes.RemoteJwks(f"https://{it}.example.com/", refresh=1.0) for it in ("one", "two"))
HOW = Wanted(None, loopback=False)
KEYS = tokens.jwks()


class Kept:
    """A store that others write to, too."""

    def __init__(self) -> None:
        self.keys: dict[Source, str] = {}
        self.written: list[str] = []

    def read(self, source: Source) -> str:
        return self.keys.get(source, "")

    def write(self, source: Source, keys: str) -> None:
        self.keys[source] = keys
        self.written.append(keys)

    def remove(self, source: Source) -> None:
        self.keys.pop(source, None)


class Rig:
    """A keeper, the servers that it asks, and what it has told."""

    def __init__(self, store: keeper.Store | None = None) -> None:
        self.rows: dict[Source, KeySet | None] = {}
        self.answers: dict[Source, str | None] = {ONE: KEYS, TWO: KEYS}
        self.asked: Counter[Source] = Counter()
        self.settled = 0
        self.keeper = keeper.Keeper(self.rows.__setitem__, self._settle, store, self._fetch)

    def _settle(self) -> None:
        self.settled += 1

    async def _fetch(self, request: Request) -> str:
        self.asked[request.source] += 1
        await asyncio.sleep(0)
        found = self.answers[request.source]
        if found is None:
            await asyncio.sleep(3600)
        if not found:
            raise FetchError("answers 500")
        return found

    async def until(self, source: Source, row: KeySet | None) -> None:
        async with asyncio.timeout(30):
            while self.rows.get(source) != row:
                await asyncio.sleep(0.01)

    async def until_asked(self, source: Source, times: int) -> None:
        """So many times more."""
        async with asyncio.timeout(30):
            wanted = self.asked[source] + times
            while self.asked[source] < wanted:
                await asyncio.sleep(0.01)

    async def ask(self, sources: Sequence[Source], answer: str | None) -> None:
        """For new key sets, of servers that answer so."""
        self.answers |= dict.fromkeys(sources, answer)
        for it in sources:
            self.keeper.note(it, HOW)
        await asyncio.sleep(0.1)

    @asynccontextmanager
    async def started(self) -> AsyncGenerator[None]:
        await self.keeper.first(5.0)
        async with self.running():
            yield

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self.keeper.run())
            yield
            task.cancel()


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second is a hundredth of one."""

    def pause(_: Source, __: int) -> float:
        return 0.01

    monkeypatch.setattr(keeper, "_pause", pause)


async def test_what_is_wanted_is_fetched_and_fetched_again() -> None:
    rig = Rig()
    assert rig.keeper.note(ONE, HOW) is False
    await rig.keeper.first(5.0)
    assert rig.rows == {ONE: KeySet(KEYS)}
    async with rig.running():
        newer = KEYS.replace("one", "newer")
        rig.answers[ONE] = newer
        await rig.until(ONE, KeySet(newer))
        rig.keeper.note(TWO, HOW)
        await rig.until(TWO, KeySet(KEYS))
    assert rig.settled


async def test_while_a_server_fails_the_last_good_keys_stay_and_that_is_told() -> None:
    rig = Rig()
    rig.keeper.note(ONE, HOW)
    await rig.keeper.first(5.0)
    async with rig.running():
        rig.answers[ONE] = ""
        await rig.until(ONE, KeySet(KEYS, "answers 500"))
        before = rig.settled
        asked = rig.asked[ONE]
        while rig.asked[ONE] < asked + 5:
            await asyncio.sleep(0.01)
        assert rig.settled == before, "the same fault is told once"
        rig.answers[ONE] = KEYS
        await rig.until(ONE, KeySet(KEYS))


async def test_a_silent_server_delays_neither_the_start_nor_others() -> None:
    rig = Rig()
    rig.answers[ONE] = None
    rig.keeper.note(ONE, HOW)
    rig.keeper.note(TWO, HOW)
    await rig.keeper.first(0.2)
    assert rig.rows == {TWO: KeySet(KEYS)}


MANY = 3 * slots.AT_ONCE
ONE_ORIGIN = [nodes.RemoteJwks(f"http://silent.example.com/{it}") for it in range(MANY)]
MANY_ORIGINS = [nodes.RemoteJwks(f"http://silent.example.com:{it + 1}/") for it in range(MANY)]


@pytest.mark.parametrize("origin", ["http://x.com/", "http://x.com:80/", "HTTP://X.com/a?b"])
async def test_an_origin_is_asked_for_few_key_sets_at_a_time(origin: str) -> None:
    rig = Rig()
    silent = [nodes.RemoteJwks(f"{origin}#{it}") for it in range(MANY)]
    silent.append(nodes.RemoteJwks("http://x.com/else"))
    async with rig.started():
        await rig.ask(silent, None)
    assert sum(rig.asked[it] for it in silent) == slots.AT_ONCE_OF_ORIGIN


async def test_silent_servers_of_one_origin_delay_no_new_key_set() -> None:
    rig = Rig()
    async with rig.started():
        await rig.ask(ONE_ORIGIN, None)
        rig.keeper.note(TWO, HOW)
        await rig.until(TWO, KeySet(KEYS))


async def test_silent_servers_delay_the_renewal_of_no_other_key_set() -> None:
    rig = Rig()
    rig.keeper.note(ONE, HOW)
    async with rig.started():
        await rig.ask(MANY_ORIGINS, None)
        assert sum(rig.asked[it] for it in MANY_ORIGINS) == slots.AT_ONCE
        await rig.until_asked(ONE, 5)


async def test_servers_that_failed_last_time_delay_no_new_key_set() -> None:
    rig = Rig()
    async with rig.started():
        await rig.ask(MANY_ORIGINS, "")
        for it in MANY_ORIGINS:
            await rig.until(it, KeySet(fault="answers 500"))
        rig.answers |= dict.fromkeys(MANY_ORIGINS)
        await asyncio.sleep(0.1)
        rig.keeper.note(ONE, HOW)
        await rig.until_asked(ONE, 5)


async def test_what_is_not_wanted_any_more_is_forgotten() -> None:
    rig = Rig()
    rig.keeper.note(ONE, HOW)
    await rig.keeper.first(5.0)
    assert rig.keeper.note(ONE, None) is True
    assert rig.rows == {ONE: None}
    asked = rig.asked[ONE]
    async with rig.running():
        await asyncio.sleep(0.1)
    assert rig.asked[ONE] == asked


async def test_what_is_given_up_while_it_waits_for_its_turn_is_no_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig()
    busy = [nodes.RemoteJwks(f"https://one.example.com/{it}") for it in range(4)]
    await rig.ask([*busy, ONE], KEYS)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(rig.keeper.first(5.0))
        while len(rig.asked) < len(busy):
            await asyncio.sleep(0)
        rig.keeper.note(ONE, None)
    assert set(rig.asked) == set(rig.rows) == set(busy)
    assert not caplog.records


async def test_an_answer_of_a_server_that_others_certified_is_not_taken() -> None:
    rig = Rig()
    rig.keeper.note(ONE, HOW)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(rig.keeper.first(5.0))
        while not rig.asked:
            await asyncio.sleep(0)
        rig.keeper.note(ONE, Wanted(b"others", loopback=False))
    assert not rig.rows
    async with rig.running():
        await rig.until(ONE, KeySet(KEYS))
    assert rig.asked[ONE] >= 2


async def test_a_restart_needs_no_server(tmp_path: Path) -> None:
    first = Rig(Store(tmp_path / "keysets"))
    first.keeper.note(ONE, HOW)
    await first.keeper.first(5.0)
    second = Rig(Store(tmp_path / "keysets"))
    second.answers[ONE] = None
    assert second.keeper.note(ONE, HOW) is True
    row = second.rows[ONE]
    assert row is not None
    assert "RS256" in row.keys
    assert second.keeper.note(ONE, None) is True
    assert Rig(Store(tmp_path / "keysets")).keeper.note(ONE, HOW) is False


async def test_a_file_that_is_broken_is_no_key_set(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(ONE, KEYS)
    for file in tmp_path.iterdir():
        file.write_bytes(b"\xff")
    assert store.read(ONE) == ""


async def test_an_error_of_ours_ends_nothing() -> None:
    rig = Rig()
    rig.answers.pop(ONE)
    rig.keeper.note(ONE, HOW)
    await rig.keeper.first(5.0)
    row = rig.rows[ONE]
    assert row is not None
    assert "because of an error" in row.fault
    async with rig.running():
        rig.answers[ONE] = KEYS
        await rig.until(ONE, KeySet(KEYS))


async def test_what_another_replica_stores_is_taken_and_not_written_again() -> None:
    kept = Kept()
    rig = Rig(kept)
    rig.keeper.note(ONE, HOW)
    await rig.keeper.first(5.0)
    newer = KEYS.replace("one", "newer")
    kept.keys[ONE] = newer
    rig.keeper.reread(ONE)
    assert rig.rows == {ONE: KeySet(newer)}
    kept.keys[TWO] = newer
    rig.keeper.reread(TWO)
    assert rig.rows == {ONE: KeySet(newer)}, "nobody wants the other"
    assert kept.written == [KEYS]


async def test_what_is_lost_is_stored_again_and_what_is_there_is_not() -> None:
    kept = Kept()
    rig = Rig(kept)
    rig.keeper.note(ONE, HOW)
    async with rig.running():
        await rig.keeper.first(5.0)
        while rig.asked[ONE] < 5:
            await asyncio.sleep(0.01)
        assert kept.written == [KEYS]
        kept.keys.clear()
        while kept.keys != {ONE: KEYS}:
            await asyncio.sleep(0.01)


async def test_who_follows_another_replica_asks_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await wait(0)

    wait = asyncio.sleep
    rig = Rig(Kept())
    rig.keeper.follows = lambda: True
    rig.answers[TWO] = ""
    rig.keeper.note(ONE, HOW)
    rig.keeper.note(TWO, HOW)
    await rig.keeper.first(5.0)
    monkeypatch.setattr(keeper, "asyncio", _With(sleep))
    async with rig.running():
        while len(pauses) < 4:
            await wait(0.01)
    assert {round(it, 3) for it in pauses} == {0.01, 0.01 * keeper.FOLLOWING}


class _With:
    """The module `asyncio` with another `sleep`."""

    def __init__(self, sleep: object) -> None:
        self.sleep = sleep

    def __getattr__(self, name: str) -> object:
        return getattr(asyncio, name)

"""When the resolver of this machine is asked, and what becomes of its answers."""

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from contour import hostdns as resolving
from contour.hostdns import Resolver
from crds.meta import NamespacedName
from dag import hostdns
from dag.engine.incremental import Engine
from dag.engine.view import Change, Plan
from tests.testbed import virtualtime

CART, SHOP = NamespacedName("default", "cart"), NamespacedName("team", "shop")
PATIENCE = 60


class Rig:
    """A resolver of ours, and what the machine's says; None: nothing, for ever."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[str, ...] | None] = {}
        self.asked: Counter[str] = Counter()
        self.settled = 0
        self.engine = Engine(Plan())
        self.resolver = Resolver(self.engine, self._settle, self._lookup)

    def note(self, service: NamespacedName, is_wanted: bool | None) -> bool:
        change = Change(hostdns.wanted, service, None if is_wanted else True, is_wanted)
        return self.resolver.note(change)

    def rows(self, service: NamespacedName) -> tuple[tuple[str, ...], str]:
        row = self.engine.row
        return row(hostdns.ADDRESSES, service) or (), row(hostdns.FAULTS, service) or ""

    def _settle(self) -> None:
        self.settled += 1

    async def _lookup(self, name: str) -> tuple[str, ...]:
        self.asked[name] += 1
        await asyncio.sleep(0)
        found = self.answers.get(name, ())
        if found is None:
            await asyncio.Event().wait()
        if not found:
            raise socket.gaierror(-2, "Name or service not known")
        return found


@asynccontextmanager
async def running(rig: Rig) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(rig.resolver.run())
        yield
        task.cancel()


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():
            await asyncio.sleep(0.005)


async def test_the_first_name_that_resolves_counts_and_a_fault_names_all() -> None:
    rig = Rig()
    rig.answers = {"cart": ("10.0.0.7",)}
    for service in (CART, SHOP):
        assert rig.note(service, True) is False
    await rig.resolver.first(PATIENCE)
    assert rig.rows(CART) == (("10.0.0.7",), "")
    fault = "shop.team.svc cannot be resolved here: Name or service not known"
    assert rig.rows(SHOP) == ((), fault)
    assert rig.asked == {"cart.default.svc": 1, "cart": 1, "shop.team.svc": 1}


async def test_a_name_that_was_asked_for_at_the_start_is_not_asked_for_at_once_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resolving, "REFRESH", 3600)
    rig = Rig()
    rig.answers = {"cart.default.svc": ("10.0.0.7",), "shop.team.svc": ("10.0.0.8",)}
    rig.note(CART, True)
    await rig.resolver.first(PATIENCE)
    async with running(rig):
        rig.note(SHOP, True)
        await until(lambda: rig.rows(SHOP) == (("10.0.0.8",), ""))
        assert rig.asked == {"cart.default.svc": 1, "shop.team.svc": 1}


async def test_addresses_are_kept_fresh_and_outlive_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resolving, "REFRESH", 0.01)
    rig = Rig()
    rig.answers = {"shop.team.svc": ("10.0.0.7",)}
    rig.note(SHOP, True)
    async with running(rig):
        await until(lambda: rig.rows(SHOP) == (("10.0.0.7",), ""))
        rig.answers = {"shop.team.svc": ("10.0.0.8", "10.0.0.9")}
        await until(lambda: rig.rows(SHOP) == (("10.0.0.8", "10.0.0.9"), ""))
        rig.answers = {}
        await until(lambda: rig.rows(SHOP)[1])
        assert rig.rows(SHOP)[0] == ("10.0.0.8", "10.0.0.9")
        settled, asked = rig.settled, rig.asked["shop.team.svc"]
        await until(lambda: rig.asked["shop.team.svc"] > asked + 3)
        assert rig.settled == settled == 3  # equal answers concern nobody
        rig.answers = {"shop.team.svc": ("10.0.0.7",)}
        await until(lambda: rig.rows(SHOP) == (("10.0.0.7",), ""))


async def test_what_nobody_needs_is_forgotten() -> None:
    rig = Rig()
    rig.answers = {"cart": ("10.0.0.7",)}
    rig.note(CART, True)
    await rig.resolver.first(PATIENCE)
    assert rig.note(CART, None) is True
    assert rig.rows(CART) == ((), "")
    assert rig.note(CART, None) is False


async def test_a_silent_resolver_neither_holds_up_the_start_nor_other_names() -> None:
    rig = Rig()
    rig.answers = {"shop.team.svc": None, "cart.default.svc": ("10.0.0.7",)}
    rig.note(SHOP, True)
    rig.note(CART, True)
    await rig.resolver.first(0.2)
    assert rig.rows(SHOP) == ((), "")
    async with running(rig):
        await until(lambda: rig.rows(CART) == (("10.0.0.7",), ""))


@pytest.mark.parametrize(
    ("name", "found"),
    [("localhost", ("127.0.0.1",)), ("::1", ("::1",)), ("10.1.2.3", ("10.1.2.3",))],
)
async def test_what_the_machine_says(name: str, found: tuple[str, ...]) -> None:
    assert await resolving.looked_up(name) == found


@pytest.mark.parametrize("name", ["a..b", "x" * 300, "no name.invalid"])
async def test_what_is_no_name_of_a_host_is_an_error(name: str) -> None:
    with pytest.raises(OSError, match=r"."):
        await resolving.looked_up(name)


def test_attempts_become_rarer_while_a_name_does_not_resolve() -> None:
    rig = Rig()

    async def ten_minutes() -> None:
        rig.note(SHOP, True)
        async with running(rig):
            await asyncio.sleep(600)

    virtualtime.run(ten_minutes())
    assert 20 < rig.asked["shop.team.svc"] < 60

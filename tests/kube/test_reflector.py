"""Whatever an API server does, what is told equals what is there (reliability: F01-F13)."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from kube.client import Raw
from tests.cluster.double import refusals
from tests.cluster.double.faults import Request, Rule
from tests.cluster.double.server import Double
from tests.cluster.double.store import Change
from tests.cluster.double.watches import line
from tests.kube.followed import FAST, following, service


@pytest.fixture
async def double() -> AsyncIterator[Double]:
    async with Double() as started:
        for name in ("a", "b"):
            started.put(service(name))
        yield started


async def test_what_is_there_is_told_and_then_what_becomes_of_it(double: Double) -> None:
    async with following(double) as followed:
        assert followed.names == {"a", "b"}
        double.put(service("c"))
        double.remove(service("a"))
        await followed.until(lambda: followed.names == {"b", "c"})
        assert followed.state == "current"


async def test_a_long_list_comes_in_pages(double: Double) -> None:
    for number in range(20):
        double.put(service(f"s{number}"))
    async with following(double, timings=FAST._replace(page=5)) as followed:
        assert len(followed.objects) == 22
        assert double.count("list", "services") == 5


async def test_events_of_watches_are_counted_and_lists_are_not(double: Double) -> None:
    for number in range(20):
        double.put(service(f"s{number}"))
    async with following(double) as followed:
        await double.watching("services")
        state = followed.reflector.state
        before = state.events
        assert before < len(followed.objects) == state.objects
        double.put(service("c"))
        await followed.until(lambda: "c" in followed.names)
        assert state.events > before
        assert state.bytes


async def test_one_namespace_is_followed_alone(double: Double) -> None:
    double.add_namespace("other")
    double.put(service("a", namespace="other"))
    async with following(double, namespace="other") as followed:
        double.put(service("c"))
        double.put(service("d", namespace="other"))
        await followed.until(lambda: followed.names == {"a", "d"})


# F01


async def test_changes_during_a_restart_are_told_once(double: Double) -> None:
    async with following(double) as followed:
        await double.watching("services")
        await double.stop()
        double.put(service("c"))
        double.put(service("c", port=81))
        double.remove(service("a"))
        before = len(followed.news)
        await double.start()
        await followed.until(lambda: followed.names == {"b", "c"})
        assert len(followed.news) - before == 3  # as the watch tells it: no list was made
        assert followed.reflector.state.lists == 1


# F02


async def test_an_older_history_is_taken_as_it_is(double: Double) -> None:
    backup = double.store.snapshot()
    async with following(double) as followed:
        for name in ("c", "d", "e"):
            double.put(service(name))
        double.remove(service("a"))
        await followed.until(lambda: followed.names == {"b", "c", "d", "e"})
        await double.stop()
        double.store = backup
        await double.start()
        await followed.until(lambda: followed.names == {"a", "b"})
        double.put(service("f"))
        await followed.until(lambda: followed.names == {"a", "b", "f"})


async def test_an_older_history_is_told_even_where_its_versions_are_the_same(
    double: Double,
) -> None:
    backup = double.store.snapshot()
    async with following(double) as followed:
        double.put(service("c", port=1))
        double.put(service("d"))
        await followed.until(lambda: followed.names == {"a", "b", "c", "d"})
        await double.stop()
        double.store = backup
        double.put(service("c", port=2))  # has the version that the first one had
        await double.start()
        await followed.until(lambda: followed.names == {"a", "b", "c"})
        assert followed.objects["default", "c"]["spec"]["ports"] == [{"port": 2}]


async def test_an_older_history_is_listed_without_another_pause(double: Double) -> None:
    backup = double.store.snapshot()
    rare = FAST._replace(first_pause=3600.0, longest_pause=3600.0, calm=0.0)
    async with following(double, timings=rare) as followed:
        (watch,) = await double.watching("services")
        double.put(service("c"))
        await followed.until(lambda: followed.names == {"a", "b", "c"})
        double.store = backup
        watch.end()
        await followed.until(lambda: followed.names == {"a", "b"})


async def test_a_bookmark_of_the_past_makes_a_new_list(double: Double) -> None:
    async with following(double) as followed:
        (watch,) = await double.watching("services")
        past = {"metadata": {"resourceVersion": "1"}}
        await watch.send(line("BOOKMARK", past))
        await double.asked("list", "services", 2)
        double.put(service("c"))
        await followed.until(lambda: followed.names == {"a", "b", "c"})


# F03, F04


@pytest.mark.parametrize("how", ["on reconnecting", "within the watch"])
async def test_an_expired_version_makes_a_new_list_and_what_vanished_is_gone(
    double: Double, how: str
) -> None:
    async with following(double) as followed:
        (watch,) = await double.watching("services")
        watch.stall()
        double.put(service("c"))
        double.remove(service("a"))
        double.store.compact()
        if how == "within the watch":
            await watch.error(refusals.expired("too old resource version").status)
        watch.abort()
        await followed.until(lambda: followed.names == {"b", "c"})
        assert followed.reflector.state.lists == 2


NONSENSE = {
    "garbage": b"\x00\xffgarbage\n",
    "half a line": b'{"type":"ADDED","object":{"meta',
    "no event": b'{"type":"ADDED"}\n',
    "an unknown type": b'{"type":"MOVED","object":{}}\n',
    "a list": b"[]\n",
    "an error": line("ERROR", refusals.status(500, "etcdserver: leader changed")),
    "an error of no kind": line("ERROR", {}),
}


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE)
async def test_nonsense_in_a_watch_ends_it_and_nothing_is_lost(
    double: Double, nonsense: bytes
) -> None:
    async with following(double) as followed:
        (watch,) = await double.watching("services")
        watch.stall()
        double.put(service("c"))
        double.remove(service("a"))
        await watch.send(nonsense)
        watch.abort()
        await followed.until(lambda: followed.names == {"b", "c"})
        assert followed.reflector.state.lists == 1


async def test_a_server_that_goes_on_with_nonsense_is_listed(double: Double) -> None:
    double.script.add(Rule("watch", "services", body=b"garbage\n"))
    async with following(double) as followed:
        double.put(service("c"))
        await followed.until(lambda: followed.names == {"a", "b", "c"})
        assert followed.state == "failing"


async def test_an_object_without_a_name_is_passed_over(double: Double) -> None:
    async with following(double) as followed:
        (watch,) = await double.watching("services")
        nameless: list[Raw] = [{}, {"metadata": []}, {"metadata": {"name": 7}}]
        for found in nameless:
            await watch.send(line("ADDED", found))
        double.put(service("c"))
        await followed.until(lambda: followed.names == {"a", "b", "c"})
        assert followed.reflector.state.failures == 0


# F05, F06


async def test_a_watch_that_stalls_is_noticed_though_its_connection_lives(double: Double) -> None:
    async with following(double, timings=FAST._replace(idle=0.1)) as followed:
        (watch,) = await double.watching("services")
        watch.stall()
        double.put(service("c"))
        await followed.until(lambda: "c" in followed.names)
        assert followed.reflector.state.lists == 1


async def test_a_server_that_accepts_and_never_answers_is_noticed(double: Double) -> None:
    async with following(double, timings=FAST._replace(idle=0.1)) as followed:
        (watch,) = await double.watching("services")
        never = asyncio.Event()
        silent = double.script.add(Rule("watch", "services", hold=never))
        watch.abort()
        await double.asked("watch", "services", 3)
        double.script.remove(silent)
        double.put(service("c"))
        await followed.until(lambda: "c" in followed.names)
        never.set()


# F07


def reordered(changes: list[Change]) -> list[Change]:
    return changes[::-1]


def duplicated(changes: list[Change]) -> list[Change]:
    return [*changes, *changes, changes[0]]


@pytest.mark.parametrize("tampering", [reordered, duplicated])
async def test_events_twice_or_out_of_order_change_nothing(
    double: Double, tampering: Callable[[list[Change]], list[Change]]
) -> None:
    async with following(double) as followed:
        double.script.tampering["services"] = tampering
        (watch,) = await double.watching("services")
        watch.stall()
        double.put(service("c"))
        double.put(service("c", port=81))
        double.remove(service("a"))
        double.put(service("d"))
        double.remove(service("d"))
        double.remove(service("b"))
        double.put(service("b", port=82))
        watch.resume()
        double.put(service("e"))
        await followed.until(lambda: followed.names == {"b", "c", "e"})
        ports = {name: it["spec"]["ports"][0]["port"] for (_, name), it in followed.objects.items()}
        assert ports == {"b": 82, "c": 81, "e": 80}


async def test_an_event_that_was_never_told_is_found_by_the_next_list(double: Double) -> None:
    double.script.tampering["services"] = lambda _: []
    async with following(double, timings=FAST._replace(audit=0.0, calm=0.0)) as followed:
        (watch,) = await double.watching("services")
        double.put(service("c"))
        double.remove(service("a"))
        await watch.bookmark()
        watch.abort()
        await followed.until(lambda: followed.names == {"b", "c"})


# F08


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_server_in_trouble_is_given_time(double: Double, status: int) -> None:
    timings = FAST._replace(first_pause=0.02, longest_pause=0.1)
    async with following(double, timings=timings) as followed:
        (watch,) = await double.watching("services")
        before = double.count("list", "services") + double.count("watch", "services")
        storm = double.script.add(Rule(resource="services", status=status))
        began = asyncio.get_running_loop().time()
        watch.end()  # in good order: the first trouble is that of the server
        await followed.until(lambda: bool(followed.troubles))
        lasted = asyncio.get_running_loop().time() - began
        asked = double.count("list", "services") + double.count("watch", "services") - before
        assert asked <= 5 + lasted / 0.05  # the pauses are between half and half as long again
        double.script.remove(storm)
        double.put(service("c"))
        await followed.until(lambda: "c" in followed.names)
        assert f"{status}" in followed.troubles[0]
        assert followed.troubles[-1] == ""


async def test_who_is_told_when_to_come_back_does_not_come_before(double: Double) -> None:
    async with following(double) as followed:
        (watch,) = await double.watching("services")
        rule = Rule("watch", "services", status=503, headers={"Retry-After": "1"}, times=1)
        double.script.add(rule)
        watch.abort()
        double.put(service("c"))
        await followed.until(lambda: "c" in followed.names)
        first, second = [it.time for it in double.requests if it.verb == "watch"][-2:]
        assert second - first >= 1.0


# F09, F10


async def test_a_list_that_takes_its_time_is_waited_for(double: Double) -> None:
    slow = asyncio.Event()
    double.script.add(Rule("list", "services", hold=slow))
    following_soon = following(double)
    entered = asyncio.ensure_future(following_soon.__aenter__())
    await double.asked("list", "services")
    assert not entered.done()
    slow.set()
    assert (await entered).names == {"a", "b"}
    await following_soon.__aexit__(None, None, None)


@pytest.mark.parametrize("times", [1, 2])
async def test_a_page_that_expires_starts_the_list_again(double: Double, times: int) -> None:
    for number in range(9):
        double.put(service(f"s{number}"))

    def is_late(request: Request) -> bool:
        return "continue" in request.query

    expired = Rule("list", "services", is_late, status=410, times=times)
    double.script.add(expired)
    async with following(double, timings=FAST._replace(page=4)) as followed:
        assert len(followed.objects) == 11
        assert expired.met == times


# F51


async def test_an_object_of_the_largest_size_comes_through(double: Double) -> None:
    async with following(double) as followed:
        await double.watching("services")
        large = service("c")
        large["metadata"]["annotations"] = {"large": "x" * 1_500_000}
        double.put(large)
        double.put(service("d"))
        await followed.until(lambda: followed.names == {"a", "b", "c", "d"})
        assert followed.reflector.state.failures == 0

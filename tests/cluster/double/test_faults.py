"""Each fault of the script does what it says, and nothing after `heal`."""

import asyncio
import json
from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.cluster.api import Api
from tests.cluster.double import faults, refusals
from tests.cluster.double.faults import Rule
from tests.cluster.double.server import Double


@pytest.fixture
async def double() -> AsyncIterator[Double]:
    async with Double() as it:
        yield it


@pytest.fixture
async def api(double: Double) -> AsyncIterator[Api]:
    async with Api(double.url) as it:
        yield it


async def test_a_rule_holds_for_as_many_requests_as_it_says(double: Double, api: Api) -> None:
    rule = Rule("list", "things", status=429, headers={"Retry-After": "1"}, times=2)
    double.script.add(rule)
    codes = [(await api.request("GET", api.things)).code for _ in range(3)]
    assert codes == [429, 429, 200]
    assert rule.met == 2
    assert (await api.make("a")).code == 201


async def test_a_rule_may_look_at_the_request(double: Double, api: Api) -> None:
    double.script.add(Rule("list", status=410, when=lambda it: "continue" in it.query))
    await api.make("a")
    await api.make("b")
    first = await api.request("GET", api.things, limit="1")
    page = await api.request(
        "GET", api.things, limit="1", **{"continue": first.metadata["continue"]}
    )
    assert (first.code, page.code, page.reason) == (200, 410, "Expired")


async def test_a_kind_may_be_forbidden_and_allowed_again(double: Double, api: Api) -> None:
    rule = double.script.forbid("things")
    assert (await api.request("GET", api.things)).reason == "Forbidden"
    assert (await api.request("GET", api.built_in("secrets"))).code == 200
    double.script.remove(rule)
    assert (await api.request("GET", api.things)).code == 200


async def test_an_answer_may_be_held_back(double: Double, api: Api) -> None:
    rule = double.script.add(Rule("list", "things", hold=asyncio.Event()))
    async with asyncio.TaskGroup() as tasks:
        slow = tasks.create_task(api.request("GET", api.things))
        await double.asked("list", "things", double.count("list", "things") + 1)
        assert (await api.request("GET", api.built_in("secrets"))).code == 200
        assert not slow.done()
        assert rule.hold
        rule.hold.set()
    assert slow.result().code == 200


async def test_a_connection_may_end_without_an_answer(double: Double, api: Api) -> None:
    """More than once, since clients retry by themselves after a failure on a reused connection."""
    rule = double.script.add(Rule("get", drop=True))
    with pytest.raises(aiohttp.ClientError):
        await api.request("GET", f"{api.things}/a")
    assert rule.met > 1
    double.script.heal()
    assert (await api.request("GET", f"{api.things}/a")).code == 404


async def test_only_good_tokens_are_let_in(double: Double) -> None:
    double.tokens = {"new"}
    async with aiohttp.ClientSession(double.url) as session:
        for token, code in (("old", 401), ("new", 200)):
            headers = {"Authorization": f"Bearer {token}"}
            async with session.get("/api/v1/secrets", headers=headers) as response:
                assert response.status == code


async def test_compaction_ends_lists_that_are_under_way_and_tells_how_to_go_on(
    double: Double, api: Api
) -> None:
    for name in "abc":
        await api.make(name)
    first = await api.request("GET", api.things, limit="1")
    await api.request("DELETE", f"{api.things}/b")
    double.store.compact()
    late = await api.request(
        "GET", api.things, limit="1", **{"continue": first.metadata["continue"]}
    )
    assert (late.code, late.reason) == (410, "Expired")
    rest = await api.request("GET", api.things, **{"continue": late.metadata["continue"]})
    assert [it["metadata"]["name"] for it in rest.body["items"]] == ["c"]


async def test_compaction_leaves_open_watches_alone(double: Double, api: Api) -> None:
    async with api.watch(api.things, resourceVersion=await api.version()) as events:
        double.store.compact()
        await api.make("a")
        assert (await events.next())[0] == "ADDED"


async def test_a_watch_may_stall_and_go_on(double: Double, api: Api) -> None:
    async with api.watch(api.things, resourceVersion=await api.version()) as events:
        (watch,) = await double.watching("things")
        watch.stall()
        await api.make("a")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await events.next()
        watch.resume()
        assert (await events.next())[1]["metadata"]["name"] == "a"


@pytest.mark.parametrize(
    "content", [b"garbage\n", b'{"type":"ADDED","object":{"kind"', b"\xff\xfe\n"]
)
async def test_a_watch_may_say_anything_and_be_cut(
    double: Double, api: Api, content: bytes
) -> None:
    async with api.watch(api.things, resourceVersion=await api.version()) as events:
        (watch,) = await double.watching("things")
        await watch.send(content)
        assert await events.response.content.readexactly(len(content)) == content
        watch.abort()
        with pytest.raises(aiohttp.ClientError):
            await events.rest()
    while double.open_watches("things"):
        await double.news()


async def test_a_watch_may_tell_an_error(double: Double, api: Api) -> None:
    async with api.watch(api.things, resourceVersion=await api.version()) as events:
        (watch,) = await double.watching("things")
        await watch.error(refusals.status(500, "etcd leader changed"))
        assert (await events.next())[1]["code"] == 500


async def test_a_watch_may_be_ended_in_order_after_the_last_news(double: Double, api: Api) -> None:
    async with api.watch(api.things, resourceVersion=await api.version()) as events:
        (watch,) = await double.watching("things")
        await api.make("a")
        watch.end()
        assert [event for event, _ in await events.rest()] == ["ADDED"]


async def test_a_bookmark_tells_the_version_of_the_whole(double: Double, api: Api) -> None:
    wish = {"resourceVersion": await api.version(), "allowWatchBookmarks": "true"}
    async with api.watch(api.things, **wish) as events:
        (watch,) = await double.watching("things")
        await api.request("POST", api.built_in("configmaps"), {"metadata": {"name": "a"}})
        await watch.bookmark()
        event, mark = await events.next()
    assert (event, mark["metadata"]) == ("BOOKMARK", {"resourceVersion": str(double.store.version)})


@pytest.mark.parametrize(
    ("tampering", "told"),
    [
        (lambda it: [*it, *it], ["a", "b", "a", "b"]),
        (reversed, ["b", "a"]),
        (lambda it: it[1:], ["b"]),
    ],
    ids=["duplicated", "reordered", "dropped"],
)
async def test_what_is_told_may_be_tampered_with(
    double: Double, api: Api, tampering: faults.Tampering, told: list[str]
) -> None:
    double.script.tampering["things"] = tampering
    version = await api.version()
    await api.make("a")
    await api.make("b")
    async with api.watch(api.things, resourceVersion=version) as events:
        seen = [(await events.next())[1]["metadata"]["name"] for _ in told]
    assert seen == told


async def test_what_it_remembers_survives_a_restart(double: Double, api: Api) -> None:
    await api.make("a")
    async with api.watch(api.things, resourceVersion=await api.version()) as events:
        await double.watching("things")
        await double.stop()
        with pytest.raises(aiohttp.ClientError):
            await events.rest()
    with pytest.raises(aiohttp.ClientError):
        await api.request("GET", api.things)
    await double.start()
    assert (await api.request("GET", f"{api.things}/a")).code == 200


async def test_history_may_go_backwards(double: Double, api: Api) -> None:
    await api.make("a")
    backup, before = double.store.snapshot(), await api.version()
    await api.make("b")
    await double.stop()
    double.store = backup
    await double.start()
    assert await api.version() == before
    assert (await api.request("GET", f"{api.things}/b")).code == 404


async def test_healed_nothing_goes_wrong(double: Double, api: Api) -> None:
    double.script.add(Rule(status=500))
    double.script.tampering["things"] = lambda _: []
    double.script.heal()
    async with api.watch(api.things, resourceVersion=await api.version()) as events:
        await api.make("a")
        assert (await events.next())[0] == "ADDED"


async def test_objects_may_be_put_past_all_checks(double: Double, api: Api) -> None:
    obj = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"x": "eQ=="}}
    double.put(obj)
    found = await api.request("GET", "/api/v1/namespaces/default/secrets/a")
    assert found.body["data"] == {"x": "eQ=="}
    first = found.metadata["uid"]
    assert json.dumps(obj).count("uid") == 0
    double.put(obj | {"data": {}})
    assert (await api.request("GET", "/api/v1/namespaces/default/secrets/a")).metadata[
        "uid"
    ] == first
    double.remove(obj)
    assert (await api.request("GET", "/api/v1/namespaces/default/secrets/a")).code == 404

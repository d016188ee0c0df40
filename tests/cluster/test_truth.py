"""The behaviour of an API server: the same tests for the double and for the real one.

Tests on the double are worth something because of these. Nothing is asserted where the two may
differ (texts, the order of keys, how often a bookmark comes).
"""

from collections.abc import AsyncIterator

import pytest

from tests.cluster import api
from tests.cluster.api import Api, thing
from tests.cluster.cluster import Cluster
from tests.cluster.double.faults import Rule
from tests.cluster.double.server import Double
from tests.testbed.apiserver import Answer, Raw


@pytest.fixture(params=["double", pytest.param("real", marks=pytest.mark.cluster)])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Api]:
    if request.param == "double":
        async with Double() as double:
            double.tokens = {"good", "powerless"}
            powerless = "Bearer powerless"
            double.script.add(
                Rule(status=403, when=lambda it: it.headers.get("Authorization") == powerless)
            )
            async with Api(double.url, "good") as it:
                it.powerless = "powerless"
                yield it
    else:
        cluster: Cluster = request.getfixturevalue("cluster")
        async with Api(cluster.url, cluster.admin_token, cluster.tls) as it:
            it.powerless = cluster.service_account(it.namespace, "powerless")
            yield it


def names(items: list[Raw]) -> list[str]:
    return [it["metadata"]["name"] for it in items]


def told(events: list[tuple[str, Raw]]) -> list[tuple[str, str]]:
    return [(event, it["metadata"]["name"]) for event, it in events]


async def test_strangers_are_turned_away_and_the_powerless_refused(server: Api) -> None:
    stranger = await server.request("GET", server.things, token="nobody's")
    assert (stranger.code, stranger.reason) == (401, "Unauthorized")
    powerless = await server.request("GET", server.things, token=server.powerless)
    assert (powerless.code, powerless.reason) == (403, "Forbidden")
    assert powerless.body["kind"] == "Status"


# What is written


async def test_a_new_object_gets_an_identity_and_no_status(server: Api) -> None:
    made = await server.request("POST", server.things, thing("a") | {"status": {"y": 1}})
    assert made.code == 201
    assert made.metadata["uid"]
    assert made.metadata["creationTimestamp"]
    assert made.metadata["resourceVersion"]
    assert made.metadata["generation"] == 1
    assert "status" not in made.body


async def test_what_cannot_be_made_is_refused(server: Api) -> None:
    await server.make("a")
    again = await server.make("a")
    assert (again.code, again.reason) == (409, "AlreadyExists")
    assert again.body["details"] == {"name": "a", "group": api.GROUP, "kind": "things"}
    versioned = await server.make("b", resourceVersion="5")
    assert versioned.code == 500
    nowhere = server.things.replace(server.namespace, "nowhere")
    homeless = await server.request("POST", nowhere, thing("a"))
    assert (homeless.code, homeless.reason) == (404, "NotFound")
    assert homeless.body["details"] == {"name": "nowhere", "kind": "namespaces"}


async def test_a_name_may_be_generated(server: Api) -> None:
    made = await server.request(
        "POST", server.things, thing("") | {"metadata": {"generateName": "a-"}}
    )
    assert made.metadata["name"].startswith("a-")
    assert len(made.metadata["name"]) == 7


@pytest.mark.parametrize("path", ["", "/status"])
async def test_what_is_not_there_cannot_be_read_or_replaced(server: Api, path: str) -> None:
    for method, body in (("GET", None), ("PUT", thing("zz"))):
        answer = await server.request(method, f"{server.things}/zz{path}", body)
        assert (answer.code, answer.reason) == (404, "NotFound")
        assert answer.body["details"] == {"name": "zz", "group": api.GROUP, "kind": "things"}


async def test_a_replacement_must_be_of_the_newest_version(server: Api) -> None:
    made = (await server.make("a")).body
    changed = made | {"spec": {"x": 2}}
    first = await server.request("PUT", f"{server.things}/a", changed)
    assert first.code == 200
    assert first.metadata["generation"] == 2
    late = await server.request("PUT", f"{server.things}/a", changed | {"spec": {"x": 3}})
    assert (late.code, late.reason) == (409, "Conflict")
    blind = await server.request("PUT", f"{server.things}/a", thing("a"))
    assert (blind.code, blind.reason) == (422, "Invalid")


async def test_a_write_that_changes_nothing_makes_no_version(server: Api) -> None:
    made = await server.make("a")
    for answer in (
        await server.request("PUT", f"{server.things}/a", made.body),
        await server.request("PATCH", f"{server.things}/a", {"spec": {"x": 1}}, "merge"),
    ):
        assert answer.metadata["resourceVersion"] == made.metadata["resourceVersion"]


async def test_status_and_spec_are_written_apart(server: Api) -> None:
    made = (await server.make("a")).body
    both = made | {"spec": {"x": 2}, "status": {"y": 1}}
    status = await server.request("PUT", f"{server.things}/a/status", both)
    assert (status.body["spec"], status.body["status"]) == ({"x": 1}, {"y": 1})
    assert status.metadata["generation"] == 1
    both["metadata"]["resourceVersion"] = status.metadata["resourceVersion"]
    spec = await server.request("PUT", f"{server.things}/a", both | {"status": {"y": 2}})
    assert (spec.body["spec"], spec.body["status"]) == ({"x": 2}, {"y": 1})
    assert spec.metadata["generation"] == 2


async def test_a_merge_patch_adds_and_takes_away(server: Api) -> None:
    await server.make("a", labels={"one": "1"})
    change = {"metadata": {"labels": {"one": None, "two": "2"}}, "spec": {"y": {"z": [1]}}}
    answer = await server.request("PATCH", f"{server.things}/a", change, "merge")
    assert answer.metadata["labels"] == {"two": "2"}
    assert answer.body["spec"] == {"x": 1, "y": {"z": [1]}}


async def test_a_merge_patch_of_the_status_leaves_the_rest(server: Api) -> None:
    await server.make("a")
    change = {"spec": {"x": 2}, "status": {"y": 1}}
    answer = await server.request("PATCH", f"{server.things}/a/status", change, "merge")
    assert (answer.body["spec"], answer.body["status"]) == ({"x": 1}, {"y": 1})


async def test_a_patch_may_demand_a_version(server: Api) -> None:
    await server.make("a")
    stale = {"metadata": {"resourceVersion": "1"}, "spec": {"x": 2}}
    answer = await server.request("PATCH", f"{server.things}/a", stale, "merge")
    assert (answer.code, answer.reason) == (409, "Conflict")


async def test_a_json_patch_tests_before_it_changes(server: Api) -> None:
    await server.make("a")
    add = {"op": "add", "path": "/spec/l", "value": [1]}
    for wanted, code in ((7, 422), (1, 200)):
        test = {"op": "test", "path": "/spec/x", "value": wanted}
        answer = await server.request("PATCH", f"{server.things}/a", [test, add], "json")
        assert answer.code == code
    assert answer.body["spec"] == {"x": 1, "l": [1]}


async def test_custom_objects_know_no_strategic_patches(server: Api) -> None:
    await server.make("a")
    answer = await server.request("PATCH", f"{server.things}/a", {"spec": {}}, "strategic")
    assert (answer.code, answer.reason) == (415, "UnsupportedMediaType")


# What is applied


async def apply(server: Api, spec: Raw, manager: str, force: str = "false") -> Answer:
    body = thing("a") | {"spec": spec}
    return await server.request(
        "PATCH", f"{server.things}/a", body, "apply", fieldManager=manager, force=force
    )


async def test_applying_makes_an_object_once(server: Api) -> None:
    first = await apply(server, {"x": {"y": [1]}}, "one")
    again = await apply(server, {"x": {"y": [1]}}, "one")
    assert (first.code, again.code) == (201, 200)
    assert first.metadata["generation"] == 1
    assert again.metadata["resourceVersion"] == first.metadata["resourceVersion"]


async def test_fields_that_are_not_applied_any_more_go(server: Api) -> None:
    await apply(server, {"x": 1, "y": 1}, "one")
    answer = await apply(server, {"x": 1}, "one")
    assert answer.body["spec"] == {"x": 1}


async def test_fields_of_another_stay_unless_one_forces(server: Api) -> None:
    await apply(server, {"x": {"y": [1]}, "z": 1}, "one")
    answer = await apply(server, {"x": {"y": [2]}}, "two")
    assert (answer.code, answer.reason) == (409, "Conflict")
    assert 'conflict with "one": .spec.x.y' in answer.body["message"]
    forced = await apply(server, {"x": {"y": [2]}}, "two", force="true")
    assert forced.body["spec"] == {"x": {"y": [2]}, "z": 1}
    loser = await apply(server, {"z": 1}, "one")
    assert loser.body["spec"] == {"x": {"y": [2]}, "z": 1}


async def test_a_status_is_applied_apart(server: Api) -> None:
    await server.make("a")
    body = thing("a") | {"spec": {"x": 7}, "status": {"y": 1}}
    path = f"{server.things}/a/status"
    answer = await server.request("PATCH", path, body, "apply", fieldManager="one")
    assert (answer.body["spec"], answer.body["status"]) == ({"x": 1}, {"y": 1})


async def test_who_applies_says_who_and_what(server: Api) -> None:
    nobody = await server.request("PATCH", f"{server.things}/a", thing("a"), "apply")
    assert (nobody.code, nobody.reason) == (422, "Invalid")
    nameless = thing("a") | {"metadata": {}}
    answer = await server.request(
        "PATCH", f"{server.things}/a", nameless, "apply", fieldManager="one"
    )
    assert (answer.code, answer.reason) == (400, "BadRequest")


# What is removed


async def test_removing_tells_what_was_removed(server: Api) -> None:
    made = await server.make("a")
    gone = await server.request("DELETE", f"{server.things}/a")
    assert (gone.code, gone.body["status"]) == (200, "Success")
    assert gone.body["details"]["uid"] == made.metadata["uid"]
    assert (await server.request("DELETE", f"{server.things}/a")).code == 404


async def test_finalizers_hold_an_object(server: Api) -> None:
    await server.make("a", finalizers=["truth.example/held"])
    path = f"{server.things}/a"
    held = await server.request("DELETE", path)
    assert held.metadata["deletionTimestamp"]
    assert (await server.request("DELETE", path)).metadata["resourceVersion"] == (
        held.metadata["resourceVersion"]
    )
    freed = await server.request("PATCH", path, {"metadata": {"finalizers": None}}, "merge")
    assert freed.code == 200
    assert (await server.request("GET", path)).code == 404


async def test_only_the_object_that_was_meant_is_removed(server: Api) -> None:
    await server.make("a")
    meant = {"preconditions": {"uid": "another"}}
    answer = await server.request("DELETE", f"{server.things}/a", meant)
    assert (answer.code, answer.reason) == (409, "Conflict")


# What is listed


async def test_lists_of_custom_objects_say_what_the_items_are_those_of_others_do_not(
    server: Api,
) -> None:
    await server.make("a")
    found = (await server.request("GET", server.things)).body
    assert (found["kind"], found["apiVersion"]) == ("ThingList", f"{api.GROUP}/v1")
    assert found["items"][0]["kind"] == "Thing"
    path = server.built_in("configmaps")
    await server.request("POST", path, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    maps = (await server.request("GET", path)).body
    assert maps["kind"] == "ConfigMapList"
    assert all("kind" not in it for it in maps["items"])


async def test_pages_show_one_moment(server: Api) -> None:
    for name in "abcde":
        await server.make(name)
    first = await server.request("GET", server.things, limit="2")
    assert first.metadata["remainingItemCount"] == 3
    await server.request("DELETE", f"{server.things}/d")
    await server.make("cc")
    pages, token = [names(first.body["items"])], first.metadata["continue"]
    while token:
        page = await server.request("GET", server.things, limit="2", **{"continue": token})
        assert page.metadata["resourceVersion"] == first.metadata["resourceVersion"]
        pages.append(names(page.body["items"]))
        token = page.metadata.get("continue", "")
    assert pages == [["a", "b"], ["c", "d"], ["e"]]


async def test_a_token_that_nobody_gave_out_is_refused(server: Api) -> None:
    answer = await server.request("GET", server.things, **{"continue": "nonsense"})
    assert (answer.code, answer.reason) == (400, "BadRequest")


async def test_any_version_will_do_ignores_the_limit(server: Api) -> None:
    for name in "abc":
        await server.make(name)
    await server.request("GET", server.things, limit="1")
    answer = await server.request("GET", server.things, limit="1", resourceVersion="0")
    assert names(answer.body["items"]) == ["a", "b", "c"]


async def test_a_version_that_is_not_yet_times_out(server: Api) -> None:
    answer = await server.request("GET", server.things, resourceVersion="99999999")
    assert (answer.code, answer.reason) == (504, "Timeout")


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ({"labelSelector": "x=1"}, ["a"]),
        ({"labelSelector": "x==1"}, ["a"]),
        ({"labelSelector": "x!=1"}, ["b", "c"]),
        ({"labelSelector": "x in (1,2),y"}, ["b"]),
        ({"labelSelector": "x notin (1)"}, ["b", "c"]),
        ({"labelSelector": "!x"}, ["c"]),
        ({"labelSelector": "x"}, ["a", "b"]),
        ({"fieldSelector": "metadata.name=b"}, ["b"]),
        ({"fieldSelector": "metadata.name!=b"}, ["a", "c"]),
    ],
)
async def test_selectors_select(server: Api, selector: dict[str, str], found: list[str]) -> None:
    await server.make("a", labels={"x": "1"})
    await server.make("b", labels={"x": "2", "y": "1"})
    await server.make("c")
    answer = await server.request("GET", server.things, **selector)
    assert names(answer.body["items"]) == found


@pytest.mark.parametrize("selector", [{"labelSelector": "a in"}, {"fieldSelector": "spec.x=1"}])
async def test_selectors_that_make_no_sense_are_refused(
    server: Api, selector: dict[str, str]
) -> None:
    answer = await server.request("GET", server.things, **selector)
    assert (answer.code, answer.reason) == (400, "BadRequest")


# What is watched


async def test_a_watch_tells_what_happens_after_a_version(server: Api) -> None:
    await server.make("before")
    version = await server.version()
    made = await server.make("a")
    async with server.watch(server.things, resourceVersion=version, timeoutSeconds="30") as events:
        await server.request("PATCH", f"{server.things}/a", {"spec": {"x": 2}}, "merge")
        await server.request("DELETE", f"{server.things}/a")
        seen = [await events.next() for _ in range(3)]
    assert told(seen) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert seen[0][1]["metadata"]["resourceVersion"] == made.metadata["resourceVersion"]
    assert [it["spec"]["x"] for _, it in seen] == [1, 2, 2]
    versions = [int(it["metadata"]["resourceVersion"]) for _, it in seen]
    assert versions == sorted(set(versions))
    assert {it["kind"] for _, it in seen} == {"Thing"}


async def test_a_watch_of_built_in_objects_says_what_they_are(server: Api) -> None:
    path = server.built_in("secrets")
    version = (await server.request("GET", path)).metadata["resourceVersion"]
    await server.request("POST", path, {"metadata": {"name": "a"}, "type": "Opaque"})
    async with server.watch(path, resourceVersion=version, timeoutSeconds="30") as events:
        assert (await events.next())[1]["kind"] == "Secret"


async def test_a_watch_without_a_version_begins_with_what_is_there(server: Api) -> None:
    await server.make("a")
    await server.make("b")
    async with server.watch(server.things, timeoutSeconds="30") as events:
        await server.make("c")
        seen = [await events.next() for _ in range(3)]
    assert told(seen) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


async def test_a_watch_that_wants_to_know_is_told_when_it_has_all(server: Api) -> None:
    await server.make("a")
    wish = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    async with server.watch(
        server.things, timeoutSeconds="30", allowWatchBookmarks="true", **wish
    ) as events:
        assert (await events.next())[0] == "ADDED"
        event, mark = await events.next()
    assert event == "BOOKMARK"
    assert mark["kind"] == "Thing"
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(mark["metadata"]["resourceVersion"]) > 0


async def test_an_object_may_come_into_a_selection_and_leave_it(server: Api) -> None:
    await server.make("a")
    version = await server.version()
    wish = {"resourceVersion": version, "timeoutSeconds": "30", "labelSelector": "x=1"}
    async with server.watch(server.things, **wish) as events:
        for label in ("1", "2", "1"):
            change = {"metadata": {"labels": {"x": label}}}
            await server.request("PATCH", f"{server.things}/a", change, "merge")
        await server.request("DELETE", f"{server.things}/a")
        seen = [await events.next() for _ in range(4)]
    assert [event for event, _ in seen] == ["ADDED", "DELETED", "ADDED", "DELETED"]
    assert seen[1][1]["metadata"]["labels"] == {"x": "1"}


async def test_a_watch_ends_in_order_when_its_time_is_over(server: Api) -> None:
    version = await server.version()
    await server.make("a")
    async with server.watch(server.things, resourceVersion=version, timeoutSeconds="1") as events:
        assert told(await events.rest()) == [("ADDED", "a")]


async def test_a_watch_of_forgotten_history_is_told_so_and_ends(server: Api) -> None:
    async with server.watch(server.things, resourceVersion="1", timeoutSeconds="30") as events:
        ((event, status),) = await events.rest()
    assert event == "ERROR"
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")


async def test_a_watch_of_the_future_is_silent(server: Api) -> None:
    """This makes a server that lost history dangerous: it does not report that anything is
    wrong."""
    await server.make("a")
    wish = {"resourceVersion": "99999999", "allowWatchBookmarks": "true", "timeoutSeconds": "1"}
    async with server.watch(server.things, **wish) as events:
        await server.make("b")
        assert await events.rest() == []


# What there is


async def test_discovery_tells_resources_and_what_is_not_there_is_no_status(server: Api) -> None:
    found = (await server.request("GET", f"/apis/{api.GROUP}/v1")).body
    told = {it["name"]: it for it in found["resources"]}
    assert told["things"]["kind"] == "Thing"
    assert told["things"]["namespaced"] is True
    assert {"list", "watch", "patch"} <= set(told["things"]["verbs"])
    assert set(told["things/status"]["verbs"]) == {"get", "patch", "update"}
    for path in ("/apis/nothing.example/v1", f"/apis/{api.GROUP}/v1/nothings"):
        answer = await server.request("GET", path)
        assert (answer.code, answer.media) == (404, "text/plain")
    groups = (await server.request("GET", "/apis")).body["groups"]
    assert f"{api.GROUP}/v1" in {it["preferredVersion"]["groupVersion"] for it in groups}
    assert (await server.request("GET", "/api")).body["versions"] == ["v1"]


async def test_parts_that_a_kind_lacks_are_not_found(server: Api) -> None:
    answer = await server.request("GET", server.built_in("configmaps") + "/a/status")
    assert (answer.code, answer.reason) == (404, "NotFound")


async def test_with_its_definition_a_kind_goes_and_its_watches_end(server: Api) -> None:
    plural = await server.define_another()
    path = f"/apis/{api.GROUP}/v1/namespaces/{server.namespace}/{plural}"
    version = (await server.request("GET", path)).metadata["resourceVersion"]
    await server.request("POST", path, thing("a") | {"kind": plural.title()})
    async with server.watch(path, resourceVersion=version, timeoutSeconds="60") as events:
        assert (await events.next())[0] == "ADDED"
        await server.request("DELETE", f"{api.CRDS}/{plural}.{api.GROUP}")
        assert [event for event, _ in await events.rest() if event != "MODIFIED"] == ["DELETED"]
    assert (await server.request("GET", path)).code == 404


# Leases and Events, which are built in


async def test_a_lease_must_be_replaced_knowingly(server: Api) -> None:
    path = server.built_in("leases", "coordination.k8s.io")
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "one"}}
    made = await server.request("POST", path, lease)
    taken = made.body | {"spec": {"holderIdentity": "two"}}
    assert (await server.request("PUT", f"{path}/l", taken)).code == 200
    late = await server.request(
        "PUT", f"{path}/l", made.body | {"spec": {"holderIdentity": "three"}}
    )
    assert (late.code, late.reason) == (409, "Conflict")
    blind = await server.request("PUT", f"{path}/l", lease)
    assert (blind.code, blind.reason) == (422, "Invalid")


async def test_a_configmap_may_be_replaced_blindly(server: Api) -> None:
    path = server.built_in("configmaps")
    await server.request("POST", path, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    body = {"metadata": {"name": "a"}, "data": {"x": "2"}}
    assert (await server.request("PUT", f"{path}/a", body)).body["data"] == {"x": "2"}


async def test_events_are_made_and_counted(server: Api) -> None:
    path = server.built_in("events")
    about = {"kind": "Thing", "name": "a", "namespace": server.namespace}
    event = {"metadata": {"name": "a.1"}, "involvedObject": about, "reason": "Broken", "count": 1}
    assert (await server.request("POST", path, event)).code == 201
    again = await server.request("PATCH", f"{path}/a.1", {"count": 2}, "merge")
    assert again.body["count"] == 2
    found = await server.request("GET", path, fieldSelector="reason=Broken,involvedObject.name=a")
    assert names(found.body["items"]) == ["a.1"]

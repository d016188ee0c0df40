"""Statuses reach the cluster: each once, by the leader alone, whatever goes wrong meanwhile."""

import asyncio
import logging
from typing import Any

import pytest

from contour.status import retries
from contour.status.addresses import Address
from contour.status.pacing import Pacing
from contour.status.precedence import Precedence
from contour.status.writer import WORKERS
from crds.gateway.references import ParentReference
from crds.meta import NamespacedName, ObjectRef
from dag.statuses import Address as GatewayAddress
from dag.statuses import (
    AncestorStatus,
    Condition,
    EventStatus,
    GatewayStatus,
    ListenerSetStatus,
    ParentStatus,
    PolicyStatus,
    RouteStatus,
)
from tests.cluster.double.faults import Request, Rule
from tests.contour.status.world import (
    CONTROLLER,
    World,
    accepted,
    invalid,
    proxy,
    route,
    valid,
    world,
)

Raw = dict[str, Any]

INGRESS = ObjectRef("Ingress", "default", "web")
GATEWAY = ObjectRef("Gateway", "default", "edge")
CLASS = ObjectRef("GatewayClass", "", "contour")


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.02)


def many(there: World, count: int) -> list[ObjectRef]:
    found = [there.add(proxy(f"p{it}")) for it in range(count)]
    for it in found:
        there.board.put(it, valid())
    return found


def message(there: World, subject: ObjectRef) -> str:
    conditions = there.status(subject).get("conditions") or [{}]
    return str(conditions[0].get("message", ""))


async def test_a_status_is_written_with_the_version_it_is_about_and_when_it_became_so() -> None:
    async with world() as there:
        web = there.add(proxy("web"), generation=3, status={"currentStatus": "NotReconciled"})
        async with there.term():
            there.say(web, valid())
            await there.writer.drained()
        found = there.status(web)
    assert found["currentStatus"] == "valid"
    assert found["conditions"][0]["observedGeneration"] == 3
    assert found["conditions"][0]["lastTransitionTime"].endswith("Z")
    [request] = [it for it in there.double.requests if it.verb == "patch"]
    assert request.subresource == "status"
    assert request.query["fieldManager"] == "contour"


async def test_what_stands_there_already_is_not_written_again_in_another_term() -> None:
    async with world() as there:
        found = many(there, 20)
        async with there.term():
            await there.writer.drained()
        assert there.writes == 20
        for it in found:
            there.see(it)
        second = there.another_writer()
        async with there.term(second):
            await second.drained()
        assert there.writes == 20
        assert second.tallies["HTTPProxy"].noop == 20


async def test_without_a_term_nothing_is_written_and_nothing_is_kept() -> None:
    async with world() as there:
        web = there.add(proxy("web"))
        there.say(web, valid())
        assert there.writer.waiting == 0
        async with there.term():
            await there.writer.drained()
        assert there.writes == 1


async def test_a_process_that_leads_no_more_writes_nothing_even_if_nobody_told_it() -> None:
    async with world() as there:
        many(there, 20)
        there.is_leader = False
        async with there.term():
            await there.writer.drained()
        assert there.double.requests == []


async def test_the_next_leader_finishes_what_the_last_one_began() -> None:
    async with world() as there:
        found = many(there, 40)
        block = asyncio.Event()
        async with there.term():
            await there.double.asked("patch", "httpproxies", 10)
            there.double.script.add(Rule(verb="patch", hold=block))
            there.is_leader = False
        begun = there.writes
        assert 10 <= begun < 40
        block.set()
        there.double.script.heal()
        there.is_leader = True
        second = there.another_writer()
        async with there.term(second):
            await second.drained()
        assert all(there.status(it)["currentStatus"] == "valid" for it in found)
        assert there.writes <= 40 + 2 * WORKERS


PROGRAMMED = GatewayStatus((Condition("Programmed", "True", "Programmed", ""),))
NO_RESOURCES = GatewayStatus((Condition("Programmed", "False", "NoResources", ""),))
SET = ObjectRef("ListenerSet", "default", "edge")
SERVED_SET = ListenerSetStatus(PROGRAMMED.conditions)
SET_WITHOUT_ENVOYS = ListenerSetStatus(NO_RESOURCES.conditions)
FELL_BACK = RouteStatus(
    (
        ParentStatus(
            ParentReference(name="edge"),
            CONTROLLER,
            (Condition("PartiallyInvalid", "True", "UnsupportedValue", "Fall Back"),),
        ),
    )
)
OWNER = ObjectRef("ContourConfiguration", "default", "contour")


@pytest.mark.parametrize(
    ("subject", "before", "after", "told_of", "is_held"),
    [
        (proxy("web"), valid(), invalid("no such Service"), 1, False),
        (proxy("web"), valid(), invalid("no such Service"), 2, False),
        (proxy("web"), invalid("Envoy refuses it"), valid(), 1, True),
        (proxy("web"), invalid("Envoy refuses it"), valid(), 2, False),
        (route("web"), accepted("edge"), accepted("edge", message="otherwise"), 1, False),
        (route("web"), FELL_BACK, accepted("edge"), 1, True),
        (route("web"), FELL_BACK, accepted("edge"), 2, False),
        (GATEWAY, PROGRAMMED, NO_RESOURCES, 1, True),
        (GATEWAY, PROGRAMMED, NO_RESOURCES, 2, True),
        (SET, SERVED_SET, SET_WITHOUT_ENVOYS, 1, True),
        (OWNER, valid("old Envoys"), valid("none"), 1, True),
    ],
    ids=str,
)
async def test_a_new_leader_takes_nothing_back_before_it_has_heard_all_envoys(
    subject: ObjectRef, before: Any, after: Any, told_of: int, is_held: bool
) -> None:
    async with world() as there:
        there.add(subject)
        there.board.put(subject, before)
        async with there.term():
            await there.writer.drained()
        there.write(subject, generation=told_of, status=there.status(subject))
        there.see(subject)
        stood = there.status(subject)
        there.is_assembled = False
        there.board.put(subject, after)
        other = there.add(proxy("other"))
        there.board.put(other, valid())
        second = there.another_writer()
        async with there.term(second):
            while second.waiting > is_held:
                await asyncio.sleep(0.01)
            assert message(there, other) == "Valid HTTPProxy"
            assert (there.status(subject) == stood) is is_held
            there.is_assembled = True
            second.release()
            await second.drained()
        assert there.status(subject) != stood


async def test_writes_are_parallel_and_bounded_and_notice_waits_for_none() -> None:
    async with world() as there:
        block = asyncio.Event()
        there.double.script.add(Rule(verb="patch", hold=block))
        async with there.term():
            for it in many(there, 100):
                there.writer.notice([it])
            await there.double.asked("patch", "httpproxies", WORKERS)
            assert there.writes == WORKERS
            assert there.writer.waiting == 100
            block.set()
            await there.writer.drained()
        assert there.writes == 100


async def test_no_write_begins_while_a_change_is_on_its_way_to_envoys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Precedence, "longest", 3600.0)
    async with world() as there:
        many(there, 200)
        async with there.term():
            await there.double.asked("patch", "httpproxies", 20)
            there.is_change_underway = True
            while there.writer.tallies["HTTPProxy"].success < there.begun:
                await asyncio.sleep(0.01)
            begun = there.begun
            assert begun < 200
            for _ in range(100):
                await asyncio.sleep(0.001)
            assert there.begun == begun
            assert there.writer.waiting == 200 - begun
            there.is_change_underway = False
            await there.writer.drained()
        assert there.writes == 200


async def test_a_change_that_is_never_sent_stops_no_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Precedence, "longest", 0.05)
    async with world() as there:
        many(there, 20)
        there.is_change_underway = True
        async with there.term():
            await there.writer.drained()
        assert there.writes == 20


async def test_in_one_turn_of_the_loop_no_more_than_one_write_begins() -> None:
    async with world() as there:
        many(there, 100)
        turns: list[int] = []
        async with there.term():
            while there.writer.waiting:
                before = there.begun
                await asyncio.sleep(0)
                turns.append(there.begun - before)
        assert (max(turns), sum(turns)) == (1, 100)


async def test_an_object_that_changes_all_the_time_is_written_seldom_and_at_last_as_it_is() -> None:
    async with world() as there:
        web = there.add(proxy("web"))
        async with there.term():
            for it in range(1000):
                there.say(web, invalid(f"change {it}"))
                if it % 10 == 0:
                    await asyncio.sleep(0)
            await there.writer.drained()
        assert message(there, web) == "change 999"
        assert there.writes <= 4


# F14, F15: somebody else writes too.


async def test_a_conflict_is_solved_by_a_fresh_read_and_nothing_of_others_is_lost() -> None:
    async with world() as there:
        api = there.add(route("api"))
        other = {
            "parentRef": {"name": "edge"},
            "controllerName": "example.com/other",
            "conditions": [],
        }
        there.write(api, status={"parents": [other]})
        async with there.term():
            there.say(api, accepted("edge"))
            await there.writer.drained()
        found = there.status(api)["parents"]
    assert found[0] == other
    assert [it["controllerName"] for it in found] == ["example.com/other", CONTROLLER]
    assert there.writer.tallies["HTTPRoute"].conflict == 1
    assert there.double.count("get") == 1


async def test_another_controller_that_writes_all_the_time_costs_no_writes_of_ours() -> None:
    async with world() as there:
        api = there.add(route("api"))
        async with there.term():
            for it in range(30):
                entries = [
                    found
                    for found in there.status(api).get("parents", [])
                    if found["controllerName"] == CONTROLLER
                ]
                other = {
                    "parentRef": {"name": "x"},
                    "controllerName": "example.com/other",
                    "conditions": [{"type": "Seen", "status": str(it)}],
                }
                there.write(api, status={"parents": [other, *entries]})
                there.see(api)
                there.say(api, accepted("edge"))
                await there.writer.drained()
        found = there.status(api)["parents"]
    assert [it["controllerName"] for it in found] == ["example.com/other", CONTROLLER]
    assert found[0]["conditions"][0]["status"] == "29"
    assert there.writes == 1


@pytest.mark.parametrize(
    ("kind", "field", "reference", "most"),
    [
        ("BackendTLSPolicy", "ancestors", "ancestorRef", 16),
        ("HTTPRoute", "parents", "parentRef", 32),
    ],
)
async def test_what_has_no_room_in_a_status_is_known_until_there_is_room(
    kind: str, field: str, reference: str, most: int
) -> None:
    told = (Condition("Accepted", "True", "Accepted", ""),)
    edge = ParentReference(name="edge")
    answer = (
        PolicyStatus((AncestorStatus(edge, CONTROLLER, told),))
        if kind == "BackendTLSPolicy"
        else RouteStatus((ParentStatus(edge, CONTROLLER, told),))
    )
    others = [
        {reference: {"name": f"g{it}"}, "controllerName": "example.com/other", "conditions": []}
        for it in range(most)
    ]
    async with world() as there:
        crowded = there.add(ObjectRef(kind, "default", "p"), status={field: others})
        async with there.term():
            there.say(crowded, answer)
            await there.writer.drained()
            assert there.status(crowded)[field] == others
            assert there.untold == {crowded: (NamespacedName("default", "edge"),)}
            there.write(crowded, status={field: others[1:]})
            there.see(crowded)
            there.writer.notice([crowded])
            await there.writer.drained()
            assert there.status(crowded)[field][-1][reference]["name"] == "edge"
            assert not there.untold
            there.write(crowded, status={field: others})
            there.see(crowded)
            there.writer.notice([crowded])
            await there.writer.drained()
            assert there.untold
            there.seen.pop(crowded)
            there.writer.notice([crowded])
            await there.writer.drained()
            assert not there.untold, "it is gone"


async def test_an_answer_about_an_older_version_is_not_written_over_a_newer_one() -> None:
    async with world() as there:
        web = there.add(proxy("web"))
        there.write(web, generation=2)  # which nobody here has seen
        async with there.term():
            there.say(web, valid("about the first version"))
            await there.writer.drained()
            assert there.status(web) == {}
            there.see(web)
            there.say(web, valid("about the second version"))
            await there.writer.drained()
    assert message(there, web) == "about the second version"


async def test_an_object_that_was_made_again_waits_for_an_answer_of_its_own() -> None:
    async with world() as there:
        web = there.add(proxy("web"))
        there.double.remove(there.stands(web))
        there.write(web)
        async with there.term():
            there.say(web, invalid("about the one that is gone"))
            await there.writer.drained()
    assert there.status(web) == {}


async def test_two_changes_in_a_row_are_two_writes_although_the_provider_is_behind() -> None:
    async with world() as there:
        web = there.add(proxy("web"))
        async with there.term():
            for text in ("one", "two", "three"):
                there.say(web, valid(text))
                await there.writer.drained()
    assert message(there, web) == "three"
    assert there.writes == 3
    assert there.double.count("get") == 0


async def test_the_echo_of_our_own_write_is_not_looked_at_and_a_change_by_others_is() -> None:
    async with world() as there:
        web = there.add(proxy("web"))
        async with there.term():
            await there.writer.drained()
            there.say(web, valid())
            await there.writer.drained()
            looks = there.begun
            there.see(web)
            there.writer.seen(web)
            assert there.writer.waiting == 0
            for status in ({}, {"currentStatus": "other"}):
                there.write(web, status=status)
                there.see(web)
                there.writer.seen(web)
                await there.writer.drained()
                assert there.status(web)["currentStatus"] == "valid"
            there.say(web, invalid("while the echo is on its way"))
            there.see(web)
            there.writer.seen(web)
            await there.writer.drained()
        assert there.begun == looks + 3
        assert message(there, web) == "while the echo is on its way"


async def test_two_controllers_of_one_object_write_ever_more_seldom(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Pacing, "shortest", 0.01)
    monkeypatch.setattr(Pacing, "longest", 0.02)
    async with world() as there:
        web = there.add(proxy("web"))
        async with there.term():
            there.say(web, valid())
            for _ in range(5):
                await there.writer.drained()
                there.write(web, status={"currentStatus": "other"})
                there.see(web)
                there.writer.seen(web)
            await there.writer.drained()
    assert there.status(web)["currentStatus"] == "valid"
    assert caplog.text.count("another client keeps overwriting statuses") == 1


async def test_a_route_that_is_not_ours_any_more_keeps_only_what_others_say() -> None:
    async with world() as there:
        api = there.add(route("api"))
        async with there.term():
            there.say(api, accepted("edge"))
            await there.writer.drained()
            there.see(api)
            there.say(api, None)
            await there.writer.drained()
    assert there.status(api) == {"parents": []}


async def test_what_leaves_our_scope_keeps_what_it_was_told() -> None:
    async with world() as there:
        web = there.add(proxy("web"))
        async with there.term():
            there.say(web, valid())
            await there.writer.drained()
            there.see(web)
            there.say(web, None)
            await there.writer.drained()
    assert there.status(web)["currentStatus"] == "valid"


# The API server refuses, or is away.


async def test_an_object_that_is_gone_is_forgotten() -> None:
    async with world() as there:
        web = there.add(proxy("web"))
        there.double.remove(there.stands(web))
        async with there.term():
            there.say(web, valid())
            await there.double.asked("patch", "httpproxies")
            there.see(web)
            await there.writer.drained()
            written = there.writes
            there.say(web, valid("there was more to be said"))
            await there.writer.drained()
    assert there.writes == written


async def test_an_object_that_a_server_has_not_heard_of_yet_is_told_when_it_has() -> None:
    async with world() as there:
        web = there.add(proxy("web"))
        there.double.script.add(Rule(verb="patch", status=404, times=3))
        async with there.term():
            there.say(web, valid())
            await there.writer.drained()
        assert there.status(web)["currentStatus"] == "valid"


async def test_a_status_that_is_refused_is_reported_and_not_repeated(
    caplog: pytest.LogCaptureFixture,
) -> None:
    body = (
        b'{"kind":"Status","code":422,"reason":"Invalid","message":"it is invalid",'
        b'"details":{"causes":[{"field":"status.conditions[0].message","message":"Too long"}]}}'
    )
    async with world() as there:
        web, api = there.add(proxy("web")), there.add(proxy("api"))

        def is_web(request: Request) -> bool:
            return request.name == "web"

        there.double.script.add(Rule(verb="patch", status=422, body=body, when=is_web))
        async with there.term():
            there.say(web, valid())
            there.say(api, valid())
            await there.writer.drained()
            given_up = there.writer.tallies["HTTPProxy"].given_up
            assert (there.writes, given_up) == (2, {web})
            there.double.script.heal()
            there.say(web, valid("shorter"))
            await there.writer.drained()
            assert given_up == set()
    assert there.status(api)["currentStatus"] == "valid"
    [record] = [it for it in caplog.records if it.levelno == logging.ERROR]
    assert "HTTPProxy default/web" in record.message
    assert "status.conditions[0].message: Too long" in record.message


@pytest.mark.parametrize("code", [500, 403, 504])
async def test_one_object_that_fails_puts_off_no_other_and_is_tried_again(code: int) -> None:
    async with world() as there:
        web, api = there.add(proxy("web")), there.add(proxy("api"))

        def is_web(request: Request) -> bool:
            return request.name == "web"

        rule = there.double.script.add(Rule(verb="patch", status=code, times=3, when=is_web))
        async with there.term():
            there.say(web, valid())
            there.say(api, valid())
            await there.writer.drained()
    assert rule.met == 3
    assert there.writes == 5
    assert there.status(web)["currentStatus"] == "valid"
    assert there.status(api)["currentStatus"] == "valid"


@pytest.mark.parametrize("fault", [{"status": 503}, {"status": 429}, {"drop": True}])
async def test_a_server_that_is_away_is_left_alone_and_then_told_the_newest(fault: Raw) -> None:
    async with world() as there:
        found = many(there, 50)
        rule = there.double.script.add(Rule(verb="patch", times=2 * WORKERS, **fault))
        async with there.term():
            await there.double.asked("patch", "httpproxies", 1)
            for it in found:
                there.say(it, invalid("the newest"))
            await there.writer.drained()
    assert rule.met == 2 * WORKERS
    assert there.writes <= 50 + 3 * WORKERS
    assert {message(there, it) for it in found} == {"the newest"}


async def test_a_status_that_cannot_be_merged_stops_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with world() as there:
        generation = {"conditions": [{"type": "Valid", "observedGeneration": "garbage"}]}
        web, api = there.add(proxy("web"), status=generation), there.add(proxy("api"))
        async with there.term():
            there.say(web, valid())
            there.say(api, valid())
            await there.writer.drained()
    assert there.status(api)["currentStatus"] == "valid"
    assert "cannot write the status of HTTPProxy default/web" in caplog.text


# What is written to each kind.


async def test_an_ingress_is_told_where_it_is_reached_and_nothing_else() -> None:
    async with world() as there:
        there.add(INGRESS, status={"loadBalancer": {}})
        async with there.term():
            there.say(INGRESS, EventStatus())
            await there.writer.drained()
            assert there.writes == 0
            there.writer.notice(there.answers.relocate([Address(ip="192.0.2.1")]))
            await there.writer.drained()
            assert there.status(INGRESS) == {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
            there.writer.notice(there.answers.relocate([Address(hostname="lb.example.com")]))
            await there.writer.drained()
            assert there.status(INGRESS)["loadBalancer"]["ingress"] == [
                {"hostname": "lb.example.com"}
            ]
            there.writer.notice(there.answers.relocate([]))
            await there.writer.drained()
            assert there.status(INGRESS) == {"loadBalancer": {}}


async def test_what_a_crd_drops_is_written_again_when_it_has_the_field() -> None:
    """CRDs of the next release are applied one after the other, and tell their version first."""
    told = GatewayStatus((), addresses=(GatewayAddress("IPAddress", "192.0.2.1"),))
    async with world() as there:
        there.add(GATEWAY)
        there.double.store.unknown.add("addresses")
        async with there.term():
            there.say(GATEWAY, told)
            await there.double.asked("patch", "gateways", 2)
            assert "addresses" not in there.status(GATEWAY)
            there.double.store.unknown.clear()
            await there.writer.drained()
    assert there.status(GATEWAY)["addresses"] == [{"type": "IPAddress", "value": "192.0.2.1"}]


async def test_what_a_crd_does_not_have_is_not_written_for_ever() -> None:
    told = GatewayStatus((), addresses=(GatewayAddress("IPAddress", "192.0.2.1"),))
    async with world() as there:
        there.add(GATEWAY)
        there.double.store.unknown.add("addresses")
        async with there.term():
            there.say(GATEWAY, told)
            await there.writer.drained()
    assert there.writes == 1 + retries.MOST_COMPLETIONS


async def test_a_gateway_is_told_its_addresses_and_foreign_conditions_stay() -> None:
    foreign = {"type": "example.com/Billed", "status": "True", "reason": "R", "message": ""}
    told = GatewayStatus(
        (Condition("Accepted", "True", "Accepted", "accepted"),),
        addresses=(
            GatewayAddress("IPAddress", "192.0.2.1"),
            GatewayAddress("Hostname", "a.example"),
        ),
    )
    async with world() as there:
        there.add(GATEWAY, status={"conditions": [foreign]})
        async with there.term():
            there.say(GATEWAY, told)
            await there.writer.drained()
    found = there.status(GATEWAY)
    assert found["conditions"][0] == foreign
    assert found["conditions"][1]["type"] == "Accepted"
    assert found["addresses"] == [
        {"type": "IPAddress", "value": "192.0.2.1"},
        {"type": "Hostname", "value": "a.example"},
    ]

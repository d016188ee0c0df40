"""Envoys with many resources: what they have is compared name by name, in a few steps for all."""

import sys
from itertools import count

import pytest

from contour.xds.resources import CLUSTER, ENDPOINTS, Change
from tests.contour.xds import world
from tests.conversations.playbook import (
    Conversation,
    DeltaClient,
    SotwClient,
    ack,
    nothing,
    opened,
    publish,
    push,
    reconnect,
    settle,
)

WEB = [world.route_head("web"), world.listener("http", 80, "web")]


def _sites(number: int) -> list[Change]:
    found = (world.site(f"{it}.test", f"c{it}", it + 1) for it in range(number))
    return [change for site in found for change in site]


@pytest.fixture
def away() -> Conversation:
    """An Envoy with 200 hosts whose stream has ended."""
    talk = opened(Conversation([*_sites(200), *WEB]))
    return talk >> reconnect(DeltaClient)


def test_one_that_comes_back_is_sent_what_differs_and_nothing_else(away: Conversation) -> None:
    clusters = dict(_versions(away, CLUSTER))
    talk = away >> publish(world.cluster("c7", alt_stat_name="other"), world.cluster("new"))
    talk.request(talk.client.subscribe(CLUSTER, (), **clusters | {"c9": "0", "gone": "1"}))
    talk << push(CLUSTER, "c7", "c9", "new") >> ack(CLUSTER) << nothing

    endpoints = dict(_versions(away, ENDPOINTS))
    talk >> publish(world.endpoints("c8", 99))
    names = sorted(endpoints)
    del endpoints["c6"]
    talk.request(talk.client.subscribe(ENDPOINTS, names, **endpoints))
    talk << push(ENDPOINTS, "c6", "c8")
    talk >> ack(ENDPOINTS) << nothing


def test_what_one_takes_as_new_another_is_not_sent(away: Conversation) -> None:
    """The whole of a type, sent to one that has nothing, does not go to one that has it."""
    versions = dict(_versions(away, CLUSTER))
    talk = away.speaking(SotwClient)
    settle(opened(talk))
    talk = talk.speaking(DeltaClient)
    talk.request(talk.client.subscribe(CLUSTER, (), **versions))
    talk << nothing >> publish(world.cluster("c1", alt_stat_name="other")) << push(CLUSTER, "c1")


@pytest.mark.parametrize("has_all", [False, True], ids=["new", "back"])
def test_a_name_more_is_a_few_calls_more(has_all: bool) -> None:
    few, many = (_calls_of_an_arrival(it, has_all=has_all) for it in (100, 600))
    assert (many - few) / 500 < 20


def _calls_of_an_arrival(hosts: int, *, has_all: bool) -> int:
    """How many functions of Python are called to bring another Envoy in sync."""
    talk = opened(Conversation([*_sites(hosts), *WEB]))
    versions = {it: dict(_versions(talk, it)) for it in (CLUSTER, ENDPOINTS)} if has_all else {}
    names = {CLUSTER: (), ENDPOINTS: sorted(talk.fleet.store.types[ENDPOINTS])}
    talk = talk.speaking(DeltaClient)
    requests = (
        talk.client.subscribe(it, asked, **versions.get(it, {})) for it, asked in names.items()
    )
    called = count()
    for request in requests:
        sys.setprofile(lambda _, event, __: next(called) if event == "call" else None)
        talk.request(request)
        response = talk.client.stream.response(talk.now)
        sys.setprofile(None)
        if response is None:
            assert has_all
            continue
        answer = talk.client.answer(talk.client.take(response).type_url, "")
        sys.setprofile(lambda _, event, __: next(called) if event == "call" else None)
        talk.request(answer)
        sys.setprofile(None)
    assert talk.fleet.acceptance.is_settled
    return next(called)


def _versions(talk: Conversation, type_url: str) -> list[tuple[str, str]]:
    return [(name, it.version()) for name, it in talk.fleet.store.types[type_url].items()]

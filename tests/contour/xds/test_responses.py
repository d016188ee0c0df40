"""What clients ask for takes memory while they are there, and what they share is made once."""

import gc
import tracemalloc
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest

from contour.xds.fleet import Fleet
from contour.xds.resources import LISTENER, ROUTE
from contour.xds.responses import Responses
from tests.contour.xds import world
from tests.conversations.playbook import (
    Client,
    Conversation,
    DeltaClient,
    SotwClient,
    settle,
    subscribe,
)

NAMES = [f"name-{it}" for it in range(10)]
Asked = Callable[[int], tuple[str, Iterable[str]]]

CLIENTS: dict[str, Asked] = {
    "names that do not exist": lambda it: (ROUTE, [f"{it}-{n}" for n in range(50)]),
    "some that do": lambda it: (ROUTE, [name for n, name in enumerate(NAMES) if it >> n & 1]),
    "types that do not exist": lambda it: (f"type.googleapis.com/example.{it}", ["a"]),
}


@pytest.mark.parametrize("dialect", [DeltaClient, SotwClient])
@pytest.mark.parametrize("asked", CLIENTS.values(), ids=CLIENTS)
def test_clients_that_have_gone_leave_nothing_behind(
    dialect: Callable[[Fleet], Client], asked: Asked
) -> None:
    talk = Conversation(map(world.route_head, NAMES))

    def come_and_go(number: int) -> None:
        type_url, names = asked(number)
        talk.speaking(dialect) >> subscribe(type_url, *names)
        assert talk.client.stream.response(0) is not None
        talk.client.stream.close(0)

    def taken(numbers: Iterable[int]) -> int:
        for number in numbers:
            come_and_go(number)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        found = [taken(range(it, it + 50)) for it in range(1, 251, 50)]
    finally:
        tracemalloc.stop()
    # What clients leave behind is there every time; what other threads of this process take is not.
    grown = min(after - before for before, after in pairwise(found))
    assert grown / 50 < 400  # bytes each, of which the interpreter keeps some


def test_what_many_ask_for_is_made_once_whatever_others_ask_for() -> None:
    made: list[str] = []

    def encoded(nonce: str) -> bytes:
        made.append(nonce)
        return b""

    responses = Responses()
    for key in range(1000):
        responses.shared(LISTENER, "all", encoded)
        responses.shared(LISTENER, key, encoded)
    assert len(made) == 1001
    responses.forget(LISTENER)
    responses.shared(LISTENER, "all", encoded)
    assert len(made) == 1002


@pytest.mark.parametrize("dialect", [DeltaClient, SotwClient])
def test_a_type_that_is_not_served_is_answered_as_the_client_writes_it(
    dialect: Callable[[Fleet], Client],
) -> None:
    talk = Conversation([world.route_head("a")]).speaking(dialect)
    types = ["type.googleapis.com/example.One", "type.googleapis.com/example.Two"]
    for type_url in types:
        talk >> subscribe(type_url, "a")
    assert {it.type_url for it in settle(talk)} == set(types)
    assert set(talk.fleet.counts) == {("sent", "other"), ("acknowledged", "other")}

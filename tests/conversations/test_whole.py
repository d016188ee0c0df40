"""Fleets that are served whole editions: all of one, in order, or nothing more of it."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import pytest
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2

from contour.xds import whole
from contour.xds.fleet import Fleet
from contour.xds.observer import RefusedWhole
from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE, SECRET, Change, Name
from contour.xds.whole import Edition
from tests.contour.xds import world
from tests.conversations.playbook import (
    Client,
    Conversation,
    DeltaClient,
    Event,
    SotwClient,
    ack,
    nack,
    nothing,
    opened,
    push,
    reconnect,
    settle,
    subscribe,
    wait,
)

DIALECTS = [DeltaClient, SotwClient]
WEB = [world.route_head("web"), world.listener("http", 80, "web")]
ONE = [world.cluster("a"), world.endpoints("a", 1), *WEB]
TWO = [
    world.cluster("a", alt_stat_name="two"),
    world.endpoints("a", 2),
    world.route_head("web"),
    world.listener("http", 81, "web"),
]


def stamped(edition: str, changes: Iterable[Change]) -> list[Change]:
    """The same resources as an edition has them; they do not say what they need."""
    return [
        it._replace(value=whole.part(it.value.body, edition)) if it.value else it for it in changes
    ]


def secret(key: str) -> Change:
    made = secret_pb2.Secret(name="tls")
    made.tls_certificate.private_key.inline_string = key
    return Change(Name(SECRET, "tls"), "", whole.part(made.SerializeToString(), "1"))


def edition(name: str, *changes: Change) -> Event:
    return lambda talk: talk.fleet.publish_edition(name, stamped(name, changes))


class Witness:
    """What the fleet has told of editions."""

    def __init__(self) -> None:
        self.refused: list[tuple[str, str, tuple[str, ...], str]] = []
        self.taken: list[str] = []


def talking(
    dialect: Callable[[Fleet], Client], *changes: Change, name: str = "1"
) -> tuple[Conversation, Witness]:
    fleet = Fleet("node", clock=lambda: talk.now, edition=Edition())
    talk = Conversation(fleet=fleet)
    witness = Witness()

    def refused(said: RefusedWhole) -> None:
        witness.refused.append((said.edition, said.type_url, said.names, said.words))

    told: Any = talk.observer
    told.edition_refused, told.edition_taken = refused, witness.taken.append
    talk >> edition(name, *changes)
    return opened(talk.speaking(dialect)), witness


@pytest.mark.parametrize("dialect", DIALECTS)
def test_listeners_and_routes_follow_when_all_else_is_acknowledged(
    dialect: Callable[[Fleet], Client],
) -> None:
    talk, witness = talking(dialect, *ONE)
    talk >> edition("2", *TWO) << push(CLUSTER, "a") << push(ENDPOINTS, "a") << nothing
    talk >> ack(CLUSTER) << nothing
    talk >> ack(ENDPOINTS) << push(LISTENER, "http") << push(ROUTE, "web") << nothing
    assert witness.taken[-1] == "1"
    talk >> ack(LISTENER) >> ack(ROUTE) << nothing
    assert witness.taken[-1] == "2"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_listeners_do_not_wait_for_ever(dialect: Callable[[Fleet], Client]) -> None:
    talk, _ = talking(dialect, *ONE)
    talk >> edition("2", *TWO) << push(CLUSTER, "a") << push(ENDPOINTS, "a")
    talk >> ack(ENDPOINTS) >> wait(4.9) << nothing
    talk >> wait(0.2) << push(LISTENER, "http") << push(ROUTE, "web") << nothing


@pytest.mark.parametrize("dialect", DIALECTS)
def test_other_endpoints_do_not_put_listeners_off_but_another_edition_does(
    dialect: Callable[[Fleet], Client],
) -> None:
    talk, _ = talking(dialect, *ONE)
    talk >> edition("2", *TWO) << push(CLUSTER, "a") << push(ENDPOINTS, "a") >> ack(ENDPOINTS)
    talk >> wait(3) >> edition("3", *TWO) << push(CLUSTER, "a") << push(ENDPOINTS, "a")
    talk >> ack(ENDPOINTS) >> wait(4) << nothing
    talk >> edition("3", world.endpoints("a", 3)) << push(ENDPOINTS, "a")
    talk >> ack(ENDPOINTS) >> wait(0.9) << nothing
    talk >> wait(0.2) << push(LISTENER, "http") << push(ROUTE, "web") << nothing


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_envoy_that_starts_has_not_taken_an_edition_before_its_listeners(
    dialect: Callable[[Fleet], Client],
) -> None:
    talk, witness = talking(dialect, *ONE)
    talk >> edition("2", *TWO) >> reconnect(dialect)
    talk >> subscribe(CLUSTER) << push(CLUSTER, "a") >> subscribe(ENDPOINTS, "a") >> ack(CLUSTER)
    talk << push(ENDPOINTS, "a") >> ack(ENDPOINTS)
    talk >> subscribe(LISTENER) << push(LISTENER, "http") >> subscribe(ROUTE, "web")
    talk >> ack(LISTENER) << push(ROUTE, "web")
    assert "2" not in witness.taken
    talk >> ack(ROUTE)
    assert witness.taken[-1] == "2"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("type_url", "names", "changes"),
    [
        (CLUSTER, (), [world.cluster("a")]),
        (LISTENER, (), [world.listener("http", 81, "web")]),
        (ROUTE, ("web",), [world.route_head("web"), world.endpoints("unused", 1)]),
    ],
)
def test_an_edition_is_taken_by_who_asks_for_what_it_has(
    dialect: Callable[[Fleet], Client], type_url: str, names: Sequence[str], changes: list[Change]
) -> None:
    talk, witness = talking(dialect, *ONE)
    talk >> edition("2", *world.gone(*ONE), *stamped("2", changes)) >> reconnect(dialect)
    talk >> subscribe(type_url, *names)
    settle(talk)
    assert witness.taken[-1] == "2"


@pytest.mark.parametrize("dialect", [DeltaClient, SotwClient])
def test_streams_of_one_type_each_take_an_edition_together(
    dialect: Callable[..., Client],
) -> None:
    talk, witness = talking(DeltaClient, *ONE)
    talk >> edition("2", *TWO)
    for type_url in (CLUSTER, LISTENER):
        assert "2" not in witness.taken
        talk >> reconnect(partial(dialect, type_url=type_url)) >> subscribe(type_url)
        settle(talk)
    assert witness.taken[-1] == "2"


def test_a_listener_makes_room_for_one_of_its_port_in_the_same_response() -> None:
    talk, _ = talking(DeltaClient, *ONE)
    left, came = world.listener("http", 80, "web"), world.listener("other", 80, "web")
    talk >> edition("2", world.cluster("a"), *stamped("2", [came]), *world.gone(left))
    talk << push(CLUSTER, "a") << nothing
    talk >> ack(CLUSTER) << push(LISTENER, "other", removed=["http"]) << nothing


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_cluster_leaves_after_the_listeners_that_may_have_used_it(
    dialect: Callable[[Fleet], Client],
) -> None:
    talk, _ = talking(dialect, *ONE, world.cluster("b"))
    talk >> edition("2", *TWO, *world.gone(world.cluster("b")))
    talk << push(CLUSTER, "a", *(["b"] if dialect is SotwClient else [])) << push(ENDPOINTS, "a")
    talk >> ack(CLUSTER) >> ack(ENDPOINTS) << push(LISTENER, "http") << push(ROUTE, "web")
    talk >> ack(LISTENER) >> wait(2) << nothing
    talk >> ack(ROUTE) << nothing
    talk >> wait(2)
    gone = push(CLUSTER, "a") if dialect is SotwClient else push(CLUSTER, removed=["b"])
    talk << gone << nothing


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("at", [CLUSTER, ENDPOINTS, LISTENER, ROUTE])
def test_a_refusal_is_told_and_nothing_more_of_the_edition_is_sent(
    dialect: Callable[[Fleet], Client], at: str
) -> None:
    talk, witness = talking(dialect, *ONE)
    talk >> edition("2", *TWO)
    _until(talk, at)
    talk >> nack(at, "no good")
    names = ("http",) if at == LISTENER else ("web",) if at == ROUTE else ("a",)
    assert witness.refused == [("2", at, names, "no good")]
    for it in {CLUSTER, ENDPOINTS, LISTENER, ROUTE} - {at}:
        if talk.client.nonces.get(it):
            talk >> ack(it)
    talk << nothing
    talk >> wait(60) << nothing
    talk >> edition("2", world.endpoints("a", 3))
    if at != CLUSTER:  # it had been sent all endpoints, and goes on using them
        talk << push(ENDPOINTS, "a") >> ack(ENDPOINTS)
    talk << nothing
    assert "2" not in witness.taken


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_edition_before_is_sent_again_in_full_and_only_once(
    dialect: Callable[[Fleet], Client],
) -> None:
    """Also what did not change, and what the Envoy says that it has."""
    talk, witness = talking(dialect, *ONE)
    talk >> edition("2", *TWO) << push(CLUSTER, "a") << push(ENDPOINTS, "a")
    talk >> ack(CLUSTER) >> ack(ENDPOINTS) << push(LISTENER, "http") << push(ROUTE, "web")
    talk >> nack(LISTENER, "no good") >> ack(ROUTE) << nothing
    talk >> edition("1 not 2", *ONE)
    assert _names(settle(talk)) == {
        (CLUSTER, "a"), (ENDPOINTS, "a"), (LISTENER, "http"), (ROUTE, "web")
    }  # fmt: skip
    assert witness.taken[-1] == "1 not 2"
    talk >> edition("1 not 2", *ONE) << nothing


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("edition_", ["1", "1 not 2"])
def test_another_replica_sends_it_again_too_if_it_is_another_edition(
    dialect: Callable[[Fleet], Client], edition_: str
) -> None:
    """An Envoy that refused "2" after "1" says that it has "1", and may have some of both."""
    first, _ = talking(DeltaClient, *ONE)
    has = first.client.has
    other = Fleet("node", clock=lambda: 0.0, edition=Edition())
    other.publish_edition(edition_, stamped(edition_, ONE))
    talk = Conversation(fleet=other).speaking(DeltaClient)
    for type_url in (CLUSTER, LISTENER):
        talk.request(talk.client.subscribe(type_url, (), **has[type_url]))
    sent = settle(talk)
    assert bool(sent) == (edition_ != "1")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_refusal_that_comes_late_is_told_of_the_edition_it_is_about(
    dialect: Callable[[Fleet], Client],
) -> None:
    talk, witness = talking(dialect, *ONE)
    talk >> edition("2", *TWO) << push(CLUSTER, "a") << push(ENDPOINTS, "a")
    talk >> ack(CLUSTER) >> edition("3", *ONE) >> nack(ENDPOINTS, "no good")
    assert [it[0] for it in witness.refused] == ["2"]
    assert _names(settle(talk)) >= {(ENDPOINTS, "a"), (LISTENER, "http"), (ROUTE, "web")}
    assert witness.taken[-1] == "3"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_changed_secret_is_sent_alone(dialect: Callable[[Fleet], Client]) -> None:
    talk, _ = talking(dialect, *ONE, secret("old"))
    talk >> edition("1", *ONE, secret("new")) << push(SECRET, "tls") << nothing


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_changed_secret_is_sent_after_a_refusal_too(dialect: Callable[[Fleet], Client]) -> None:
    talk, _ = talking(dialect, *ONE, secret("old"))
    talk >> edition("2", *TWO, secret("old")) << push(CLUSTER, "a") >> ack(CLUSTER)
    talk << push(ENDPOINTS, "a") >> ack(ENDPOINTS) << push(SECRET, "tls") >> ack(SECRET)
    talk << push(LISTENER, "http") >> nack(LISTENER, "cannot bind") << nothing
    talk >> edition("2", *TWO, secret("new")) << push(SECRET, "tls") << nothing


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_that_comes_after_the_refusal_is_sent_what_is_served_now(
    dialect: Callable[[Fleet], Client],
) -> None:
    talk, witness = talking(dialect, *ONE)
    talk >> edition("2", *TWO) << push(CLUSTER, "a") >> nack(CLUSTER, "no good")
    talk >> reconnect(dialect) >> subscribe(CLUSTER) << push(CLUSTER, "a") << nothing
    assert len(witness.refused) == 1


def _until(talk: Conversation, type_url: str) -> None:
    """Goes on until something of a type was sent, and acknowledges what comes before."""
    for _ in range(10):
        response = talk.client.stream.response(talk.now)
        assert response is not None
        said = talk.client.take(response)
        if said.type_url == type_url:
            return
        if said.type_url in {CLUSTER, ENDPOINTS}:
            talk >> ack(said.type_url)


def _names(said: Sequence[Any]) -> set[tuple[str, str]]:
    return {(it.type_url, name) for it in said for name in it.names}

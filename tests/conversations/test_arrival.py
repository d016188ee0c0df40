"""An Envoy that starts is let serve once it has accepted what it asked for, and not before.

What its filters are told by ECDS is what it waits for (`contour.xds.arrival`).
"""

import pytest

from contour.envoy.guards import tokens
from contour.xds import resources
from contour.xds.resources import EXTENSION, LISTENER, ROUTE, SECRET, Change, Name
from tests.contour.xds import world
from tests.conversations.playbook import (
    Conversation,
    DeltaClient,
    Event,
    SotwClient,
    ack,
    nack,
    nothing,
    publish,
    push,
    subscribe,
)

WEB = [world.route_head("web"), world.host("web", "a.test", "a"), world.listener("http", 80, "web")]
TOKENS = Change(Name(EXTENSION, tokens.NAME), "", resources.part(tokens.head()))
BAD = world.host("web", "bad.test", "a")
READY = push(EXTENSION, tokens.NAME)


def _starting(dialect: type = DeltaClient, *more: Change) -> Conversation:
    """An Envoy that has a listener, and has asked for what that one needs before it answers."""
    talk = Conversation([*WEB, TOKENS, *more]).speaking(dialect)
    talk >> subscribe(LISTENER) << push(LISTENER, "http")
    return talk >> subscribe(EXTENSION, tokens.NAME) >> subscribe(ROUTE, "web")


@pytest.mark.parametrize("dialect", [DeltaClient, SotwClient])
def test_it_serves_when_listeners_and_routes_are_accepted(dialect: type) -> None:
    talk = _starting(dialect) << push(ROUTE, "web", routes="a.test>a") << nothing
    talk >> ack(ROUTE) << nothing
    talk >> ack(LISTENER) << READY << nothing


@pytest.mark.parametrize("dialect", [DeltaClient, SotwClient])
def test_while_the_part_to_blame_is_sought_it_does_not_serve(dialect: type) -> None:
    talk = _starting(dialect, BAD) >> ack(LISTENER)
    talk << push(ROUTE, "web", routes="a.test>a bad.test>a") << nothing
    talk >> nack(ROUTE, "bad.test is bad")
    talk << push(ROUTE, "web") >> ack(ROUTE)
    talk << push(ROUTE, "web", routes="bad.test>a") << nothing
    talk >> nack(ROUTE, "bad.test is bad")
    talk << push(ROUTE, "web", routes="a.test>a") << nothing
    talk >> ack(ROUTE)
    said = []
    while (response := talk.client.stream.response(talk.now)) is not None:
        said.append(talk.client.take(response))
        talk >> ack(said[-1].type_url)
    assert READY in said


def test_a_secret_that_is_not_there_is_an_answer_too() -> None:
    talk = _starting() >> subscribe(SECRET, "none")
    talk << push(SECRET, removed=["none"]) << push(ROUTE, "web", routes="a.test>a")
    talk >> ack(ROUTE) >> ack(LISTENER) << nothing
    talk >> ack(SECRET) << READY


def test_changes_meanwhile_delay_it_no_further() -> None:
    talk = _starting() << push(ROUTE, "web", routes="a.test>a")
    talk >> publish(world.host("web", "b.test", "a"), world.listener("http", 81, "web"))
    talk >> ack(ROUTE) << push(ROUTE, "web", routes="a.test>a b.test>a")
    talk >> ack(LISTENER) << READY


def test_it_is_asked_once() -> None:
    talk = _starting() << push(ROUTE, "web", routes="a.test>a") >> ack(ROUTE) >> ack(LISTENER)
    talk << READY >> ack(EXTENSION)
    talk >> publish(world.listener("more", 81, "more"), world.route_head("more"))
    talk << push(LISTENER, "more") >> subscribe(ROUTE, "more")
    newer = resources.part(tokens.head() + resources.part(b"").body)
    talk >> publish(TOKENS._replace(value=newer), Change(TOKENS.name, "provider/x", newer))
    talk << READY


def test_one_that_comes_again_with_what_it_has_waits_for_nothing() -> None:
    talk = Conversation([*WEB, TOKENS])
    talk >> subscribe(LISTENER) << push(LISTENER, "http")
    talk >> _has(EXTENSION, tokens.NAME, "of an earlier control plane") << READY


def _has(type_url: str, name: str, version: str) -> Event:
    def ask(talk: Conversation) -> None:
        talk.request(talk.client.subscribe(type_url, [name], **{name: version}))

    return ask


def test_one_that_takes_no_listeners_here_waits_for_nothing() -> None:
    Conversation([*WEB, TOKENS]) >> subscribe(EXTENSION, tokens.NAME) << READY

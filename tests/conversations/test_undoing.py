"""A part that says what is served without it: that is served where Envoys refuse the part, whatever
they accepted before, and those of whom the part is are told, nobody else."""

from dataclasses import replace

import pytest

from contour.xds.acceptance import State
from contour.xds.resources import ROUTE, Change, Name
from tests.contour.xds import world
from tests.conversations.playbook import (
    Conversation,
    DeltaClient,
    Push,
    SotwClient,
    nothing,
    opened,
    publish,
)
from tests.conversations.test_refusals import refusing

WEB = [
    *world.site("a.test", "a", 1),
    *world.site("c.test", "c", 2),
    *world.site("d.test", "bad", 3),
    *world.site("e.test", "worse", 4),
    world.route_head("web"),
    world.listener("http", 80, "web"),
]
ROUTES = Name(ROUTE, "web")


def stacked(*changes: Change) -> Change:
    """Each one stands in for the next; the owner of a change is its first domain."""
    below = None
    for it in changes:
        assert it.value is not None
        below = replace(it.value, without=below)
    return changes[-1]._replace(value=below)


def host(to: str, *domains: str) -> Change:
    made = world.host("web", "a.test", to, ["a.test", *domains])
    assert made.value is not None
    owner = ("Policy", "", domains[-1] if domains else "route")
    return made._replace(value=replace(made.value, origins=(owner,)))


def talking(*published: Change) -> list[Conversation]:
    clients = (DeltaClient, SotwClient)
    return [opened(Conversation([*WEB, *published]).speaking(it)) for it in clients]


def served(talk: Conversation) -> bytes:
    resource = talk.fleet.store.resource(ROUTES)
    assert resource is not None
    return resource.parts["a.test"].body


def body(change: Change) -> bytes:
    assert change.value is not None
    return change.value.body


def refused(talk: Conversation, *bad: str) -> int:
    """How often an Envoy refuses what is bad, until nothing comes any more."""

    def is_bad(found: Push) -> bool:
        return any(f"a.test>{word}" in found.routes for word in bad)

    return sum(map(is_bad, refusing(talk, is_bad)))


@pytest.mark.parametrize("talk", talking(host("a")))
def test_what_stands_below_is_served_in_its_newest_state(talk: Conversation) -> None:
    talk >> publish(stacked(host("c"), host("bad", "x.test")))
    assert refused(talk, "bad") == 1
    assert served(talk) == body(host("c"))
    assert talk.client.has[ROUTE]["web"]
    assert talk.fleet.acceptance.answer(ROUTES, "a.test").state is State.REFUSED
    assert talk.observer.heard == [("refused", "a.test", "bad things")]
    talk >> publish(stacked(host("c"), host("bad", "x.test"))) << nothing


@pytest.mark.parametrize("talk", talking(host("a")))
def test_what_is_below_goes_on_when_it_changes_alone(talk: Conversation) -> None:
    talk >> publish(stacked(host("a"), host("bad", "x.test")))
    refused(talk, "bad")
    talk >> publish(stacked(host("c"), host("bad", "x.test")))
    assert refused(talk, "bad") == 0
    assert served(talk) == body(host("c"))


@pytest.mark.parametrize("talk", talking(host("a")))
def test_of_several_layers_the_lowest_is_served_in_the_end_and_all_are_told(
    talk: Conversation,
) -> None:
    talk >> publish(stacked(host("a"), host("worse", "x.test"), host("bad", "y.test")))
    assert refused(talk, "bad", "worse") == 2
    assert served(talk) == body(host("a"))
    found = talk.fleet.quarantine.refusal(ROUTES, "a.test")
    assert found is not None
    assert [it[2] for it in found.origins] == ["x.test", "y.test"]


@pytest.mark.parametrize("talk", talking(host("a")))
def test_a_repaired_part_is_taken_again(talk: Conversation) -> None:
    talk >> publish(stacked(host("a"), host("bad", "x.test")))
    refused(talk, "bad")
    talk >> publish(stacked(host("a"), host("c", "x.test")))
    refused(talk, "bad")
    assert served(talk) == body(host("c", "x.test"))
    assert talk.observer.heard[-1] == ("recovered", "a.test", "")
    assert not list(talk.fleet.quarantine)

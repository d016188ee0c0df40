"""A listener for TLS is no message without a filter chain: it is said when one may be served."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from envoy.config.listener.v3 import listener_pb2

from contour.xds import resources
from contour.xds.acceptance import State
from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, Change, Name
from tests.contour.xds import world
from tests.conversations.playbook import (
    Conversation,
    DeltaClient,
    SotwClient,
    ack,
    nothing,
    publish,
    push,
    subscribe,
)

SECURE = Name(LISTENER, "secure")
CLUSTERS = [world.cluster("a"), world.endpoints("a", 1)]
# The generated modules make their messages when they are imported: there is nothing to check.
pb: Any = listener_pb2


def head() -> Change:
    part = resources.part(pb.Listener(name="secure").SerializeToString())
    return Change(SECURE, "", replace(part, is_fragment=True))


def name(host: str) -> Change:
    """What is no chain."""
    return Change(SECURE, f"name/{host}", resources.part(pb.Listener().SerializeToString()))


def chain(of: str, *needs: str) -> Change:
    made = pb.Listener()
    made.filter_chains.add(name=of)
    part = resources.part(made.SerializeToString(), {Name(CLUSTER, it) for it in needs})
    return Change(SECURE, f"chain/{of}", replace(part, completes=True))


def talk(dialect: Callable[..., Any], *published: Iterable[Change]) -> Conversation:
    """A client that has asked for clusters and for all listeners, and got what there is."""
    found = Conversation(*published).speaking(dialect)
    found >> subscribe(CLUSTER)
    found >> subscribe(LISTENER)
    return found


def served(found: Conversation) -> list[list[str]]:
    """The chains of each response about listeners, until no more comes; bad ones are refused."""
    said = []
    while (response := found.client.stream.response(found.now)) is not None:
        taken = found.client.take(response)
        type_url = taken.type_url
        chains = [it for it in ("good", "other", "bad") if it.encode() in response]
        is_fragment = "secure" in taken.names and not chains
        is_bad = type_url == LISTENER and (is_fragment or "bad" in chains)
        found.request(found.client.answer(type_url, "bad chain" if is_bad else ""))
        if type_url == LISTENER:
            said.append(chains)
    return said


both = pytest.mark.parametrize("dialect", [DeltaClient, SotwClient])


@both
def test_a_listener_whose_only_chain_waits_is_not_said_before(dialect: Callable[..., Any]) -> None:
    found = talk(dialect, [*CLUSTERS, head(), chain("good", "a"), name("x.test")])
    found << push(CLUSTER, "a") >> subscribe(ENDPOINTS, "a") << push(ENDPOINTS, "a")
    found << nothing
    found >> ack(ENDPOINTS) << push(LISTENER, "secure") >> ack(LISTENER) << nothing
    assert found.fleet.acceptance.answer(SECURE, "chain/good").state is State.ACCEPTED


@both
def test_a_listener_is_not_emptied_while_its_next_chain_waits(dialect: Callable[..., Any]) -> None:
    found = talk(dialect, [head(), chain("good")])
    assert served(found)[-1] == ["good"]
    gone = chain("good")._replace(value=None)
    found >> publish([*CLUSTERS, gone, chain("other", "a")])
    found << push(CLUSTER, "a") >> subscribe(ENDPOINTS, "a") << push(ENDPOINTS, "a") << nothing
    found >> ack(ENDPOINTS)
    assert served(found) == [["other"]]


@both
def test_a_bad_chain_of_a_new_listener_is_found(dialect: Callable[..., Any]) -> None:
    found = talk(dialect, [head(), *map(chain, ("bad", "good", "other")), name("x.test")])
    assert served(found)[-1] == ["good", "other"]
    assert [part for _, part, _ in found.fleet.quarantine] == ["chain/bad"]
    assert found.fleet.acceptance.is_settled


@both
def test_a_listener_of_which_every_chain_is_bad_comes_with_the_first_that_is_not(
    dialect: Callable[..., Any],
) -> None:
    found = talk(dialect, [head(), chain("bad"), name("x.test"), name("y.test")])
    served(found)
    assert [part for _, part, _ in found.fleet.quarantine] == ["chain/bad"]
    assert found.fleet.acceptance.is_settled
    found >> publish(chain("good"))
    assert served(found)[-1] == ["good"]

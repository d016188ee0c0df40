"""What can be looked at of every Envoy, and what cannot."""

import json
from typing import Any

import orjson

from contour.inspection import server
from contour.xds import resources, view
from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE, SCOPE, SECRET, Change, Name
from tests.contour.xds import world
from tests.conversations.playbook import (
    Conversation,
    ack,
    nack,
    opened,
    publish,
    push,
    settle,
    subscribe,
)

SITE = [world.route_head("web"), *world.site("a.test", "a", 1)]


def shown(talk: Conversation) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(json.dumps(view.fleet(talk.fleet)))
    return found


def types(talk: Conversation) -> dict[str, dict[str, object]]:
    (envoy,) = shown(talk)["envoys"]
    return {it["type"]: it for it in envoy["types"]}


def test_an_envoy_that_has_everything() -> None:
    seen = types(opened(Conversation(SITE)))
    assert list(seen) == [CLUSTER, ENDPOINTS, LISTENER, ROUTE, SCOPE]
    assert seen[CLUSTER]["subscribed"] == "*"
    assert seen[ENDPOINTS]["subscribed"] == ["a"]
    assert all(not it["unsent"] and not it["unanswered"] for it in seen.values())


def test_what_waits_says_for_what_and_what_is_refused_says_why() -> None:
    talk = opened(Conversation(SITE))
    talk >> publish(world.site("b.test", "b", 2)) << push(CLUSTER, "b")
    assert types(talk)[ROUTE]["waiting"] == {"web": {"b.test": ["b"]}}
    assert types(talk)[CLUSTER]["unanswered"] == ["b"]
    talk >> subscribe(ENDPOINTS, "b") << push(ENDPOINTS, "b") >> ack(ENDPOINTS)
    talk << push(ROUTE, "web", routes="a.test>a b.test>b") >> nack(ROUTE, "no such thing")
    settle(talk)
    (quarantined,) = shown(talk)["quarantine"]
    assert (quarantined["part"], quarantined["refusal"]) == ("b.test", "no such thing")
    assert talk.fleet.counts["refused", ROUTE] == 1


def test_no_key_shows() -> None:
    secret = Change(Name(SECRET, "key"), "", resources.part(b"\n\x03key-----BEGIN PRIVATE KEY"))
    talk = opened(Conversation([*SITE, secret]))
    assert "PRIVATE" not in json.dumps(view.fleet(talk.fleet))


def test_names_are_shown_in_steps() -> None:
    """Ten thousand hosts at once would keep the event loop for a tenth of a second."""
    hosts = [Change(Name(CLUSTER, f"c{n}"), "", resources.part(b"")) for n in range(1000)]
    talk = opened(Conversation(hosts))
    assert len(list(view.steps(talk.fleet))) > len(hosts) / 100


def test_a_subscription_is_shown_as_it_is_to_be_written() -> None:
    talk = opened(Conversation(SITE))
    *_, found = view.steps(talk.fleet, server.fragment)
    assert json.loads(orjson.dumps(found)) == shown(talk)


def test_each_envoy_is_a_step() -> None:
    """All names of many Envoys at once would keep the event loop for seconds."""
    talk = opened(Conversation(SITE))
    other = opened(Conversation(fleet=talk.fleet))
    *turns, found = view.steps(talk.fleet)
    assert len(turns) >= 2
    assert found == view.fleet(other.fleet)
    assert found is not None
    assert len(shown(talk)["envoys"]) == 2

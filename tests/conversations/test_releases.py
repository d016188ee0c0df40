"""Envoys of several releases: an older one gets what it can load, in both dialects."""

from dataclasses import replace
from typing import Any

import pytest

from contour.xds import resources
from contour.xds.acceptance import State
from contour.xds.fleet import Fleet
from contour.xds.releases import Release
from contour.xds.resources import ROUTE, Change, Name
from tests.contour.xds import world
from tests.conversations.playbook import (
    Client,
    Conversation,
    DeltaClient,
    SotwClient,
    ack,
    nack,
    nothing,
    pb,
    publish,
    push,
    settle,
    subscribe,
)

OLD, NEW = Release(1, 39, 3), Release(1, 40, 0)
WEB = world.route_head("web")


def host(to: str, older: str = "", fqdn: str = "a.test") -> Change:
    """A host that leads somewhere else on older Envoys."""
    made = replace(_part(fqdn, to), needs=())
    if older:
        made = replace(made, since=Release(1, 40), older=replace(_part(fqdn, older), needs=()))
    return Change(Name(ROUTE, "web"), fqdn, made)


def _part(fqdn: str, to: str) -> resources.Part:
    value = world.host("web", fqdn, to).value
    assert value is not None
    return value


def of(release: Release | None, kind: type[DeltaClient | SotwClient]) -> Any:
    """A client that says of which release it is."""

    class Told(kind):  # type: ignore[misc, valid-type]
        def _request(self, type_url: str) -> Any:
            made = super()._request(type_url)
            if release is not None and made.HasField("node"):
                version = made.node.user_agent_build_version.version
                version.major_number, version.minor_number, version.patch = release
            return made

    return Told


def talking(release: Release | None, kind: Any, *published: Change) -> Conversation:
    talk = Conversation([WEB, *published]).speaking(of(release, kind))
    return talk >> subscribe(ROUTE, "web")


BOTH = pytest.mark.parametrize("kind", [DeltaClient, SotwClient])


@BOTH
@pytest.mark.parametrize(
    ("release", "to"),
    [
        (OLD, "plain"),
        (Release(1, 9, 0), "plain"),
        (NEW, "new"),
        (Release(2, 0), "new"),
        (None, "new"),
    ],
)
def test_each_gets_what_it_can_load(kind: Any, release: Release | None, to: str) -> None:
    talk = talking(release, kind, host("new", "plain"), host("b", fqdn="b.test"))
    talk << push(ROUTE, "web", routes=f"a.test>{to} b.test>b") >> ack(ROUTE) << nothing
    talk >> publish(host("c", fqdn="b.test")) << push(ROUTE, "web", routes=f"a.test>{to} b.test>c")


@BOTH
def test_what_is_left_out_comes_and_goes(kind: Any) -> None:
    talk = talking(OLD, kind, host("new")) << push(ROUTE, "web", routes="a.test>new") >> ack(ROUTE)
    talk >> publish(host("newer", "plain")) << push(ROUTE, "web", routes="a.test>plain")
    talk >> ack(ROUTE) >> publish(host("newest")) << push(ROUTE, "web", routes="a.test>newest")
    talk >> ack(ROUTE) << nothing


@BOTH
def test_two_releases_share_no_response(kind: Any) -> None:
    talk = Conversation([WEB, host("new", "plain")])
    for release, to in ((NEW, "new"), (OLD, "plain"), (NEW, "new"), (OLD, "plain")):
        talk.speaking(of(release, kind)) >> subscribe(ROUTE, "web")
        talk << push(ROUTE, "web", routes=f"a.test>{to}")


def test_one_that_comes_again_is_not_sent_what_it_has() -> None:
    talk = talking(OLD, DeltaClient, host("new", "plain"))
    talk << push(ROUTE, "web", routes="a.test>plain") >> ack(ROUTE)
    version = talk.client.has[ROUTE]["web"]
    talk.client.stream.close(talk.now)
    talk.speaking(of(OLD, DeltaClient))
    talk.request(talk.client.subscribe(ROUTE, ["web"], web=version))
    talk << nothing


def test_a_refusal_by_an_older_one_takes_nothing_from_newer_ones() -> None:
    """Also if it says so first."""
    talk = Conversation([WEB, host("b", fqdn="b.test")])
    newer: Client = of(NEW, DeltaClient)(talk.fleet)
    newer.stream.receive(newer.subscribe(ROUTE, ["web"]), 0.0)
    talk.speaking(of(OLD, DeltaClient)) >> subscribe(ROUTE, "web")
    settle(talk)
    talk >> publish(host("bad")) << push(ROUTE, "web", routes="a.test>bad b.test>b")
    talk >> nack(ROUTE, "cannot")
    settle(talk)
    answer = talk.fleet.acceptance.answer(Name(ROUTE, "web"), "a.test")
    assert (answer.state, answer.words) == (State.REFUSED, "cannot")
    response = newer.stream.response(talk.now)
    assert response is not None
    assert newer.take(response).routes == {"a.test>bad", "b.test>b"}


def test_who_refuses_is_counted_by_release() -> None:
    heard: list[dict[str, int]] = []
    talk = Conversation([WEB, host("b", fqdn="b.test")])
    talk.observer.refused = lambda refused: heard.append(dict(refused.by))  # type: ignore[method-assign]
    clients = [of(it, DeltaClient)(talk.fleet) for it in (NEW, OLD, OLD)]
    for client in clients:
        talk.client = client
        talk >> subscribe(ROUTE, "web")
        settle(talk)
    talk.fleet.publish([host("bad")])
    for client in clients:
        talk.client = client
        response = client.stream.response(talk.now)
        assert response is not None
        client.take(response)
        talk >> (ack(ROUTE) if client is clients[0] else nack(ROUTE, "cannot"))
        settle(talk)
    assert heard == [{"1.39.3": 1}, {"1.39.3": 2}]
    clients[1].stream.close(talk.now)
    assert heard[2:] == [{"1.39.3": 1}]


def test_the_observer_is_told_of_the_releases() -> None:
    heard: list[tuple[int, dict[str, int]]] = []
    fleet = Fleet("web")
    fleet.publish([world.listener("http", 80, "web")])
    fleet.observer.connected = lambda n, of: heard.append((n, dict(of)))  # type: ignore[method-assign, misc, assignment]
    for release in (OLD, None):
        client = of(release, DeltaClient)(fleet)
        client.stream.receive(client.subscribe(resources.LISTENER, ()), 0.0)
    assert heard[-1] == (2, {"1.39.3": 1, "": 1})


def test_a_node_may_say_nothing_of_itself() -> None:
    assert Release.of(pb.DeltaDiscoveryRequest().node) is None

"""Clients that are served by name only: what is not for them is not there, and what one refuses is
its own affair."""

import pytest

from contour.metrics.fleets import Fleets
from contour.xds import view, xdstp
from contour.xds.byname import LONGEST_WORDS, MOST_NAMES
from contour.xds.fleet import Fleet
from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE, Change, part
from contour.xds.stream import Violation
from tests.contour.metrics import scraped
from tests.contour.xds import world
from tests.conversations.playbook import (
    Conversation,
    DeltaClient,
    SotwClient,
    ack,
    nack,
    nothing,
    publish,
    push,
    subscribe,
    unsubscribe,
    wait,
)

SITE = [
    world.cluster("a"), world.endpoints("a", 1), world.listener("a", 1, "a"),
    world.route_head("a"), world.host("a", "*", "a"),
]  # fmt: skip


def seen_by(viewers: str, *changes: Change) -> list[Change]:
    """The changes, for these viewers only."""
    return [
        it._replace(value=part(it.value.body, it.value.needs, (), frozenset(viewers.split())))
        for it in changes
        if it.value is not None
    ]


def fleet(*changes: Change) -> Fleet:
    made = Fleet("clients", clock=lambda: 0.0)
    made.is_by_name = True
    made.publish(changes)
    return made


def client(of: Fleet, viewer: str) -> Conversation:
    """A conversation of one viewer with a fleet that others look at, too."""
    talk = Conversation(fleet=of)
    return talk.speaking(lambda it: SotwClient(it, cluster=f"clients/{viewer}"))


def test_resources_are_sent_by_name_and_no_others() -> None:
    talk = client(fleet(*SITE, world.listener("b", 2, "b")), "shop")
    talk >> subscribe(LISTENER, "a") << push(LISTENER, "a") >> ack(LISTENER)
    talk >> subscribe(ROUTE, "a") << push(ROUTE, "a", routes="*>a") >> ack(ROUTE)
    talk >> subscribe(CLUSTER, "a") << push(CLUSTER, "a") >> ack(CLUSTER)
    talk >> subscribe(ENDPOINTS, "a") << push(ENDPOINTS, "a") >> ack(ENDPOINTS) << nothing


@pytest.mark.parametrize("names", [(), ("*",)])
def test_nobody_gets_everything(names: tuple[str, ...]) -> None:
    client(fleet(*SITE), "shop") >> subscribe(LISTENER, *names) << push(LISTENER) << nothing


def test_a_name_is_found_in_every_spelling_and_answered_in_its_canonical_one() -> None:
    name = xdstp.named("", LISTENER, "a")
    talk = client(fleet(world.listener(name, 1, "a")), "shop")
    talk >> subscribe(LISTENER, name.replace("xdstp:/", "xdstp:///") + "#x") << push(LISTENER, name)


@pytest.mark.parametrize("type_url", [LISTENER, CLUSTER, ROUTE, ENDPOINTS])
def test_what_is_for_others_is_as_what_is_not_there(type_url: str) -> None:
    of = fleet(*seen_by("bank", *SITE))
    theirs, ours = client(of, "bank"), client(of, "shop")
    has = theirs >> subscribe(type_url, "a")
    has.client.take(has.client.stream.response(0) or b"")
    ours >> subscribe(type_url, "a")
    absent = client(of, "shop") >> subscribe(type_url, "ghost")
    said, nowhere = (it.client.stream.response(0) for it in (ours, absent))
    assert said is not None
    assert nowhere is not None
    ours.client.take(said)
    absent.client.take(nowhere)
    assert theirs.client.has[type_url]["a"]
    if type_url == ENDPOINTS:
        assert len(ours.client.has[type_url]["a"]) < len(theirs.client.has[type_url]["a"])
    else:
        assert ours.client.has[type_url] == absent.client.has[type_url] == {}
    theirs >> ack(type_url)
    ours >> ack(type_url)
    theirs.fleet.publish(seen_by("bank", world.listener("a", 3, "a"), world.endpoints("a", 3)))
    assert ours.client.stream.response(0) is None


def test_a_change_of_the_audience_brings_a_resource_and_takes_it_away() -> None:
    talk = client(fleet(*seen_by("bank", *SITE)), "shop")
    talk >> subscribe(LISTENER, "a") << push(LISTENER) >> ack(LISTENER)
    talk >> publish(seen_by("bank shop", *SITE)) << push(LISTENER, "a") >> ack(LISTENER)
    talk >> publish(seen_by("bank", *SITE)) << push(LISTENER) >> ack(LISTENER)
    talk >> publish(seen_by("bank", world.listener("a", 4, "a"))) << nothing


def test_what_one_client_refuses_is_told_and_kept_from_nobody() -> None:
    of = fleet(*SITE)
    one, other = client(of, "shop"), client(of, "shop")
    heard = other.observer
    for talk in (one, other):
        talk >> subscribe(LISTENER, "a") << push(LISTENER, "a") >> ack(LISTENER)
    of.publish([world.listener("a", 2, "a")])
    one << push(LISTENER, "a")
    one >> nack(LISTENER, "a: bad") << nothing
    told = str({"a": {"": "a: bad"}})
    assert str(view.fleet(of)).count(told) == 1
    other << push(LISTENER, "a")
    newcomer = client(of, "shop")
    newcomer >> subscribe(LISTENER, "a") << push(LISTENER, "a") >> ack(LISTENER)
    assert not list(of.quarantine)
    assert heard.heard == [("refused", "a", "a: bad")]
    of.publish([world.listener("a", 3, "a")])
    one << push(LISTENER, "a") >> ack(LISTENER) << nothing
    assert told not in str(view.fleet(of))
    assert newcomer.observer.heard == [("recovered", "a", "")]


def _refusing(*names: str) -> str:
    """What gRPC says."""
    found = "; ".join(f"resource index {i}: {it}: INTERNAL: no" for i, it in enumerate(names))
    return f"xDS response validation errors: [{found}]"


SHORT, LONG = "a.shop:80", "data.shop:80"
LISTED = [world.listener(it, 1, "a") for it in (SHORT, LONG)]


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (_refusing(SHORT), [SHORT]),
        (_refusing(LONG), [LONG]),
        (_refusing(SHORT, LONG), [SHORT, LONG]),
        (f"LDS response Listener '{LONG}' validation error: no", [LONG]),
        (f"{LONG}80, {SHORT}/{LONG}: no", [SHORT, LONG]),  # neither is named, so all that changed
        ("no", [SHORT, LONG]),
    ],
)
def test_a_refusal_is_about_the_whole_names_in_its_words(words: str, about: list[str]) -> None:
    talk = client(fleet(*LISTED), "shop")
    talk >> subscribe(LISTENER, SHORT, LONG) << push(LISTENER, SHORT, LONG)
    talk >> nack(LISTENER, words)
    assert sorted(talk.observer.heard) == [("refused", it, words) for it in about]


def test_what_changed_beside_something_refused_is_not_blamed_for_it() -> None:
    """A response that lists everything is refused for as long as anything in it is bad."""
    talk = client(fleet(*LISTED), "shop")
    talk >> subscribe(LISTENER, SHORT, LONG) << push(LISTENER, SHORT, LONG)
    talk >> nack(LISTENER, _refusing(SHORT, LONG))
    talk.observer.heard.clear()
    for port in (2, 3):
        talk >> publish(world.listener(LONG, port, "a")) << push(LISTENER, SHORT, LONG)
        talk >> nack(LISTENER, _refusing(SHORT))
    assert talk.observer.heard == [("recovered", LONG, "")]


def test_an_acknowledged_list_ends_every_refusal_of_it() -> None:
    talk = client(fleet(*LISTED), "shop")
    talk >> subscribe(LISTENER, SHORT, LONG) << push(LISTENER, SHORT, LONG) >> nack(LISTENER, "no")
    talk >> publish(world.listener(LONG, 2, "a")) << push(LISTENER, SHORT, LONG)
    talk >> ack(LISTENER)
    assert sorted(talk.observer.heard[2:]) == [("recovered", it, "") for it in (SHORT, LONG)]


def test_refusals_are_counted_by_type_and_bounded() -> None:
    of = fleet(*SITE, world.listener("b", 2, "b"))
    for viewer, name, words in (
        ("shop", "a", "x" * 100_000),
        ("bank", "a", "z"),
        ("shop", "b", "y"),
    ):
        talk = client(of, viewer)
        talk >> subscribe(LISTENER, name) << push(LISTENER, name) >> nack(LISTENER, words)
    assert [*of.declines.counts()] == [(LISTENER, 2, 3)]
    shown = view.fleet(of)["envoys"]
    assert isinstance(shown, list)
    assert sorted(it["namespace"] for it in shown) == ["bank", "shop", "shop"]
    found = {it["types"][0]["refused"].popitem()[1][""] for it in shown}
    assert found == {"x" * LONGEST_WORDS, "z", "y"}
    values = scraped.values(Fleets({"clients": of}, {}), "contour_xds_declined_resources")
    assert values == {("clients", "listeners"): 2}
    values = scraped.values(Fleets({"clients": of}, {}), "contour_xds_declining_clients")
    assert values == {("clients", "listeners"): 3}


@pytest.mark.parametrize("leaves", [True, False])
def test_a_refusal_ends_with_its_client(leaves: bool) -> None:
    talk = client(fleet(*SITE), "shop")
    talk >> subscribe(LISTENER, "a") << push(LISTENER, "a") >> nack(LISTENER, "bad")
    if leaves:
        talk.client.stream.close(0)
    else:
        talk >> unsubscribe(LISTENER, "a")
    assert talk.observer.heard == [("refused", "a", "bad"), ("recovered", "a", "")]


def test_a_cluster_goes_after_the_routes_to_it() -> None:
    talk = client(fleet(*SITE, world.cluster("b")), "shop")
    talk.fleet.clock = lambda: talk.now
    for kind in (LISTENER, ROUTE, CLUSTER, ENDPOINTS):
        talk >> subscribe(kind, "a")
    for kind in (CLUSTER, ENDPOINTS, LISTENER):
        talk << push(kind, "a") >> ack(kind)
    talk << push(ROUTE, "a", routes="*>a") >> ack(ROUTE) >> wait(10)
    moved = [world.host("a", "*", "b"), *world.gone(SITE[0], SITE[1])]
    talk >> publish(moved) << push(ROUTE, "a", routes="*>b") << nothing
    talk >> ack(ROUTE) << nothing
    talk >> wait(1.5) << push(CLUSTER)


def test_a_client_that_comes_back_is_told_everything_again() -> None:
    of = fleet(*SITE)
    first = client(of, "shop")
    first >> subscribe(LISTENER, "a") << push(LISTENER, "a")
    again = client(of, "shop")
    again.client.versions |= first.client.versions
    again >> subscribe(LISTENER, "a") << push(LISTENER, "a")


def test_there_is_an_end_to_names() -> None:
    talk = client(fleet(*SITE), "shop")
    with pytest.raises(Violation, match=str(MOST_NAMES)):
        talk >> subscribe(LISTENER, *(f"name-{it}" for it in range(MOST_NAMES + 1)))


def test_all_names_can_be_replaced_by_as_many_others() -> None:
    talk = client(fleet(*SITE), "shop")
    talk >> subscribe(ROUTE, *(f"old-{it}" for it in range(MOST_NAMES))) << push(ROUTE)
    assert isinstance(talk.client, SotwClient)
    talk.client.names[ROUTE] = {"a", *(f"new-{it}" for it in range(MOST_NAMES - 1))}
    talk >> ack(ROUTE) << push(ROUTE, "a", routes="*>a")


@pytest.mark.parametrize("name", ["x" * 10_000, "xdstp:", "xdstp://a/b\n/c", "xdstp://a"])
def test_a_malformed_name_is_shown_and_concerns_no_other(name: str) -> None:
    talk = client(fleet(*SITE), "shop")
    talk >> subscribe(LISTENER, name, "a") << push(LISTENER, "a") >> ack(LISTENER)
    assert f"'malformed': {{{name[:80]!r}: " in str(view.fleet(talk.fleet))
    talk >> unsubscribe(LISTENER, name)
    assert "'malformed': {}" in str(view.fleet(talk.fleet))


def test_the_incremental_variant_is_refused() -> None:
    talk = Conversation(fleet=fleet(*SITE)).speaking(DeltaClient)
    with pytest.raises(Violation, match="state-of-the-world"):
        talk >> subscribe(LISTENER, "a")


def test_a_client_that_has_the_id_of_another_one_does_not_see_with_its_eyes() -> None:
    of = fleet(*seen_by("bank", *SITE))

    def told(viewer: str) -> Conversation:
        talk = Conversation(fleet=of)
        talk.speaking(lambda it: SotwClient(it, CLUSTER, f"clients/{viewer}"))
        return talk >> subscribe(CLUSTER, "a")

    told("bank") << push(CLUSTER, "a")
    stranger = told("shop") << push(CLUSTER) >> ack(CLUSTER)
    of.publish(seen_by("bank", world.cluster("a", lb_policy="RANDOM")))
    stranger << nothing

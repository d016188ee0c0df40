"""One bad part never costs more than itself: found, quarantined, told, and let out by itself."""

from collections.abc import Callable

import pytest

from contour.envoy import outputs
from contour.xds import resources
from contour.xds.acceptance import State
from contour.xds.bisection import LONGEST_WORDS
from contour.xds.quarantine import StandIn
from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE, SECRET, Change, Name
from contour.xds.stream import MOST_WORDS
from tests.contour.xds import world
from tests.conversations.playbook import (
    Client,
    Conversation,
    DeltaClient,
    Push,
    SotwClient,
    ack,
    nack,
    nothing,
    opened,
    publish,
    push,
    reconnect,
    settle,
    subscribe,
    wait,
)

A = world.site("a.test", "a", 1)
B = world.site("b.test", "b", 2)
WEB = [world.route_head("web"), world.listener("http", 80, "web")]
ROUTES = Name(ROUTE, "web")
BAD = [world.host("web", f"{it}.test", "a", ["*bad*"]) for it in "bcd"]


def refusing(talk: Conversation, is_bad: Callable[[Push], bool]) -> list[Push]:
    """An Envoy that refuses what is bad; until nothing comes any more."""
    said: list[Push] = []
    while (response := talk.client.stream.response(talk.now)) is not None:
        said.append(talk.client.take(response))
        words = "bad things" if is_bad(said[-1]) else ""
        talk.request(talk.client.answer(said[-1].type_url, words))
    return said


def hosts(count: int) -> list[Change]:
    return [world.host("web", f"g{it:02}.test", "a") for it in range(count)]


def routes(*more: str, count: int = 0) -> str:
    return " ".join(["a.test>a", *more, *(f"g{it:02}.test>a" for it in range(count))])


def brings(*routes: str) -> Callable[[Push], bool]:
    return lambda push: any(it in push.routes for it in routes)


def no_stand_in(_: Name, __: str) -> None:
    """Nothing is served in the place of a refused part."""


def both(*published: list[Change]) -> list[Conversation]:
    return [opened(Conversation(*published).speaking(it)) for it in (DeltaClient, SotwClient)]


@pytest.mark.parametrize("talk", both([*A, *WEB]))
def test_a_bad_host_goes_back_to_what_was_accepted(talk: Conversation) -> None:
    talk >> publish(world.host("web", "a.test", "a", ["*bad*"]))
    talk << push(ROUTE, "web", routes="a.test>a") >> nack(ROUTE, "bad domain")
    talk << push(ROUTE, "web", routes="a.test>a") >> ack(ROUTE) << nothing
    assert talk.observer.heard == [("refused", "a.test", "bad domain")]


def test_the_version_that_is_sent_back_is_the_accepted_one() -> None:
    talk = opened(Conversation([*A, *WEB]))
    accepted = talk.client.has[ROUTE]["web"]
    talk >> publish(BAD[0]) << push(ROUTE, "web", routes="a.test>a b.test>a")
    assert talk.client.has[ROUTE]["web"] != accepted
    talk >> nack(ROUTE, "bad") << push(ROUTE, "web", routes="a.test>a")
    assert talk.client.has[ROUTE]["web"] == accepted


@pytest.mark.parametrize("talk", both([*A, *WEB]))
def test_the_bad_host_among_many_is_found_and_the_others_are_served(talk: Conversation) -> None:
    good = hosts(31)
    talk >> publish(good, BAD[0])
    said = refusing(talk, brings("b.test>a"))
    assert said[-1].routes == set(routes(count=31).split())
    assert all("a.test>a" in it.routes for it in said)
    assert len(said) <= 2 * 6 + 3
    assert talk.observer.heard == [("refused", "b.test", "bad things")]
    assert refusing(talk, brings("b.test>a")) == []


def test_several_bad_hosts_are_found() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(BAD, hosts(9))
    said = refusing(talk, brings("b.test>a", "c.test>a", "d.test>a"))
    assert said[-1].routes == set(routes(count=9).split())
    assert {part for _, part, _ in talk.observer.heard} == {"b.test", "c.test", "d.test"}


def test_what_the_words_name_is_tried_first() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(BAD[0], hosts(30))
    talk << push(ROUTE, "web", routes=routes("b.test>a", count=30))
    talk >> nack(ROUTE, "duplicate domain b.test") << push(ROUTE, "web", routes="a.test>a b.test>a")
    talk >> nack(ROUTE, "duplicate domain b.test")
    talk << push(ROUTE, "web", routes=routes(count=30))


def test_only_the_beginning_of_very_long_words_is_read() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(BAD[0], hosts(30))
    talk << push(ROUTE, "web", routes=routes("b.test>a", count=30))
    talk >> nack(ROUTE, "x" * MOST_WORDS + "b.test")
    talk << push(ROUTE, "web", routes=routes("b.test>a", count=14))  # one half: none is named


def test_of_very_long_words_the_beginning_is_told() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(BAD[0]) << push(ROUTE, "web", routes=routes("b.test>a"))
    talk >> nack(ROUTE, "x" * MOST_WORDS) << push(ROUTE, "web", routes=routes())
    assert talk.observer.heard == [("refused", "b.test", "x" * LONGEST_WORDS)]


def test_a_bad_host_is_not_pushed_again_until_it_changes() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(BAD[0])
    refusing(talk, brings("b.test>a"))
    talk >> publish(BAD[0]) << nothing
    (
        talk
        >> publish(world.host("web", "n.test", "a"))
        << push(ROUTE, "web", routes="a.test>a n.test>a")
    )
    talk >> ack(ROUTE) << nothing


def test_a_host_that_is_repaired_leaves_quarantine_by_itself() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(BAD[0])
    refusing(talk, brings("b.test>a"))
    assert talk.fleet.acceptance.answer(ROUTES, "b.test").state is State.REFUSED
    talk >> publish(world.host("web", "b.test", "a"))
    assert talk.fleet.acceptance.answer(ROUTES, "b.test").state is State.PENDING
    talk << push(ROUTE, "web", routes="a.test>a b.test>a") >> ack(ROUTE)
    assert talk.fleet.acceptance.answer(ROUTES, "b.test").state is State.ACCEPTED
    assert talk.observer.heard[-1] == ("recovered", "b.test", "")


@pytest.mark.parametrize("talk", both([*A, *WEB]))
def test_what_stands_in_for_a_bad_host_is_served_until_it_is_repaired(talk: Conversation) -> None:
    talk.fleet.quarantine.stand_in = outputs.stand_in
    talk >> publish(BAD[0])
    said = refusing(talk, brings("b.test>a"))
    assert said[-1].routes == {"a.test>a", "b.test>"}
    assert talk.fleet.acceptance.answer(ROUTES, "b.test").state is State.REFUSED
    talk >> publish(world.host("web", "b.test", "a"))
    assert refusing(talk, lambda _: False)[-1].routes == {"a.test>a", "b.test>a"}
    assert talk.fleet.acceptance.answer(ROUTES, "b.test").state is State.ACCEPTED
    talk >> publish(BAD[0])
    assert refusing(talk, brings("b.test>a", "b.test>*bad*"))[-1].routes == {"a.test>a", "b.test>a"}


def test_what_was_accepted_is_served_and_nothing_stands_in_for_it() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk.fleet.quarantine.stand_in = outputs.stand_in
    talk >> publish(world.host("web", "a.test", "a", ["*bad*"]))
    newcomer = Conversation(fleet=talk.fleet) >> subscribe(ROUTE, "web")
    bad = talk.fleet.store.types[ROUTE]["web"].version()
    refusing(newcomer, lambda _: newcomer.client.has[ROUTE].get("web") == bad)
    assert newcomer.client.has == {ROUTE: {"web": talk.client.has[ROUTE]["web"]}}


def test_where_only_the_refuser_can_keep_what_it_has_others_are_served_the_stand_in() -> None:
    talk = Conversation([*A, *B, *WEB]) >> subscribe(ROUTE, "web")
    talk.fleet.quarantine.stand_in = outputs.stand_in
    talk << push(ROUTE, "web", routes="a.test>a b.test>b")
    had = talk.client.has[ROUTE]
    talk >> publish(world.host("web", "b.test", "a"), world.gone(*B[:2])) >> reconnect(DeltaClient)
    talk >> publish(BAD[0])
    talk.request(talk.client.subscribe(ROUTE, ["web"], **had))
    assert refusing(talk, brings("b.test>a"))[-1].routes == {"a.test>a", "b.test>b"}
    newcomer = Conversation(fleet=talk.fleet) >> subscribe(ROUTE, "web")
    newcomer << push(ROUTE, "web", routes="a.test>a b.test>")


def test_what_stands_in_for_a_bad_host_is_for_newcomers_too_and_goes_with_it() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk.fleet.quarantine.stand_in = outputs.stand_in
    talk >> publish(BAD[0])
    refusing(talk, brings("b.test>a"))
    newcomer = opened(Conversation(fleet=talk.fleet))
    assert newcomer.client.has[ROUTE]["web"] == talk.client.has[ROUTE]["web"]
    newcomer.client.stream.close(0.0)
    talk >> publish(world.gone(BAD[0])) << push(ROUTE, "web", routes="a.test>a") >> ack(ROUTE)
    assert not list(talk.fleet.quarantine)


def test_a_new_envoy_gets_what_was_accepted() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.host("web", "a.test", "a", ["*bad*"]), BAD[0])
    refusing(talk, lambda it: len(it.routes) > 1)
    accepted = talk.fleet.store.types[ROUTE]["web"].version()
    (
        talk
        >> reconnect(DeltaClient)
        >> subscribe(ROUTE, "web")
        << push(ROUTE, "web", routes="a.test>a")
    )
    assert talk.client.has[ROUTE]["web"] == accepted


def test_a_first_envoy_finds_the_bad_host_without_anything_accepted() -> None:
    talk = Conversation([*A, *WEB, *BAD, *hosts(9)])
    talk >> subscribe(ROUTE, "web")
    said = refusing(talk, brings("b.test>a", "c.test>a", "d.test>a"))
    assert said[-1].routes == set(routes(count=9).split())


def test_a_domain_that_moves_from_one_host_to_another_is_not_blamed() -> None:
    talk = opened(Conversation([*A, *WEB, world.host("web", "old.test", "a", ["x.test"])]))
    moved = world.host("web", "new.test", "a", ["x.test"])
    talk >> publish(
        world.host("web", "z.test", "a", ["*bad*"]),
        world.gone(world.host("web", "old.test", "a")),
        moved,
    )
    refusing(talk, lambda it: "z.test>a" in it.routes or {"old.test>a", "new.test>a"} <= it.routes)
    assert [part for _, part, _ in talk.observer.heard] == ["z.test"]
    assert talk.fleet.store.types[ROUTE]["web"].parts.keys() == {"", "a.test", "new.test"}


@pytest.mark.parametrize("dialect", [DeltaClient, SotwClient])
def test_one_bad_cluster_among_many_is_found(dialect: Callable[..., Client]) -> None:
    talk = opened(Conversation([*A, *WEB]).speaking(dialect))
    talk >> publish([world.cluster(f"c{it}") for it in range(9)])
    refusing(talk, lambda it: it.type_url == CLUSTER and "c4" in it.names)
    assert talk.observer.heard == [("refused", "c4", "bad things")]
    assert set(talk.client.has[CLUSTER]) == {"a", *(f"c{it}" for it in range(9) if it != 4)}


def test_a_bad_change_of_a_listener_leaves_it_as_it_is_and_the_others_change() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.listener("http", 1, "web"), world.listener("more", 2, "web"))
    talk << push(LISTENER, "http", "more") >> nack(LISTENER, "cannot bind")
    talk << push(LISTENER, "http") >> nack(LISTENER, "cannot bind") << push(LISTENER, "more")
    talk >> ack(LISTENER)
    refusing(talk, lambda it: False)
    assert talk.observer.heard == [("refused", "http", "cannot bind")]
    assert set(talk.client.has[LISTENER]) == {"http", "more"}


def test_other_changes_flow_during_the_search() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(hosts(8), BAD[0])
    talk << push(ROUTE, "web", routes=routes("b.test>a", count=8))
    talk >> nack(ROUTE, "?") >> publish(world.endpoints("a", 9), world.route_head("other"))
    talk << push(ENDPOINTS, "a")
    talk >> subscribe(ROUTE, "other")
    said = refusing(talk, brings("b.test>a"))
    assert said[1].names == {"other"}
    assert talk.fleet.acceptance.answer(Name(ROUTE, "other"), "").state is State.ACCEPTED


def test_an_older_envoy_that_refuses_keeps_what_it_has_and_the_others_go_on() -> None:
    newer = opened(Conversation([*A, *WEB, *world.site("b.test", "b", 2)]))
    older = opened(Conversation(fleet=newer.fleet))
    newer >> publish(world.host("web", "a.test", "b"), world.host("web", "n.test", "a"))
    settle(newer)
    said = refusing(older, brings("a.test>b"))
    assert said[-1].routes == {"a.test>a", "b.test>b", "n.test>a"}
    assert older.client.has[ROUTE]["web"] != newer.client.has[ROUTE]["web"]
    assert newer.fleet.store.types[ROUTE]["web"].version() == newer.client.has[ROUTE]["web"]
    newer << nothing
    assert newer.fleet.acceptance.answer(ROUTES, "a.test").state is State.REFUSED
    older >> publish(A[2])
    settle(older)
    settle(newer)
    assert older.client.has == newer.client.has


def test_what_an_envoy_refuses_before_others_accept_it_is_withheld_from_them_too() -> None:
    other = opened(Conversation([*A, *WEB]))
    first = opened(Conversation(fleet=other.fleet))
    first >> publish(world.host("web", "b.test", "a"))
    refusing(first, brings("b.test>a"))
    other << push(ROUTE, "web", routes="a.test>a") >> ack(ROUTE)
    first.client.stream.close(first.now)
    assert other.fleet.acceptance.answer(ROUTES, "b.test").state is State.REFUSED
    other << nothing >> publish(world.host("web", "b.test", "a", ["b.test", "c.test"]))
    other << push(ROUTE, "web", routes="a.test>a b.test>a")


def test_all_envoys_that_refuse_the_same_find_it_once() -> None:
    first = opened(Conversation([*A, *WEB]))
    others = [opened(Conversation(fleet=first.fleet)) for _ in range(5)]
    first >> publish(BAD[0], hosts(8))
    refusing(first, brings("b.test>a"))
    heard = [first.observer, *(it.observer for it in others)]
    for it in others:
        assert len(refusing(it, brings("b.test>a"))) <= 2
    assert sum(len(it.heard) for it in heard) == 1


@pytest.mark.parametrize("others", [[], A[2:]])
@pytest.mark.parametrize("stand_in", [no_stand_in, outputs.stand_in])
def test_a_host_that_was_bad_before_is_not_kept_where_it_is_refused_late(
    stand_in: StandIn, others: list[Change]
) -> None:
    late = Conversation([*A[:2], *WEB, *others, BAD[0]])
    late.fleet.quarantine.stand_in = stand_in
    late >> subscribe(CLUSTER) << push(CLUSTER, "a")
    late >> subscribe(ENDPOINTS, "a") << push(ENDPOINTS, "a") >> ack(ENDPOINTS)
    late >> subscribe(ROUTE, "web")
    assert late.client.take(late.client.stream.response(0.0) or b"").type_url == ROUTE
    late >> publish(B[:2], world.host("web", "b.test", "b", ["*worse*"]))
    early = Conversation(fleet=late.fleet) >> subscribe(ROUTE, "web")
    refusing(early, brings("b.test>b"))
    late >> nack(ROUTE, "bad things")
    refusing(late, brings("b.test>a", "b.test>b"))
    assert late.client.has[ROUTE] == early.client.has[ROUTE]
    assert early.observer.heard == [("refused", "b.test", "bad things")]


@pytest.mark.parametrize("stand_in", [no_stand_in, outputs.stand_in])
def test_a_route_of_unknown_contents_is_left_untouched_when_others_refuse_its_host(
    stand_in: StandIn,
) -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk.fleet.quarantine.stand_in = stand_in
    talk >> publish(world.host("web", "b.test", "a"))
    other = Conversation(fleet=talk.fleet)
    other.request(other.client.subscribe(ROUTE, ["web"], web="of an earlier control plane"))
    other >> publish(BAD[0])
    refusing(talk, brings("b.test>a"))
    other << nothing >> publish(world.gone(BAD[0])) << push(ROUTE, "web", routes="a.test>a")


def test_nothing_is_pending_where_a_host_is_refused_that_others_refused_first() -> None:
    late = Conversation([*A, *WEB]) >> subscribe(ROUTE, "web")
    late << push(ROUTE, "web", routes="a.test>a")
    late >> publish(world.host("web", "a.test", "a", ["*bad*"])) >> ack(ROUTE)
    late << push(ROUTE, "web", routes="a.test>a") >> nack(ROUTE, "bad things")
    early = Conversation(fleet=late.fleet) >> subscribe(ROUTE, "web")
    refusing(early, brings("a.test>a"))
    late << nothing
    assert late.fleet.acceptance.is_settled


def test_a_refused_route_of_unknown_contents_is_left_untouched() -> None:
    talk = Conversation([*A, *WEB, *BAD])
    talk >> subscribe(CLUSTER) << push(CLUSTER, "a")
    talk >> subscribe(ENDPOINTS, "a") << push(ENDPOINTS, "a") >> ack(ENDPOINTS)
    talk.request(talk.client.subscribe(ROUTE, ["web"], web="of an earlier control plane"))
    said = refusing(talk, brings("b.test>a", "c.test>a", "d.test>a"))
    assert len(said) == 1
    assert talk.observer.heard == [("refused", "web", "bad things")]
    talk >> publish(world.gone(*BAD)) << push(ROUTE, "web", routes="a.test>a") >> ack(ROUTE)
    assert talk.fleet.acceptance.answer(ROUTES, "a.test").state is State.ACCEPTED


def test_a_cluster_that_only_the_accepted_host_needs_stays_for_it() -> None:
    talk = opened(Conversation([*A, *WEB]))
    bad = world.host("web", "a.test", "new", ["*bad*"])
    talk >> publish(world.cluster("new"), world.endpoints("new", 2), bad, world.gone(*A[:2]))
    refusing(talk, brings("a.test>new"))
    talk.now += 60
    refusing(talk, brings("a.test>new"))
    assert set(talk.client.has[CLUSTER]) == {"a", "new"}
    newcomer = opened(Conversation(fleet=talk.fleet))
    assert set(newcomer.client.has[CLUSTER]) == {"a", "new"}


TLS = Change(Name(SECRET, "tls"), "", resources.part(b"\n\x03tls"))
ON_B = world.needing(world.listener_to_cluster("tcp", 9, "b"), TLS.name, Name(CLUSTER, "b"))
ON_A = world.listener_to_cluster("tcp", 9, "a")


class Pair:
    """Two Envoys of one fleet; while it `is_refused`, the second one refuses the listener `tcp`."""

    def __init__(self, dialect: Callable[..., Client], *published: Change) -> None:
        self.taker = opened(Conversation(published).speaking(dialect))
        self.refuser = opened(Conversation(fleet=self.taker.fleet).speaking(dialect))
        self.is_refused = True

    def publish(self, *changes: Change) -> None:
        """Publishes, and lets both answer until nothing comes any more."""
        self.taker >> publish(changes)
        for _ in range(5):
            self.taker.now = self.refuser.now = self.taker.now + 1
            refusing(self.taker, lambda _: False)
            refusing(self.refuser, lambda it: self.is_refused and "tcp" in it.names)


def removing(talk: Conversation) -> set[str]:
    """The types of which an Envoy still has something that is not published any more."""
    return {it for it, of in talk.client.stream.subscriptions.items() if of.removing}


@pytest.mark.parametrize("dialect", [DeltaClient, SotwClient])
def test_what_one_envoy_refuses_keeps_nothing_on_it_that_it_does_not_use(
    dialect: Callable[..., Client],
) -> None:
    pair = Pair(dialect, *A, *WEB, *B, TLS)
    pair.publish(ON_A)
    pair.publish(*world.gone(*B, TLS))
    assert removing(pair.taker) == removing(pair.refuser) == set()
    assert set(pair.refuser.client.has[CLUSTER]) == {"a"}


@pytest.mark.parametrize("dialect", [DeltaClient, SotwClient])
def test_what_one_envoy_keeps_for_what_it_refuses_keeps_what_it_needs(
    dialect: Callable[..., Client],
) -> None:
    pair = Pair(dialect, *A, *WEB, *B, TLS, ON_B)
    pair.publish(ON_A)
    pair.publish(*world.gone(*B, TLS))
    assert removing(pair.taker) == set()
    assert removing(pair.refuser) == {CLUSTER, ENDPOINTS, SECRET}
    pair.is_refused = False
    pair.publish(world.listener_to_cluster("tcp", 10, "a"))
    assert removing(pair.refuser) == set()


def test_a_refused_route_of_unknown_contents_keeps_what_it_may_need() -> None:
    talk = Conversation([*A, *WEB, *B[:2], BAD[0]])
    talk >> subscribe(CLUSTER) << push(CLUSTER, "a", "b") >> ack(CLUSTER)
    talk >> subscribe(ENDPOINTS, "a", "b") << push(ENDPOINTS, "a", "b") >> ack(ENDPOINTS)
    talk.request(talk.client.subscribe(ROUTE, ["web"], web="of an earlier control plane"))
    refusing(talk, brings("b.test>a"))
    talk >> wait(60) >> publish(world.gone(*B[:2])) >> wait(60) << nothing
    talk >> publish(world.gone(BAD[0])) << push(ROUTE, "web", routes="a.test>a") >> ack(ROUTE)
    talk >> wait(2) << push(CLUSTER, removed=["b"])


def test_a_bad_host_that_is_removed_is_forgotten() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(BAD[0])
    refusing(talk, brings("b.test>a"))
    talk >> publish(world.gone(BAD[0])) << nothing
    assert talk.observer.heard[-1] == ("recovered", "b.test", "")
    assert not list(talk.fleet.quarantine)


def test_a_bad_change_that_is_taken_back_is_forgotten() -> None:
    talk = opened(Conversation([*A, *WEB]))
    talk >> publish(world.host("web", "a.test", "a", ["*bad*"]))
    talk << push(ROUTE, "web", routes="a.test>a") >> nack(ROUTE, "bad")
    settle(talk)
    talk >> publish(A[2]) << nothing
    assert talk.observer.heard == [("refused", "a.test", "bad"), ("recovered", "a.test", "")]


def test_an_older_envoy_that_leaves_takes_its_refusal_along() -> None:
    newer = opened(Conversation([*A, *WEB, *world.site("b.test", "b", 2)]))
    older = opened(Conversation(fleet=newer.fleet))
    newer >> publish(world.host("web", "a.test", "b"))
    settle(newer)
    refusing(older, brings("a.test>b"))
    older.client.stream.close(0.0)
    assert older.observer.heard[-1] == ("recovered", "a.test", "")
    assert newer.fleet.acceptance.answer(ROUTES, "a.test").state is State.ACCEPTED


def test_nothing_connected_means_nothing_seen() -> None:
    talk = Conversation([*A, *WEB])
    assert talk.fleet.acceptance.answer(ROUTES, "a.test").state is State.UNSEEN


def test_a_refused_removal_is_forgotten_with_the_last_one_that_refuses_it() -> None:
    talk = opened(Conversation([*A, *B, *WEB]))
    talk >> publish(world.gone(B[2])) << push(ROUTE, "web", routes="a.test>a") >> nack(ROUTE, "no")
    settle(talk)
    assert [(name, part) for name, part, _ in talk.fleet.quarantine] == [(ROUTES, "b.test")]
    talk >> reconnect(DeltaClient)
    assert not [*talk.fleet.quarantine]
    assert talk.observer.heard == [("refused", "b.test", "no"), ("recovered", "b.test", "")]


def test_the_refusal_of_what_others_have_goes_with_it() -> None:
    talk = opened(Conversation([*A, *WEB]))
    first = talk.client
    talk >> publish(world.gone(*A[:2])) << nothing  # the host still needs its cluster
    talk.speaking(DeltaClient) >> subscribe(CLUSTER)
    refusing(talk, lambda push: "a" in push.names)
    assert [name for name, _, _ in talk.fleet.quarantine] == [Name(CLUSTER, "a")]
    talk.client = first
    talk >> publish(world.gone(A[2]))
    settle(talk)
    settle(talk >> wait(5))
    assert talk.fleet.store.resource(Name(CLUSTER, "a")) is None
    assert not [*talk.fleet.quarantine]
    assert talk.observer.heard[-1] == ("recovered", "a", "")

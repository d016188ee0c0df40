"""What is made of replies: their canonical form, and what is refused."""

import itertools
import time
from collections.abc import Iterator

import pytest
from envoy.config.route.v3 import route_components_pb2
from google.protobuf.message import Message

from contour.hooks import canonical, replies, wire
from contour.hooks.replies import Answer, Failure
from tests.contour.hooks import questions
from tests.contour.hooks.questions import about_clusters, about_host, cluster, host, host_reply


async def answered(body: bytes) -> Answer:
    found = await replies.read("VirtualHost", about_host(), host_reply(body))
    assert isinstance(found, Answer)
    return found


@pytest.mark.parametrize("depth", [1, 3])
async def test_the_order_of_a_map_makes_no_difference_however_deep_it_stands(depth: int) -> None:
    orders = list(itertools.permutations(questions.PAIRS.items()))
    sent = {questions.mapped(it, depth=depth) for it in orders}
    assert len(sent) == len(orders)
    assert len({(await answered(it)).body for it in sent}) == 1


async def test_fields_that_nobody_knows_are_kept() -> None:
    found = await answered(questions.strange(host()))
    body = wire.decoded_reply("VirtualHost", found.body).single
    assert body == questions.strange(host())


async def test_what_cannot_be_checked_is_said() -> None:
    unknown = questions.typed("type.googleapis.com/acme.Filter", b"\xff\xff")
    found = await replies.read("VirtualHost", about_host(), questions.strange(host_reply(unknown)))
    assert isinstance(found, Answer)
    assert [it.split(",")[0] for it in found.remarks] == [
        "field 12345 of the reply is not one of this hook's",
        "the type acme.Filter is not known here",
    ]
    assert wire.decoded_reply("VirtualHost", found.body) == wire.Reply({"virtual_host": (unknown,)})


NESTED = questions.mapped(questions.PAIRS.items(), depth=110)


@pytest.mark.parametrize(
    ("body", "reason", "words"),
    [
        (b"\xff\xff\xff", "Unreadable", "Error parsing message"),
        (host_reply(b"\x0a\xff"), "Unreadable", "virtual_host is no VirtualHost"),
        (host_reply(questions.typed(questions.ROUTE_TYPE, b"\xff")), "Unreadable",
         "the value of an Any is no envoy.config.route.v3.Route"),
        (host_reply(NESTED), "Unreadable", "nested too deeply"),
        (host_reply(questions.permitting(levels=95, times=3)), "Unreadable", "nested too deeply"),
        (host_reply(questions.listing(levels=47)), "Unreadable", "deeper than the 100 levels"),
        (host_reply(host("other")), "WrongName", "virtual_host.name was 'shop' and is 'other'"),
        (host_reply(host("shop", "shop", "bank")), "WrongName",
         "virtual_host.domains was ['shop'] and is ['shop', 'bank']"),
    ],
    ids=["bytes", "host", "any", "nested", "messages", "levels", "name", "domains"],
)  # fmt: skip
async def test_what_is_not_about_the_question_is_refused(
    body: bytes, reason: str, words: str
) -> None:
    found = await replies.read("VirtualHost", about_host(), body)
    assert isinstance(found, Failure)
    assert found.reason == reason
    assert words in found.message


@pytest.mark.parametrize(
    "body",
    [*itertools.starmap(questions.permitting, [(3, 10), (97, 1), (95, 2)]), questions.listing(46)],
)
async def test_what_is_not_nested_too_deeply_is_an_answer(body: bytes) -> None:
    found = wire.decoded_reply("VirtualHost", (await answered(body)).body).single
    assert found == body


@pytest.mark.parametrize(
    ("names", "words"),
    [(("a", "b", "a"), "clusters has a twice"), (("a", ""), "one of clusters has no name")],
)
async def test_names_of_a_list_are_there_once(names: tuple[str, ...], words: str) -> None:
    body = wire.encoded_reply("Translation", {"clusters": tuple(map(cluster, names))})
    found = await replies.read("Translation", about_clusters("a"), body)
    assert found == Failure("WrongName", words)


async def test_a_name_that_is_there_twice_is_found_in_a_long_list_soon() -> None:
    names = [*map(str, range(30_000)), "29999"]
    body = wire.encoded_reply("Translation", {"clusters": tuple(map(cluster, names))})
    begun = time.process_time()
    found = await replies.read("Translation", about_clusters("a"), body)
    assert found == Failure("WrongName", "clusters has 29999 twice")
    assert time.process_time() - begun < 2


async def test_a_list_may_be_changed_in_any_way() -> None:
    lists: wire.Resources = {"clusters": (cluster("new"), cluster("b")), "secrets": ()}
    body = wire.encoded_reply("Translation", lists)
    found = await replies.read("Translation", about_clusters("a", "b"), body)
    assert isinstance(found, Answer)
    assert wire.decoded_reply("Translation", found.body).resources == lists


async def test_no_resource_means_that_it_stays() -> None:
    found = await replies.read("VirtualHost", about_host(), b"")
    assert found == Answer(b"")
    assert wire.decoded_reply("VirtualHost", b"").single is None


async def test_an_empty_resource_is_one() -> None:
    asked = wire.encoded_request("Route", wire.Request({"route": (b"",)}))
    found = await replies.read("Route", asked, wire.encoded_reply("Route", {"route": (b"",)}))
    assert isinstance(found, Answer)
    assert wire.decoded_reply("Route", found.body).single == b""


async def test_words_of_a_server_are_one_line_of_bounded_length() -> None:
    found = replies.failure("Error", "no\n\x1b[31m " + "x" * 1000)
    assert found.message.startswith("no [31m xxx")
    assert len(found.message) == 300


async def test_what_was_sent_is_not_decoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    settled: list[Message] = []
    real = canonical.Settling.steps

    def noted(self: canonical.Settling, message: Message) -> Iterator[None]:
        settled.append(message)
        return real(self, message)

    monkeypatch.setattr(canonical.Settling, "steps", noted)
    names = [f"c{it}" for it in range(100)]
    changed = wire.encoded_reply("Translation", {"clusters": tuple(map(cluster, [*names, "new"]))})
    await replies.read("Translation", about_clusters(*names), changed)
    assert [questions.encoded(it) for it in settled] == [cluster("new")]


ROUTE, ADDED_HEADER, REMOVED_HEADER = b"\x1a\x00", b"\x3a\x00", b"\x6a\x00"
"""Empty ones of a VirtualHost, in two bytes each."""


@pytest.mark.parametrize("entry", [ROUTE, ADDED_HEADER, REMOVED_HEADER])
async def test_a_small_reply_with_very_many_parts_is_refused(entry: bytes) -> None:
    body = host_reply(host() + entry * (replies.MOST_PARTS + 100))
    found = await replies.read("VirtualHost", about_host(), body)
    assert isinstance(found, Failure)
    assert found.reason == "TooLarge"
    assert found.message.startswith("the reply has more than 1000")


async def test_so_is_one_with_very_many_fields_whatever_they_are() -> None:
    clusters = b"\x0a\x00" * (replies.MOST_PARTS + 100)
    unknown = wire.encoded_reply("Translation", {}) + questions.strange(b"") * len(clusters)
    for it in (clusters, unknown):
        found = await replies.read("Translation", about_clusters("a"), it)
        assert isinstance(found, Failure)
        assert found.message.startswith("the reply has more than 1000")


async def test_a_large_resource_of_a_list_is_not_decoded() -> None:
    large = wire.encoded_reply("Translation", {"clusters": (bytes(replies.MOST_BYTES + 1),)})
    found = await replies.read("Translation", about_clusters("a"), large)
    assert found == Failure("TooLarge", "one of clusters has 2097153 bytes of 2097152")


async def test_a_host_with_very_many_routes_may_come_back_changed() -> None:
    body = route_components_pb2.VirtualHost.FromString(host())
    for number in range(15_000):
        route = body.routes.add(name=f"HTTPProxy/shop/web/{number:010}")
        route.match.path_separated_prefix = f"/{number}"
        route.route.weighted_clusters.clusters.add(name="shop/web/80").weight.value = 1
    asked = questions.encoded(body)
    body.request_headers_to_remove.append("x")
    found = await replies.read(
        "VirtualHost", about_host(asked), host_reply(questions.encoded(body))
    )
    assert isinstance(found, Answer)

"""What happens to requests on the way to backends, and to their answers on the way back."""

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from dag import nodes
from tests.contour.envoy import proxies, world
from tests.contour.envoy.served import peers
from tests.contour.envoy.served.conftest import HTTP, ONE, Served

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

PEER = nodes.Cluster(HTTP.services[0].port)
"""The peer notes every request, answers 418 and sets the cookies that it is asked for."""
HASHED = world.cluster("many", balancing="RingHash")
HOSTILE = "]]..\"'\\\n"

COOKIES = (
    nodes.CookieRewrite("a", path="/new", domain="b.test", secure=True, same_site="Lax"),
    nodes.CookieRewrite("b", secure=False),
)


LOCAL = nodes.Policies(ip_filter=nodes.IpFilter("ALLOW", (nodes.IpRange("127.0.0.0/8", "Remote"),)))


def _rewritten(**rewrite: Any) -> nodes.Route:
    return world.route(world.forward(ONE, rewrite=nodes.Rewrite(**rewrite)))


def hosts(served: Served) -> None:
    mirror = nodes.Mirror(PEER)
    served.serve("mirrored.test", world.route(world.forward(ONE, mirrors=(mirror,))))
    seldom = nodes.Mirror(PEER, 1, 3)
    served.serve("seldom.test", world.route(world.forward(ONE, mirrors=(seldom,))))
    retry = nodes.Retry((), 3, status_codes=(418,), backoff=0.001, max_backoff=0.002)
    served.serve("retried.test", world.route(world.forward(PEER, retry=retry)))
    served.serve("twice.test", world.route(world.forward(PEER, retry=nodes.Retry(("5xx",), 1))))
    served.serve("header.test", _rewritten(host_header="x-host"))
    for name, policy in {
        "cookie": nodes.HashPolicy("Cookie", "X-Contour-Session-Affinity", ttl=0.0, path="/"),
        "header": nodes.HashPolicy("Header", "x-user"),
        "query": nodes.HashPolicy("Query", "User"),
        "source": nodes.HashPolicy("SourceIp"),
    }.items():
        sticky = world.forward(HASHED, hash_policies=(policy,))
        served.serve(f"{name}-hash.test", world.route(sticky))
    session = nodes.Policies(session=nodes.SessionPersistence("session", path="/s"))
    many = world.forward(world.cluster("many"))
    served.serve("session.test", world.route(many, policies=session))
    for name, weight in (("drawn.test", 1), ("left.test", 0)):
        members = (nodes.Member(ONE.port), nodes.Member(PEER.port, weight=weight))
        kept = world.forward(replace(ONE, members=members))
        served.serve(name, world.route(kept, policies=session))
    operators = nodes.HeaderPolicy(
        set=(
            ("x-seen", nodes.Format(("100% ", nodes.Operator("REQ", "x-in"), "%"))),
            ("x-protocol", nodes.Format((nodes.Operator("PROTOCOL"),))),
        )
    )
    served.serve("format.test", world.route(world.forward(ONE), request_headers=operators))
    own = nodes.Backend(ONE, host="own.test", cookies=COOKIES[:1])
    served.serve("own.test", world.route(nodes.Forward((own,))))
    served.serve("cookies.test", world.route(world.forward(PEER, cookies=COOKIES)))
    odd = nodes.CookieRewrite(f"n{HOSTILE.strip()}", path=f"/{HOSTILE.strip()}")
    served.serve("odd.test", world.route(world.forward(PEER, cookies=(odd, COOKIES[0]))))
    both = nodes.Backend(PEER, cookies=(nodes.CookieRewrite("a", path="/backend"),))
    served.serve("both.test", world.route(nodes.Forward((both,), cookies=COOKIES[1:])))
    inner = nodes.InternalRedirect(2, (302,), deny_repeated_route=True, cross_scheme="SafeOnly")
    served.serve(
        "inner.test",
        world.route(world.forward(ONE), nodes.Exact("/there"), policies=LOCAL),
        world.route(world.forward(PEER, internal_redirect=inner)),
    )
    missing = nodes.Forward((nodes.Backend(None), nodes.Backend(ONE)), missing=503)
    served.serve("missing.test", world.route(missing))
    served.serve("none.test", world.route(nodes.Forward((nodes.Backend(None),), missing=503)))
    grpc = nodes.Route(nodes.Match(is_grpc=True), nodes.Respond(200, "grpc"), world.ORIGIN)
    served.serve("kinds.test", grpc, world.route(nodes.Respond(200, "rest")))


def _told(answer: proxies.Answer) -> dict[str, Any]:
    assert answer.status == 200, answer
    found: dict[str, Any] = json.loads(answer.body)
    return found


async def test_copies_go_to_the_mirror_and_its_answers_nowhere(envoy: Served) -> None:
    before = len(envoy.peers.visits)
    assert _told(await envoy.ask("mirrored.test", "/copied"))["backend"] == "one"
    await peers.eventually(lambda: len(envoy.peers.visits) > before)
    assert envoy.peers.visits[-1].path == "/copied"
    assert envoy.peers.visits[-1].host == "mirrored.test"


async def test_a_share_of_the_requests_is_copied(envoy: Served) -> None:
    before = len(envoy.peers.visits)
    for _ in range(60):
        await envoy.ask("seldom.test")
    await envoy.ask("mirrored.test", "/last")
    await peers.eventually(lambda: envoy.peers.visits[-1].path == "/last")
    assert 5 <= len(envoy.peers.visits) - 1 - before <= 40


async def test_a_request_is_tried_again_as_often_as_the_route_says(envoy: Served) -> None:
    for host, tries in (("retried.test", 4), ("twice.test", 1)):
        envoy.peers.visits.clear()
        assert (await envoy.ask(host)).status == 418
        assert len(envoy.peers.visits) == tries


@pytest.mark.parametrize("size", [10_000, 30_000, 100_000, 500_000, 900_000])
@pytest.mark.parametrize(
    ("host", "visits", "headers"),
    [
        ("retried.test", 4, {}),
        ("inner.test", 1, {"x-location": "http://inner.test/there"}),
        ("twice.test", 2, {"x-status": "503"}),
    ],
)
async def test_a_request_is_sent_again_with_its_whole_body(
    envoy: Served, host: str, visits: int, headers: dict[str, str], size: int
) -> None:
    envoy.peers.visits.clear()
    answer = await proxies.send(envoy.plain, host, "x" * size, **headers)
    assert answer is not None
    assert [len(await it.read()) for it in envoy.peers.visits] == [size] * visits
    if host == "inner.test":
        assert _told(answer)["path"] == "/there"


async def test_the_host_can_come_from_a_header(envoy: Served) -> None:
    assert _told(await envoy.ask("header.test", **{"x-host": "new.test"}))["host"] == "new.test"
    assert _told(await envoy.ask("header.test"))["host"] == "header.test"


@pytest.mark.parametrize(
    ("host", "path", "headers"),
    [
        ("header-hash.test", "/", {"x-user": "me"}),
        ("query-hash.test", "/?User=me", {}),
        ("source-hash.test", "/", {}),
        ("cookie-hash.test", "/", {"cookie": "X-Contour-Session-Affinity=me"}),
    ],
)
async def test_equal_requests_go_to_one_endpoint(
    envoy: Served, host: str, path: str, headers: dict[str, str]
) -> None:
    answers = [_told(await envoy.ask(host, path, **headers))["backend"] for _ in range(12)]
    assert len(set(answers)) == 1


async def test_requests_of_many_users_are_spread(envoy: Served) -> None:
    answers: Counter[str] = Counter()
    for number in range(40):
        told = _told(await envoy.ask("header-hash.test", **{"x-user": f"u{number}"}))
        answers[told["backend"]] += 1
    assert len(answers) == 2


async def test_a_cookie_is_set_for_who_has_none(envoy: Served) -> None:
    answer = await envoy.ask("cookie-hash.test")
    name, _, rest = answer.headers["set-cookie"].partition("=")
    assert name == "X-Contour-Session-Affinity"
    assert "Path=/" in rest
    assert "Max-Age" not in rest
    cookie = answer.headers["set-cookie"].partition(";")[0]
    again = [_told(await envoy.ask("cookie-hash.test", cookie=cookie)) for _ in range(6)]
    assert {it["backend"] for it in again} == {_told(answer)["backend"]}


async def test_a_session_stays_at_its_endpoint(envoy: Served) -> None:
    first = await envoy.ask("session.test", "/s")
    cookie = first.headers["set-cookie"].partition(";")[0]
    assert cookie.startswith("session=")
    again = [_told(await envoy.ask("session.test", "/s", cookie=cookie)) for _ in range(8)]
    assert {it["backend"] for it in again} == {_told(first)["backend"]}
    spread = [_told(await envoy.ask("session.test", "/s"))["backend"] for _ in range(20)]
    assert len(set(spread)) == 2


async def test_a_session_stays_with_a_backend_that_gets_no_others_any_more(envoy: Served) -> None:
    drawn = [await envoy.ask("drawn.test", "/s") for _ in range(40)]
    assert {it.status for it in drawn} == {200, 418}
    cookies = {it.status: it.headers["set-cookie"].partition(";")[0] for it in drawn}
    for status, cookie in cookies.items():
        for name in ("drawn.test", "left.test"):
            again = [await envoy.ask(name, "/s", cookie=cookie) for _ in range(8)]
            assert {it.status for it in again} == {status}, name
    assert {(await envoy.ask("left.test", "/s")).status for _ in range(40)} == {200}


async def test_operators_are_written_out_and_percents_are_not(envoy: Served) -> None:
    told = _told(await envoy.ask("format.test", **{"x-in": "%REQ(host)%"}))["headers"]
    assert told["x-seen"] == "100% %REQ(host)%%"
    assert told["x-protocol"] == "HTTP/1.1"


async def test_a_backend_may_have_a_host_of_its_own(envoy: Served) -> None:
    assert _told(await envoy.ask("own.test"))["host"] == "own.test"


@pytest.mark.parametrize(
    ("host", "sent", "expected"),
    [
        ("cookies", "a=1; Path=/old; HttpOnly", "a=1; HttpOnly; Path=/new; Domain=b.test; "
         "SameSite=Lax; Secure"),
        ("cookies", "b=1;secure; path=/", "b=1; path=/"),
        ("cookies", "c=1;Secure", "c=1;Secure"),
        ("cookies", "a", "a; Path=/new; Domain=b.test; SameSite=Lax; Secure"),
        ("cookies", "=x; ; ;", "=x; ; ;"),
        ("both", "a=1; Path=/", "a=1; Path=/backend"),
        ("both", "b=1; Secure", "b=1"),
        ("odd", "a=1", "a=1; Path=/new; Domain=b.test; SameSite=Lax; Secure"),
    ],
)  # fmt: skip
async def test_cookies_are_rewritten(envoy: Served, host: str, sent: str, expected: str) -> None:
    for answer in await envoy.ask_both(f"{host}.test", **{"x-cookie": sent}):
        assert answer.headers["set-cookie"] == f"{expected}, other=1; Path=/"


async def test_answers_without_cookies_get_none(envoy: Served) -> None:
    assert "set-cookie" not in (await envoy.ask("cookies.test")).headers


async def test_redirects_of_backends_are_followed(envoy: Served) -> None:
    answer = await envoy.ask("inner.test", "/here", **{"x-location": "http://inner.test/there"})
    assert _told(answer)["path"] == "/there"
    loop = await envoy.ask("inner.test", "/here", **{"x-location": "http://inner.test/here"})
    assert loop.status == 302


async def test_what_has_no_backend_says_so_as_the_route_wants(envoy: Served) -> None:
    answers = {(await envoy.ask("missing.test")).status for _ in range(20)}
    assert answers == {200, 503}
    assert (await envoy.ask("none.test")).status == 503


async def test_grpc_requests_have_routes_of_their_own(envoy: Served) -> None:
    assert (await envoy.ask("kinds.test")).body == "rest"
    answer = await envoy.ask("kinds.test", **{"content-type": "application/grpc"})
    assert answer.headers["grpc-message"] == "grpc"

"""Guards that Envoy keeps by itself: origins, addresses, local limits, bodies, error pages."""

import pytest

from dag import nodes
from tests.contour.envoy import proxies, world
from tests.contour.envoy.served.conftest import ONE, Served

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

FORWARD = world.forward(ONE)
ACTIONS: dict[str, nodes.Action] = {
    "forward": FORWARD,
    "redirect": nodes.Redirect(302, "https"),
    "respond": nodes.Respond(204),
}
CORS = nodes.Cors(
    (
        nodes.ValueMatch("exact", "https://a.example", ignore_case=True),
        nodes.ValueMatch("regex", r"https://[a-z]+\.b\.example"),
    ),
    ("GET", "PUT"),
    ("x-in",),
    ("x-out",),
    max_age=600,
    credentials=True,
)


def _guarded(**policies: object) -> nodes.Policies:
    return nodes.Policies(**policies)  # type: ignore[arg-type]


FILTERS: dict[str, tuple[nodes.IpFilter, int, int]] = {
    # the filter; the status for 127.0.0.1, and for 192.0.2.7 behind one trusted hop
    "peer-in": (nodes.IpFilter("ALLOW", (nodes.IpRange("127.0.0.0/8"),)), 200, 200),
    "peer-out": (nodes.IpFilter("DENY", (nodes.IpRange("127.0.0.0/8"),)), 403, 403),
    "others": (nodes.IpFilter("ALLOW", (nodes.IpRange("10.0.0.0/8"),)), 403, 403),
    "nobody": (nodes.IpFilter("ALLOW", ()), 403, 403),
    "everybody": (nodes.IpFilter("DENY", ()), 200, 200),
    "several": (
        nodes.IpFilter("ALLOW", (nodes.IpRange("10.0.0.0/8"), nodes.IpRange("127.0.0.1/32"))),
        200,
        200,
    ),
    "six": (nodes.IpFilter("DENY", (nodes.IpRange("::/0", "Remote"),)), 200, 200),
}


def hosts(served: Served) -> None:
    served.serve("cors.test", world.route(FORWARD, policies=_guarded(cors=CORS)))
    for name, action in ACTIONS.items():
        denied = _guarded(ip_filter=FILTERS["peer-out"][0])
        served.serve(f"ip-{name}.test", world.route(action, policies=denied))
        once = _guarded(local_rate_limit=nodes.LocalRateLimit(1, "hour"))
        served.serve(f"limit-{name}.test", world.route(action, policies=once))
    served.serve(
        "open.test",
        world.route(FORWARD, policies=_guarded(cors=nodes.Cors((nodes.ValueMatch("present"),)))),
    )
    for name, (found, _, _) in FILTERS.items():
        served.serve(f"{name}.test", world.route(FORWARD, policies=_guarded(ip_filter=found)))
    everywhere = _guarded(
        cors=CORS,
        ip_filter=FILTERS["peer-out"][0],
        local_rate_limit=nodes.LocalRateLimit(1, "hour", 1, 503, (("x-why", "100% full"),)),
    )
    off = _guarded(cors=nodes.OFF, ip_filter=nodes.OFF, local_rate_limit=nodes.OFF)
    open_ = _guarded(ip_filter=nodes.OFF)
    served.serve(
        "host.test",
        world.route(FORWARD, nodes.Exact("/off"), policies=off),
        world.route(FORWARD, nodes.Prefix("/limited"), policies=open_),
        world.route(FORWARD, nodes.Exact("/")),
        policies=everywhere,
    )
    small = _guarded(body_limit=10)
    served.serve(
        "small.test",
        world.route(FORWARD, nodes.Exact("/off"), policies=_guarded(body_limit=nodes.OFF)),
        world.route(FORWARD),
        policies=small,
    )
    pages = (
        nodes.ErrorPage(((404, 405),), "<p>100% %REQ(host)%</p>", "text/html"),
        nodes.ErrorPage(((400, 600),), "sorry", status=503),
    )
    served.serve(
        "pages.test",
        world.route(nodes.Respond(404, "none"), nodes.Exact("/404")),
        world.route(nodes.Respond(500, "broken"), nodes.Exact("/500")),
        world.route(nodes.Respond(200, "fine"), nodes.Exact("/200")),
        policies=_guarded(error_pages=pages),
    )


async def test_origins_are_told_what_they_may_see(envoy: Served) -> None:
    for origin, is_allowed in {
        "https://a.example": True,
        "https://A.example": True,
        "https://x.b.example": True,
        "https://x.b.example.evil": False,
        "https://c.example": False,
    }.items():
        for answer in await envoy.ask_both("cors.test", origin=origin):
            found = answer.headers.get("access-control-allow-origin")
            assert found == (origin if is_allowed else None), origin
    asked = {"origin": "https://a.example", "access-control-request-method": "PUT"}
    answer = await envoy.ask("cors.test", method="OPTIONS", **asked)
    assert answer.status == 200
    told = {it.removeprefix("access-control-"): text for it, text in answer.headers.items()}
    assert told["allow-origin"] == "https://a.example"
    assert (told["allow-methods"], told["allow-headers"]) == ("GET,PUT", "x-in")
    assert (told["max-age"], told["allow-credentials"]) == ("600", "true")


async def test_every_origin_is_every_origin(envoy: Served) -> None:
    answer = await envoy.ask("open.test", origin="https://where.ever:99")
    assert answer.headers["access-control-allow-origin"] == "https://where.ever:99"


@pytest.mark.parametrize("name", FILTERS)
async def test_addresses_are_let_in_or_not(envoy: Served, name: str) -> None:
    _, here, _ = FILTERS[name]
    assert [it.status for it in await envoy.ask_both(f"{name}.test")] == [here, here]


@pytest.mark.parametrize("name", ACTIONS)
async def test_addresses_are_judged_whatever_the_action(envoy: Served, name: str) -> None:
    assert [it.status for it in await envoy.ask_both(f"ip-{name}.test")] == [403, 403]


@pytest.mark.parametrize("name", ACTIONS)
async def test_limits_hold_whatever_the_action(envoy: Served, name: str) -> None:
    assert (await envoy.ask(f"limit-{name}.test")).status != 429
    assert (await envoy.ask(f"limit-{name}.test")).status == 429


async def test_a_host_guards_all_its_routes_and_a_route_may_differ(envoy: Served) -> None:
    assert (await envoy.ask("host.test")).status == 403
    assert (await envoy.ask("host.test", "/none")).status == 404
    for _ in range(4):
        answer = await envoy.ask("host.test", "/off", origin="https://a.example")
        assert answer.status == 200
        assert "access-control-allow-origin" not in answer.headers
    # The routes of a host share its limit: two requests in an hour, whichever they are.
    statuses = [(await envoy.ask("host.test", f"/limited/{it}")).status for it in range(3)]
    assert statuses == [200, 200, 503]
    answer = await envoy.ask("host.test", "/limited")
    assert answer.headers["x-why"] == "100% full"


async def test_large_bodies_are_refused(envoy: Served) -> None:
    for host, path, size, status in (
        ("small.test", "/", 10, 200),
        ("small.test", "/", 11, 413),
        ("small.test", "/off", 1000, 200),
        ("unknown.test", "/", 1000, 404),
    ):
        answer = await proxies.send(envoy.plain, host, "b" * size, path)
        assert answer is not None
        assert answer.status == status, (host, path, size)


async def test_errors_have_the_pages_of_the_user(envoy: Served) -> None:
    for path, status, body in (
        ("/404", 404, "<p>100% %REQ(host)%</p>"),
        ("/500", 503, "sorry"),
        ("/200", 200, "fine"),
    ):
        answer = await envoy.ask("pages.test", path)
        assert (answer.status, answer.body) == (status, body)
    assert (await envoy.ask("pages.test", "/404")).headers["content-type"] == "text/html"

"""What the pages show of an instance's objects, and what they never show."""

import asyncio
import html
import re

import pytest

from contour import turns
from dag import nodes
from dag.findings import routes
from dag.fleetnames import DEFAULT_FLEET
from tests.contour.dashboard.serving import proxy, served, shop
from tests.testbed import world

LISTENER = {"fleet": DEFAULT_FLEET, "listener": "ingress_http"}


async def test_hosts_are_listed_with_their_objects() -> None:
    async with served(*shop()) as it:
        found = await it.get()
        assert "2 hosts" in found
        for number in range(2):
            assert f">{world.fqdn(number)}</a>" in found
        assert "HTTPProxy" in found


@pytest.mark.parametrize(
    ("search", "hosts"),
    [
        (world.fqdn(1), [1]),
        (world.fqdn(1).upper(), [1]),
        ("httpproxy", [0, 1]),
        ("nothing-like-it", []),
    ],
)
async def test_a_search_finds_hosts_by_name_and_by_object(search: str, hosts: list[int]) -> None:
    async with served(*shop()) as it:
        found = await it.get(q=search)
        assert [it for it in range(2) if f">{world.fqdn(it)}</a>" in found] == hosts


async def test_a_host_shows_the_way_from_its_objects_to_endpoints() -> None:
    async with served(*shop()) as it:
        found = await it.get("/host", **LISTENER, host=world.fqdn(0))
        drawing = found[found.index("<svg") : found.index("</svg>")]
        titles = re.findall("<title>(.*?)</title>", drawing)
        kinds = ["example", "HTTPProxy", "/", ":80", "127.0.0.1:9"]
        assert all(any(kind in title for title in titles) for kind in kinds), titles
        assert drawing.count("<path") >= 4
        assert "127.0.0.1:9" in found[found.index("<table") :]


async def test_the_routes_of_a_host_are_found_by_path_object_and_service() -> None:
    routes = [
        {"conditions": [{"prefix": path}], "services": [{"name": name, "port": 80}]}
        for path, name in (("/cart", "carts"), ("/pay", "payments"))
    ]
    shop_ = proxy("shop", "shop.example.com", "carts")
    shop_["spec"]["routes"] = routes
    async with served(shop_) as it:
        for search, count in (("/cart", 1), ("httpproxy default/shop", 2), ("nobody", 0)):
            found = await it.get("/host", **LISTENER, host="shop.example.com", q=search)
            assert f"{count} route" in found


async def test_an_object_shows_its_status_and_its_hosts() -> None:
    async with served(proxy("shop", "shop.example.com", "missing")) as it:
        found = await it.get("/object", kind="HTTPProxy", namespace="default", name="shop")
        assert "Service default/missing not found" in html.unescape(found)
        assert "ServiceUnresolvedReference" in found
        assert ">shop.example.com</a>" in found


@pytest.mark.parametrize(("kind", "name"), [("HTTPProxy", "database"), ("Service", "postgres")])
async def test_an_object_shows_the_host_whose_connections_it_forwards(kind: str, name: str) -> None:
    found = proxy("database", "db.example.com", "postgres")
    found["spec"] = {
        "virtualhost": {"fqdn": "db.example.com", "tls": {"passthrough": True}},
        "tcpproxy": {"services": [{"name": "postgres", "port": 80}]},
    }
    named = {"namespace": "default", "name": "postgres"}
    ports = {"ports": [{"port": 80}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": named, "spec": ports}
    async with served(found, service) as it:
        page = await it.get("/object", kind=kind, namespace="default", name=name)
        assert "1 host<" in page
        assert ">db.example.com</a>" in page


async def test_a_service_shows_its_endpoints_and_who_leads_there() -> None:
    documents = shop()
    service = next(it for it in documents if it["kind"] == "Service")["metadata"]
    async with served(*documents) as it:
        parameters = {"namespace": service["namespace"], "name": service["name"]}
        found = await it.get("/object", kind="Service", **parameters)
        assert "127.0.0.1:9" in found
        assert world.fqdn(0) in found


async def test_objects_with_problems_are_shown_unless_all_are_asked_for() -> None:
    good, bad = shop(), proxy("shop", "shop.example.com", "missing")
    async with served(*good, bad) as it:
        found = await it.get("/objects")
        assert "1 object with problems" in found
        assert "HTTPProxy default/shop" in found
        everything = await it.get("/objects", all="yes")
        assert everything.index("HTTPProxy default/shop") < everything.index("Service ")
        assert "kind=Service" not in found


async def test_explain_answers_as_the_command_does() -> None:
    async with served(*shop()) as it:
        found = await it.get("/explain", url=f"http://{world.fqdn(0)}/")
        assert "A Service answers" in found
        assert "404" in await it.get("/explain", url="http://nobody.example.com/")
        guarded = {"url": f"http://{world.fqdn(0)}/", "headers": "no header"}
        assert "is no header" in await it.get("/explain", **guarded)


async def test_explain_shows_the_shares_of_the_page_of_the_host() -> None:
    documents = shop()
    service = next(it for it in documents if it["kind"] == "Service")["metadata"]
    shares = proxy("shares", "shares.example.com", service["name"])
    shares["metadata"]["namespace"] = service["namespace"]
    shares["spec"]["routes"][0]["services"] = [
        {"name": service["name"], "port": 80, "weight": weight} for weight in (29, 71)
    ]
    async with served(*documents, shares) as it:
        found = await it.get("/explain", url="http://shares.example.com/")
        assert re.findall(r"\d+ % Service", found) == ["29 % Service", "71 % Service"]
        host = await it.get("/host", **LISTENER, host="shares.example.com")
        assert "29% " in host


async def test_explain_asks_the_fleet_that_is_chosen_and_knows_which_there_are() -> None:
    settings = world.configuration(gateway={"mode": "PerGateway"})
    async with served(settings, *world.gateway(), world.http_route(0, 0)) as it:
        assert "<option selected>contour</option>" in await it.get("/explain")
        asked = {"url": "http://route-0.example.com/", "fleet": "team-0/gateway"}
        found = await it.get("/explain", **asked)
        assert "<option selected>team-0/gateway</option>" in found
        assert "HTTPRoute team-0/route-0" in found
        found = await it.get("/explain", **asked | {"fleet": "gone"})
        assert "there is no fleet gone" in found


@pytest.mark.parametrize(
    ("page", "parameters", "status"),
    [
        ("/host", {**LISTENER, "host": "gone.example.com"}, 404),
        ("/host", {}, 404),
        ("/object", {}, 400),
        ("/object", {"kind": "Unicorn", "name": "x"}, 404),
        ("/object", {"kind": "HTTPProxy", "namespace": "default", "name": "gone"}, 404),
        ("/object", {"kind": "File", "name": "gone.yaml"}, 404),
        ("", {"page": "-1"}, 400),
        ("", {"page": "9" * 40}, 400),
        ("", {"page": "99"}, 200),
        ("/nothing", {}, 404),
        ("/explain", {"url": "gopher://x"}, 200),
        ("/explain", {"url": "http://[x"}, 200),
        ("/explain", {"url": "http://x", "from": "nobody"}, 200),
    ],
)
async def test_what_is_not_there_is_told(
    page: str, parameters: dict[str, str], status: int
) -> None:
    async with served(*shop()) as it:
        assert (await it.answer(page, **parameters))[0] == status


async def test_whatever_was_written_stays_text() -> None:
    """Names of hosts cannot carry markup, messages and searches can."""
    evil = "<script>alert(1)</script>"
    async with served(proxy("shop", "shop.example.com", evil)) as it:
        pages = [
            await it.get("/objects"),
            await it.get(q=evil),
            await it.get("/explain", url=evil, headers=evil),
            (await it.answer("/object", kind=evil, name=evil))[1],
            (await it.answer("/host", host=evil))[1],
        ]
        for page in pages:
            assert "<script>alert" not in page
        assert all(html.escape(evil) in it or "&#39;" in it for it in pages[:4])


async def test_no_page_shows_a_secret() -> None:
    secure = world.World(hosts=1, services=10, certificates=10)
    documents = [*secure.documents()]
    secret = next(it for it in documents if it["kind"] == "Secret")
    async with served(*documents) as it:
        named = {name: secret["metadata"][name] for name in ("namespace", "name")}
        pages = [
            await it.get(),
            await it.get("/objects", all="yes"),
            await it.get("/object", kind="Secret", **named),
            await it.get("/envoys"),
        ]
    for value in secret["data"].values():
        assert not any(value[:60] in page for page in pages)


async def test_pages_have_no_address_of_another_machine() -> None:
    async with served(*shop()) as it:
        for page in ("", "/objects", "/envoys", "/explain", "/style.css", "/script.js"):
            text = await it.get(page)
            assert not re.search(r'(?:src|href|action)="(?!/dashboard|#)', text)
            assert "url(" not in text


async def test_a_look_runs_no_rule() -> None:
    async with served(*shop()) as it:
        before = it.instance.controller.engine.work.runs
        for page in ("", "/objects", "/envoys"):
            await it.get(page)
        await it.get("/host", **LISTENER, host=world.fqdn(0))
        await it.get("/explain", url=f"http://{world.fqdn(0)}/")
        assert it.instance.controller.engine.work.runs == before


async def test_a_long_list_is_read_in_pages() -> None:
    many = [proxy(f"shop-{n:03}", f"shop-{n:03}.example.com", "x") for n in range(120)]
    async with served(*many) as it:
        first, last = await it.get(), await it.get(page="2")
        assert "shop-000.example.com" in first
        assert "shop-119.example.com" not in first
        assert "shop-119.example.com" in last
        assert "Page 3 of 3" in last


async def test_a_page_that_is_gone_is_the_last_one() -> None:
    """As when hosts are deleted while the page is open."""
    async with served(*shop()) as it:
        assert f">{world.fqdn(1)}</a>" in await it.get(page="2")
        assert "<article>" in await it.get("/objects", all="yes", page="2")
        found = await it.get("/host", **LISTENER, host=world.fqdn(0), page="2")
        assert 'id="route-1"' in found


async def test_a_search_among_many_routes_leaves_others_their_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "_TURN", 0.0)  # each step is a turn
    looked_at = most = 0
    shown = routes.shown

    def counted(match: nodes.Match) -> str:
        nonlocal looked_at, most
        looked_at += 1
        most = max(most, looked_at)
        return shown(match)

    async def others() -> None:
        nonlocal looked_at
        while True:
            await asyncio.sleep(0)
            looked_at = 0

    monkeypatch.setattr(routes, "shown", counted)
    many = proxy("shop", "shop.example.com", "carts")
    services = [{"name": "carts", "port": 80}]
    paths = [{"conditions": [{"prefix": f"/{n}"}], "services": services} for n in range(500)]
    many["spec"]["routes"] = paths
    async with served(many) as it, asyncio.TaskGroup() as group:
        other = group.create_task(others())
        await it.get("/host", **LISTENER, host="shop.example.com", q="/499")
        other.cancel()
    assert 0 < most < 10


async def test_a_taken_port_leaves_the_instance_alone() -> None:
    async with served() as one, served() as other:
        assert one.url != other.url
        assert (await one.answer())[0] == (await other.answer())[0] == 200

"""Requests to hosts of HTTPProxies: what is done with them once a route has matched."""

import json
from collections import Counter
from contextlib import closing

import aiohttp
import pytest
from click.testing import CliRunner

from contour.cli import main
from tests.e2e.cases import Case, check
from tests.e2e.standalone import Standalone, exchange

pytestmark = pytest.mark.envoy

_CASES = [
    Case(
        "http://changes.example.com/old/page?q=1",
        headers={"X-Secret": "s", "X-Added": "mine"},
        path="/new/page?q=1",
        seen={"x-added": "100% pure %20", "x-namespace": "default", "x-secret": None},
        answered={"x-answered": "proxy"},
    ),
    Case("http://changes.example.com/for", host="inner.example.com"),
    Case("http://changes.example.com/teapot", 418, body=b"short and stout"),
    Case(
        "http://changes.example.com/moved/away?q=1",
        301,
        answered={"location": "http://new.example.com/here?q=1"},
    ),
    Case(
        "http://changes.example.com/renamed/away",
        308,
        answered={"location": "http://changes.example.com/name/away"},
    ),
    Case(
        "http://changes.example.com:8080/elsewhere",
        302,
        answered={"location": "https://changes.example.com:9443/elsewhere"},
    ),
    Case(
        "http://changes.example.com:8080/usual",
        302,
        answered={"location": "http://new.example.com:80/usual"},
    ),
    Case("http://changes.example.com/slow", backend="one"),
    Case("http://changes.example.com/slow/wait?seconds=9", 504),
    Case("http://changes.example.com/idle/wait?seconds=9", 504),
    Case("http://changes.example.com/patient/wait?seconds=0.4", backend="one"),
    Case("http://tries.example.com/once", 503, answered={"x-flaky": "yes"}),
    Case("http://tries.example.com/again", 200, answered={"x-flaky": None}),
    Case("http://tries.example.com/again?status=404", 404),
    Case("http://tries.example.com/of-codes?status=500", 200),
    Case("http://tries.example.com/of-codes?status=503", 503),
    Case("http://a.wild.example.com/", backend="two"),
    Case("http://named.wild.example.com/", backend="one"),
    Case("http://a.b.wild.example.com/", 404),
    Case("http://wild.example.com/", 404),
    Case("http://includes.example.com/", backend="one"),
    Case("http://includes.example.com/team", backend="two"),
    Case("http://includes.example.com/team/blog/feed", body=b"feed"),
    Case("http://includes.example.com/blog/feed", backend="one"),
    Case("http://includes.example.com/beta/blog/feed", backend="one"),
    Case("http://includes.example.com/beta/blog/feed", headers={"X-Beta": "1"}, body=b"feed"),
    Case("http://includes.example.com/team/rewritten/page", backend="two", path="/page"),
    Case(
        "http://includes.example.com/beta/rewritten/page",
        headers={"X-Beta": "1"},
        backend="two",
        path="/other/page",
    ),
    Case("http://includes.example.com/gone/page", 502),
    Case("http://broken.example.com/", backend="one"),
    Case("http://broken.example.com/asleep", 503),
    Case("http://broken.example.com/missing", 503),
    Case("http://guarded-host.example.com/", 503),
    Case("http://guarded-route.example.com/", backend="one"),
    Case("http://guarded-route.example.com/private/page", 503),
    Case("http://claimed.example.com/", backend="one"),
]


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_an_httpproxy_is_served(instance: Standalone, case: Case) -> None:
    check(instance, case)


def _shares(instance: Standalone, url: str, requests: int) -> Counter[str]:
    host, _, path = url.partition("/")
    with closing(instance.connection("http", host)) as connection:
        answers = [exchange(connection, host, f"/{path}") for _ in range(requests)]
    assert {it.status for it in answers} <= {200, 500}
    return Counter(it.backend for it in answers)


@pytest.mark.parametrize(
    ("path", "least", "most"),
    # Five standard deviations around the share: a fair split fails once in two million runs.
    [("/fifth", 40, 120), ("/none", 400, 400), ("/even", 150, 250)],
)
def test_requests_are_shared_by_weight(
    instance: Standalone, path: str, least: int, most: int
) -> None:
    found = _shares(instance, f"shares.example.com{path}", 400)
    assert least <= found["two"] <= most
    assert found["one"] + found["two"] == 400


async def test_a_websocket_is_opened_where_it_is_enabled(instance: Standalone) -> None:
    base, host = f"http://127.0.0.1:{instance.ports['http']}", {"Host": "changes.example.com"}
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{base}/socket", headers=host) as socket,
    ):
        await socket.send_str("hello")
        assert await socket.receive_str(timeout=5) == "hello"


@pytest.mark.parametrize(
    ("url", "protocol", "status"),
    [
        ("http://changes.example.com/socket", "websocket", 101),
        ("http://changes.example.com/socket", "WebSocket", 101),
        ("http://changes.example.com/socket", "h2c", 200),  # not spoken, so not switched to
        ("http://changes.example.com/socket", "telnet", 403),
        ("http://changes.example.com/no-socket", "websocket", 403),
        ("http://ingress.example.com/", "websocket", 403),
        ("http://routes.example.com/", "websocket", 403),
        ("http://nobody.example.com/", "websocket", 404),
        ("https://secure.example.com/", "websocket", 403),
    ],
)
def test_nothing_else_is_switched_to(
    instance: Standalone, url: str, protocol: str, status: int
) -> None:
    headers = {
        "Connection": "Upgrade",
        "Upgrade": protocol,
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    }
    assert instance.ask(url, headers=headers).status == status


def test_nothing_follows_a_switch_that_was_refused(instance: Standalone) -> None:
    """Else a second request could hide behind the first from those who look at each."""
    first = (
        b"GET /no-socket HTTP/1.1\r\nHost: changes.example.com\r\n"
        b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    )
    second = b"GET /teapot HTTP/1.1\r\nHost: changes.example.com\r\n\r\n"
    with closing(instance.connection("http", "")) as connection:
        connection.sock.sendall(first + second)
        answers = b"".join(iter(lambda: connection.sock.recv(65536), b""))
    assert answers.count(b"HTTP/1.1 ") == 1
    assert answers.startswith(b"HTTP/1.1 403 ")


_TOLD = {
    "HTTPProxy default/broken": "nowhere",
    "HTTPProxy default/root": "gone",
    "HTTPProxy default/guarded-host": "spec.virtualhost.ipAllowPolicy",
    "HTTPProxy default/guarded-route": "spec.routes[1].ipDenyPolicy",
    "HTTPProxy elsewhere/claimed": "default/claimed",
}


def test_the_status_names_what_is_wrong_and_nothing_else(instance: Standalone) -> None:
    rows = instance.status()
    wrong = {name for name, row in rows.items() if row["state"] != "ok" and "HTTPProxy" in name}
    assert wrong == set(_TOLD)
    for name, word in _TOLD.items():
        assert word in str(rows[name]["reasons"])


def test_the_commands_tell_what_the_instance_knows(instance: Standalone) -> None:
    where = ["--state-dir", str(instance.state)]
    status = CliRunner().invoke(main, ["status", *where, "-o", "json"])
    told = {row["subject"]["name"]: row for row in json.loads(status.stdout)}
    assert "nowhere" in str(told["broken"]["reasons"])
    found = CliRunner().invoke(main, ["analyze", *where, "-o", "json", "--fail-on", "never"])
    named = {it["object"]["name"] for it in json.loads(found.stdout) if it["severity"] == "error"}
    assert "broken" in named
    same = CliRunner().invoke(main, ["diff", *where, "-f", str(instance.manifests)])
    assert (same.exit_code, same.stdout) == (0, "no request is answered differently\n")
    (fleet,) = json.loads(CliRunner().invoke(main, ["config", *where, "-o", "json"]).stdout)
    (envoy,) = fleet["envoys"]
    assert all(type_["versions"] and not type_["refused"] for type_ in envoy["types"])

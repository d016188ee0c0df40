"""What HTTPProxies and Ingresses ask for beside routes, request by request."""

import base64
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.contour.envoy.served import peers
from tests.e2e import callouts
from tests.e2e.cases import Case, check
from tests.e2e.standalone import Standalone, exchange, manifest, standalone
from tests.testbed import certificates, pairs, tokens
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy


@pytest.fixture(scope="module")
def asked_servers() -> Iterator[peers.Peers]:
    with callouts.serving() as found:
        yield found


@pytest.fixture(scope="module")
def policed(
    asked_servers: peers.Peers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Standalone]:
    authority = certificates.authority()
    files = {name: manifest(name) for name in ("services.yaml", "policies.yaml")}
    files["secret.yaml"] = pairs.of("certificate", certificates.issued(authority, "*.example.com"))
    files["authority.yaml"] = _opaque("authority", "ca.crt", authority.pem)
    files["keys.yaml"] = _opaque("keys", "jwks", tokens.jwks().encode())
    others = {"judge": asked_servers.grpc, "pages": asked_servers.http}
    folder = tmp_path_factory.mktemp("policies")
    with standalone(folder, files, others) as running:
        running.authority = authority
        yield running


def _opaque(name: str, entry: str, content: bytes) -> str:
    text = base64.b64encode(content).decode()
    return f"apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\ndata: {{{entry}: {text}}}\n"


def test_nothing_is_wrong(policed: Standalone) -> None:
    wrong = {name: row["reasons"] for name, row in policed.status().items() if row["reasons"]}
    assert wrong == {}


LET_IN = {"x-let-me-in": "please"}
ORIGIN = {"Origin": "https://a.friends.com", "Access-Control-Request-Method": "GET"}
STRANGER = {**ORIGIN, "Origin": "https://a.friends.com.evil"}

_CASES = [
    Case("http://named.example.com/", backend="one", answered={"x-everywhere": "from one"}),
    Case("http://alias.example.com/", backend="one"),
    Case("http://nobody-at-all.org/", backend="two"),
    Case("http://named.example.com/", method="DELETE", backend="two"),
    Case("http://named.example.com/", headers={"Cookie": "a=b; beta=yes; c=d"}, backend="two"),
    Case("http://named.example.com/", headers={"Cookie": "beta=yes"}, backend="two"),
    Case("http://named.example.com/", headers={"Cookie": "xbeta=yes; beta=yess"}, backend="one"),
    Case(
        "http://named.example.com/who",
        headers={"X-Asker": "me", "X-Who": "forged"},
        seen={"x-who": "me at one 100%"},
    ),
    Case(
        "http://named.example.com/host",
        headers={"X-Host": "inner.example.com"},
        host="inner.example.com",
    ),
    Case("http://named.example.com/sorry", 503, body=b"sorry"),
    Case("http://guarded.example.com/denied", 403),
    Case("http://guarded.example.com/denied-answer", 403),
    Case("http://guarded.example.com/allowed", 200, backend="one"),
    Case(
        "http://guarded.example.com/",
        200,
        method="OPTIONS",
        headers=ORIGIN,
        answered={
            "access-control-allow-origin": "https://a.friends.com",
            "access-control-max-age": "600",
        },
    ),
    Case(
        "http://guarded.example.com/",
        method="OPTIONS",
        headers=STRANGER,
        answered={"access-control-allow-origin": None},
    ),
    Case("http://guarded.example.com/counted", 429, headers={"X-Kind": "too-often"}),
    Case("http://guarded.example.com/counted", 200, headers={"X-Kind": "seldom"}),
    Case("http://judged.example.com/", 401, body=b"who are you?"),
    Case("http://judged.example.com/", 200, headers=LET_IN, seen={"x-user": "somebody"}),
    Case("http://judged.example.com/free", 200, backend="one"),
    Case("http://judged.example.com/answer", 401),
    Case("http://judged.example.com/answer", 200, headers=LET_IN, body=b"secret"),
    Case("http://tokens.example.com/", 401),
    Case("http://tokens.example.com/", 401, headers={"Authorization": "Bearer x.y.z"}),
    Case("http://tokens.example.com/free", 200, backend="one"),
    Case("http://tokens.example.com/moved", 401),
    Case("https://stream.example.com/", backend="two"),
    Case("http://annotated.example.com/wait?seconds=9", 504),
    Case("http://annotated.example.com/", 200, backend="one"),
]


@pytest.mark.parametrize("case", _CASES, ids=str)
def test_a_policy_is_served(policed: Standalone, case: Case) -> None:
    check(policed, case)


def test_a_client_without_a_name_we_know_gets_the_fallback(policed: Standalone) -> None:
    answer = policed.ask("https://nameless.example.com/", sni="unknown.example.com")
    assert (answer.status, answer.backend) == (200, "one")
    assert policed.ask("https://clients.example.com/", sni="unknown.example.com").status >= 400


def test_a_token_lets_in_and_its_claims_are_told(policed: Standalone) -> None:
    headers = {"Authorization": f"Bearer {tokens.token(sub='me')}", "X-Sub": "forged"}
    answer = policed.ask("http://tokens.example.com/", headers=headers)
    assert (answer.status, answer.seen["headers"].get("x-sub")) == (200, "me")
    wrong = {"Authorization": f"Bearer {tokens.token(iss='other')}"}
    assert policed.ask("http://tokens.example.com/", headers=wrong).status == 401


def test_the_second_request_is_one_too_many(policed: Standalone) -> None:
    found = [policed.ask("http://guarded.example.com/once").status for _ in range(2)]
    assert found == [200, 431]


def test_a_cookie_keeps_a_client_with_its_endpoint(policed: Standalone) -> None:
    answer = policed.ask("http://named.example.com/sticky")
    assert answer.headers["set-cookie"].startswith('X-Contour-Session-Affinity="')
    again = policed.ask(
        "http://named.example.com/sticky", headers={"Cookie": answer.headers["set-cookie"]}
    )
    assert "set-cookie" not in again.headers


def test_a_mirror_gets_a_copy(policed: Standalone, asked_servers: peers.Peers) -> None:
    assert policed.ask("http://named.example.com/mirrored?once").backend == "one"
    wait(lambda: any(it.path == "/mirrored" for it in asked_servers.visits), "a copy")


def test_a_cookie_is_rewritten_whatever_stands_in_its_path(policed: Standalone) -> None:
    headers = {"X-Cookie": "c=1; Path=/old; HttpOnly"}
    answer = policed.ask("http://named.example.com/cookies", headers=headers)
    assert answer.status == 418
    assert "HttpOnly" in _cookie(policed)
    assert "/x\"]]'y" in _cookie(policed)
    assert "Secure" in _cookie(policed)
    assert "/old" not in _cookie(policed)


def _cookie(instance: Standalone) -> str:
    with closing(instance.connection("http", "")) as connection:
        connection.putrequest("GET", "/cookies", skip_host=True)
        connection.putheader("Host", "named.example.com")
        connection.putheader("X-Cookie", "c=1; Path=/old; HttpOnly")
        connection.endheaders()
        response = connection.getresponse()
        response.read()
        return next(it for it in response.headers.get_all("set-cookie") or () if it[:2] == "c=")


def test_a_redirect_of_a_service_is_followed(policed: Standalone) -> None:
    answer = policed.ask(
        "http://named.example.com/follow",
        headers={"X-Location": "http://alias.example.com/there"},
    )
    assert (answer.status, answer.backend) == (200, "one")


@pytest.mark.parametrize(("size", "status"), [(10, 200), (11, 413)])
def test_a_body_is_limited(policed: Standalone, size: int, status: int) -> None:
    with closing(policed.connection("http", "")) as connection:
        connection.request(
            "POST", "/small", body=b"x" * size, headers={"Host": "named.example.com"}
        )
        assert connection.getresponse().status == status


def test_what_a_route_tells_the_judge_wins(policed: Standalone, asked_servers: peers.Peers) -> None:
    for path, expected in (("", "host"), ("told", "route")):
        assert policed.ask(f"http://judged.example.com/{path}", headers=LET_IN).status == 200
        context = asked_servers.authorized[-1].attributes.context_extensions
        assert dict(context) == {"where": expected}


def test_clients_have_to_show_a_certificate(policed: Standalone, tmp_path: Path) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        policed.ask("https://clients.example.com/")
    pair = certificates.issued(policed.authority, "me")
    client = policed.trusting()
    certificate, key, _ = certificates.write(pair, policed.authority, tmp_path)
    client.load_cert_chain(certificate, key)
    with closing(policed.connection("http", "")) as connection:
        connection.close()
        connection.port = policed.ports["https"]
        connection.connect()
        connection.sock = client.wrap_socket(connection.sock, server_hostname="clients.example.com")
        answer = exchange(connection, "clients.example.com", "/")
    assert answer.backend == "one"
    assert "Subject=" in answer.seen["headers"]["x-forwarded-client-cert"]


@pytest.mark.parametrize(("path", "status"), [("socket", 101), ("", 403)])
def test_an_ingress_names_the_paths_that_switch(
    policed: Standalone, path: str, status: int
) -> None:
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    }
    assert policed.ask(f"http://annotated.example.com/{path}", headers=headers).status == status

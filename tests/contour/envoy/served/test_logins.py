"""Logins whose provider sends what no token can be."""

import re
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from crds.meta import ObjectRef
from dag import nodes
from tests.contour.envoy import proxies, world
from tests.contour.envoy.served.conftest import ONE, Served

pytestmark = [
    pytest.mark.envoy,
    pytest.mark.asyncio(loop_scope="module"),
]

_PROVIDER = world.cluster("provider")
_COOKIES = nodes.LoginCookies("access", "id", "refresh", "expires", "hmac", "nonce", "verifier")
_NEXT = "\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


def hosts(served: Served) -> None:
    served.proxy.world.endpoints(_PROVIDER, served.peers.http)
    source = ObjectRef("SecurityPolicy", "shop", "login")
    served.proxy.world.engine.write(world.LOGINS, source.key, nodes.LoginSecrets(b"c", b"h" * 32))
    for is_plain in (True, False):
        login = nodes.Login(
            source,
            "app",
            nodes.ProviderEndpoints("https://idp.test/authorize", "http://idp.test/token"),
            _PROVIDER,
            "http://%REQ(:authority)%/callback",
            "/callback",
            "/logout",
            _COOKIES,
            lifetime=3600,
            is_plain=is_plain,
        )
        policies = nodes.Policies(login=login)
        name = "plain" if is_plain else "encrypted"
        served.serve(f"{name}.test", world.route(world.forward(ONE), policies=policies))


async def _logged_in(envoy: Served, host: str, token: str) -> proxies.Answer:
    """The answer to a browser that comes back from the provider, which sends Envoy this token."""
    envoy.peers.tokens = {"access_token": token, "refresh_token": "r", "expires_in": 60}
    asked = await envoy.ask(host)
    state = parse_qs(urlsplit(asked.headers["location"]).query)["state"][0]
    cookies = re.findall(r"(?:^|, )((?:nonce|verifier)[^=]*=[^;]*)", asked.headers["set-cookie"])
    path = f"/callback?code=c&state={quote(state)}"
    return await envoy.ask(host, path, cookie="; ".join(cookies))


@pytest.mark.parametrize(
    ("host", "token", "status"),
    [
        ("plain.test", "a.b.c", 302),
        ("plain.test", f"a{_NEXT}", 502),
        ("plain.test", "a\rb", 502),
        ("plain.test", "a\nb", 502),
        ("encrypted.test", f"a{_NEXT}", 302),
    ],
)
async def test_a_provider_forges_no_other_answer(
    envoy: Served, host: str, token: str, status: int
) -> None:
    """Its token in a cookie would be the next answer on the connection."""
    answer = await _logged_in(envoy, host, token)
    assert answer.status == status
    assert "\r" not in answer.headers.get("set-cookie", "")
    assert answer.headers.get("content-length", "0") == "0"

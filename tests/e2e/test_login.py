"""Users log in at an OpenID provider (`oidc` of a SecurityPolicy): `contour run`, a real Envoy.

With both ways of cutting hosts into RouteConfigurations.
"""

import contextlib
import json
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.cookies import Morsel, SimpleCookie
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from tests.e2e import openid, peers
from tests.e2e.openid import Provider
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import certificates, tokens
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

_CONFIGURATION = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec:
  gateway: {controllerName: projectcontour.io/gateway-controller}
  envoy: {listener: {routing: %s}}
"""
ISSUER = "https://idp.example.com"
_PROVIDER: dict[str, object] = {
    "issuer": ISSUER,
    "authorizationEndpoint": f"{ISSUER}/authorize?prompt=login",
    "tokenEndpoint": "http://idp.example.com/token",
    "endSessionEndpoint": f"{ISSUER}/end",
    "backendRefs": [{"name": "idp", "port": 80}],
}
_PLAIN: dict[str, object] = {
    "provider": _PROVIDER,
    "clientID": "app",
    "clientSecret": {"name": "client"},
}
_TOKENS = {
    "providers": [
        {
            "name": "idp",
            "issuer": ISSUER,
            "localJWKS": {"type": "Inline", "inline": tokens.jwks()},
            "extractFrom": {"cookies": ["access"], "headers": [{"name": "x-token"}]},
            "claimToHeaders": [{"claim": "sub", "header": "x-user"}],
        }
    ]
}
POLICIES: Mapping[str, Mapping[str, object]] = {
    "plain": {"oidc": _PLAIN},
    "other": {"oidc": {**_PLAIN, "refreshToken": False}},
    "full": {
        "oidc": {
            "provider": _PROVIDER,
            "clientSecret": {"name": "client"},
            "clientIDRef": {"name": "other-client"},
            "redirectURL": "http://%REQ(:authority)%/app/callback",
            "logoutPath": "/app/logout",
            "cookieNames": {"accessToken": "access", "idToken": "identity"},
            "cookieDomain": "example.com",
            "cookieConfig": {"sameSite": "Strict"},
            "scopes": ["email"],
            "resources": ["https://api.example.com"],
            "forwardAccessToken": True,
            "forwardIDToken": {"header": "X-ID-Token"},
            "csrfTokenTTL": "5m",
            "denyRedirect": {"headers": [{"name": "X-Requested-With", "value": "fetch"}]},
        }
    },
    "tokens": {
        "oidc": {
            **_PLAIN,
            "cookieNames": {"accessToken": "access"},
            "passThroughAuthHeader": True,
            "forwardIDToken": {"header": "x-id-token"},
        },
        "jwt": _TOKENS,
        "authorization": {
            "defaultAction": "Deny",
            "rules": [
                {
                    "action": "Allow",
                    "principal": {
                        "jwt": {
                            "provider": "idp",
                            "claims": [{"name": "sub", "values": ["alice"]}],
                        }
                    },
                }
            ],
        },
    },
    "wrong": {"oidc": {**_PLAIN, "clientSecret": {"name": "other-client"}}},
    "short": {"oidc": {**_PLAIN, "provider": {**_PROVIDER}, "disableTokenEncryption": True}},
    "missing": {"oidc": {**_PLAIN, "clientSecret": {"name": "nothing"}}},
}


def documents(names: Mapping[str, Mapping[str, object]]) -> str:
    """A host and a policy for each name, and a host without one."""
    made = [_route(it) for it in (*names, "open")]
    made += [_policy(name, spec) for name, spec in names.items()]
    return yaml.safe_dump_all(made).replace("$", "$$")


def _route(name: str) -> Mapping[str, object]:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": name},
        "spec": {
            "parentRefs": [{"name": "web"}],
            "hostnames": [f"{name}.example.com"],
            "rules": [{"backendRefs": [{"name": "one", "port": 80}]}],
        },
    }


def _policy(name: str, spec: Mapping[str, object]) -> Mapping[str, object]:
    target = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": name}
    return {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "SecurityPolicy",
        "metadata": {"name": name},
        "spec": {"targetRefs": [target], **spec},
    }


@dataclass
class Page:
    """What a browser got."""

    status: int
    location: str
    cookies: Mapping[str, Morsel[str]]
    """Those that were set."""
    body: bytes

    @property
    def seen(self) -> Mapping[str, str]:
        """The headers that the backend got."""
        found: Mapping[str, str] = json.loads(self.body)["headers"]
        return found


@dataclass
class Browser:
    """Keeps the cookies of one host, and sends them."""

    site: Standalone
    host: str
    cookies: dict[str, str] = field(default_factory=dict)

    def ask(self, path: str, headers: Mapping[str, str] | None = None) -> Page:
        """One request, on a connection of its own."""
        given = {"Host": self.host, **(headers or {})}
        if self.cookies:
            given["Cookie"] = "; ".join(f"{name}={it}" for name, it in self.cookies.items())
        with contextlib.closing(self.site.connection("http", self.host)) as connection:
            connection.request("GET", path, headers=given)
            answer = connection.getresponse()
            found = SimpleCookie()
            for it in answer.headers.get_all("set-cookie", ()):
                found.load(it)
            self._keep(found)
            return Page(answer.status, answer.headers["location"] or "", found, answer.read())

    def _keep(self, found: Mapping[str, Morsel[str]]) -> None:
        for name, it in found.items():
            if it.value in ("", "deleted") or it["max-age"] == "0":
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = it.value

    def begin(self, path: str = "/page?a=b") -> openid.Fields:
        """Asks for a page, and is sent to the provider: with what."""
        found = self.ask(path)
        assert found.status == 302, found
        assert found.location.startswith(f"{ISSUER}/authorize?"), found.location
        return openid.asked(found.location)

    def finish(self, provider: Provider, asked: openid.Fields) -> Page:
        """Logs in, and is sent back."""
        parts = urlsplit(provider.authorize(asked))
        assert parts.netloc == self.host
        return self.ask(f"{parts.path}?{parts.query}")

    def log_in(self, provider: Provider) -> None:
        """Until pages are there."""
        found = self.finish(provider, self.begin())
        assert (found.status, found.location) == (302, f"http://{self.host}/page?a=b"), found


@pytest.fixture(scope="module", name="provider")
def _provider() -> Provider:
    return Provider(ISSUER, ("app", "a-secret-of-the-client"))


@pytest.fixture(scope="module", name="site", params=["Shards", "Single"])
def _site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, provider: Provider
) -> Iterator[Standalone]:
    with provider.serving() as port:
        files = {
            "services.yaml": manifest("services.yaml"),
            "login.yaml": manifest("login.yaml") + documents(POLICIES),
            "configuration.yaml": _CONFIGURATION % request.param,
            "peers.yaml": peers.service("idp", port),
        }
        with standalone(tmp_path_factory.mktemp("login"), files, {"idp": port}) as found:
            yield found


def test_a_user_logs_in_and_out(site: Standalone, provider: Provider) -> None:
    browser = Browser(site, "plain.example.com")
    asked = browser.begin()
    assert asked["client_id"] == "app"
    assert asked["response_type"] == "code"
    assert asked["scope"].split() == ["openid"]
    assert asked["redirect_uri"] == "http://plain.example.com/oauth2/callback"
    assert asked["prompt"] == "login"
    assert asked["code_challenge_method"] == "S256"

    found = browser.finish(provider, asked)
    assert (found.status, found.location) == (302, "http://plain.example.com/page?a=b")
    kept = [it for name, it in found.cookies.items() if name in browser.cookies]
    assert len(kept) == 5
    assert all(it["httponly"] and it["secure"] for it in kept)
    page = browser.ask("/page?a=b", {"authorization": "Bearer mine"})
    assert page.status == 200
    assert "authorization" not in page.seen

    left = browser.ask("/logout")
    assert left.status == 302
    assert left.location.startswith(f"{ISSUER}/end?")
    assert browser.ask("/page?a=b").status == 302


def test_forged_cookies_are_no_login(site: Standalone, provider: Provider) -> None:
    browser = Browser(site, "other.example.com")
    browser.log_in(provider)
    mine = dict(browser.cookies)
    (hmac,) = (it for it in mine if it.startswith("OauthHMAC"))
    (expires,) = (it for it in mine if it.startswith("OauthExpires"))
    assert Browser(site, "other.example.com", mine).ask("/page").status == 200

    for changed in ({hmac: mine[hmac][:-4] + "AAA="}, {hmac: ""}, {expires: "99999999999"}):
        forger = Browser(site, "other.example.com", mine | changed)
        assert forger.ask("/page").status == 302, changed


def test_a_login_of_one_policy_is_none_of_another(site: Standalone, provider: Provider) -> None:
    browser = Browser(site, "plain.example.com")
    browser.log_in(provider)
    here, there = _suffix(browser.cookies), _suffix_of(site, "other")
    renamed = {name.replace(here, there): it for name, it in browser.cookies.items()}
    assert Browser(site, "other.example.com", renamed).ask("/page").status == 302


def _suffix(cookies: Mapping[str, str]) -> str:
    (found,) = {it.rpartition("-")[2].partition(".")[0] for it in cookies}
    return found


def _suffix_of(site: Standalone, name: str) -> str:
    browser = Browser(site, f"{name}.example.com")
    browser.begin()
    return _suffix(browser.cookies)


def test_a_callback_needs_the_state_and_the_cookies_of_its_login(
    site: Standalone, provider: Provider
) -> None:
    browser = Browser(site, "plain.example.com")
    asked = browser.begin()
    stranger = Browser(site, "plain.example.com")
    assert stranger.finish(provider, asked).status == 401
    assert Browser(site, "plain.example.com").begin() != asked
    other = stranger.begin()
    assert browser.finish(provider, {**asked, "state": other["state"]}).status == 401
    for query in ("", "?code=x", "?code=x&state=y", "?error=access_denied"):
        assert browser.ask(f"/oauth2/callback{query}").status == 401
    assert browser.ask("/page").status == 302


def test_a_token_endpoint_that_is_away_or_refuses_opens_nothing(
    site: Standalone, provider: Provider
) -> None:
    browser = Browser(site, "plain.example.com")
    provider.is_away = True
    try:
        assert browser.finish(provider, browser.begin()).status == 401
    finally:
        provider.is_away = False
    assert browser.ask("/page").status == 302
    wrong = Browser(site, "wrong.example.com")
    assert wrong.finish(provider, wrong.begin()).status == 401
    assert wrong.ask("/page").status == 302


def test_hosts_without_a_login_are_open_and_those_without_a_secret_closed(
    site: Standalone,
) -> None:
    assert Browser(site, "open.example.com").ask("/logout").status == 200
    assert Browser(site, "missing.example.com").ask("/").status == 500
    told = site.reasons("SecurityPolicy default/missing")
    assert "spec.oidc.clientSecret: Secret default/nothing not found" in told


def test_tokens_are_renewed_by_the_refresh_token(site: Standalone, provider: Provider) -> None:
    browser = Browser(site, "plain.example.com")
    provider.lifetime = 1
    try:
        browser.log_in(provider)
        before = len(provider.asked)
        wait(lambda: _was_renewed(browser, provider, before), "tokens to be renewed")
    finally:
        provider.lifetime = 3600
    provider.refreshers.clear()
    wait(lambda: browser.ask("/page").status == 302, "the login to end")


def _was_renewed(browser: Browser, provider: Provider, before: int) -> bool:
    assert browser.ask("/page").status == 200
    return any(it["grant_type"] == "refresh_token" for it in provider.asked[before:])


def test_every_setting_is_served(site: Standalone, provider: Provider) -> None:
    browser = Browser(site, "full.example.com")
    assert browser.ask("/page", {"x-requested-with": "fetch"}).status == 401
    found = browser.ask("/page?a=b")
    asked = openid.asked(found.location)
    assert set(asked["scope"].split()) == {"openid", "email"}
    assert asked["resource"] == "https://api.example.com"
    assert asked["redirect_uri"] == "http://full.example.com/app/callback"
    for it in found.cookies.values():
        assert (it["samesite"], it["max-age"], it["domain"]) == ("Lax", "300", "example.com")

    back = browser.finish(provider, asked)
    assert back.status == 302
    kept = {name: it for name, it in back.cookies.items() if name in browser.cookies}
    assert {"access", "identity"} <= kept.keys()
    for it in kept.values():
        assert (it["samesite"], it["domain"]) == ("Strict", "example.com")
    assert not any("." in browser.cookies[it] for it in ("access", "identity"))

    seen = browser.ask("/page", {"x-id-token": "forged"}).seen
    kind, _, token = seen["authorization"].partition(" ")
    assert (kind, _claims(token)["use"]) == ("Bearer", "access")
    assert _claims(seen["x-id-token"])["use"] == "id"
    assert browser.ask("/app/logout").status == 302
    assert not {"access", "identity"} & browser.cookies.keys()


def _claims(token: str) -> Mapping[str, object]:
    found: Mapping[str, object] = json.loads(tokens.decoded(token.split(".")[1]))
    return found


def test_rules_read_the_token_of_a_login(site: Standalone, provider: Provider) -> None:
    browser = Browser(site, "tokens.example.com")
    browser.log_in(provider)
    assert browser.ask("/page").seen["x-user"] == "alice"
    provider.user = "mallory"
    try:
        other = Browser(site, "tokens.example.com")
        other.log_in(provider)
    finally:
        provider.user = "alice"
    assert other.ask("/page").status == 403

    client = Browser(site, "tokens.example.com")
    alice = {"x-token": tokens.token(iss=ISSUER, sub="alice")}
    found = client.ask("/page", {**alice, "x-id-token": "forged"})
    assert found.status == 200
    assert found.seen.get("x-id-token") != "forged"
    assert client.ask("/page", {"x-token": "nonsense"}).status == 401
    assert client.ask("/page", {"x-token": tokens.token(iss=ISSUER)}).status == 403
    plain = {"cookie": f"access={alice['x-token']}"}
    assert client.ask("/page", plain).status == 302


_HOST = socket.gethostname().lower()
"""Of this machine: a name that is resolved without asking anybody."""
_TLS = """
apiVersion: v1
kind: Service
metadata: {name: secured}
spec: {ports: [{name: https, port: 443}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: secured, labels: {kubernetes.io/service-name: secured}}
addressType: IPv4
ports: [{name: https, port: $secured}]
endpoints: [{addresses: [ADDRESS]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: secured}
spec:
  targetRefs: [{group: "", kind: Service, name: secured}]
  validation:
    hostname: HOST
    caCertificateRefs: [{group: "", kind: ConfigMap, name: authority}]
"""


def test_endpoints_are_discovered_over_tls_that_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = socket.gethostbyname(_HOST)
    authority = certificates.authority()
    bundle = tmp_path / "authorities.pem"
    bundle.write_bytes(authority.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))  # of the control plane; not of Envoy
    provider = Provider("", ("app", "a-secret-of-the-client"))
    with provider.serving(certificates.issued(authority, _HOST), address) as port:
        provider.issuer = f"https://{_HOST}:{port}/realm"
        provider.document = {"issuer": "https://other.example.com"}
        found = {"issuer": provider.issuer, "backendRefs": [{"name": "secured", "port": 443}]}
        policies = {
            "tls": {"oidc": {**_PLAIN, "provider": found}},
            "untrusted": {"oidc": {**_PLAIN, "provider": {"issuer": provider.issuer}}},
        }
        files = {
            "services.yaml": manifest("services.yaml"),
            "login.yaml": manifest("login.yaml") + documents(policies),
            "secured.yaml": _TLS.replace("ADDRESS", address).replace("HOST", _HOST),
            "authority.yaml": _authority(authority),
            "configuration.yaml": _CONFIGURATION % "Shards",
        }
        with standalone(tmp_path, files, {"secured": port}) as site:
            browser = Browser(site, "tls.example.com")
            assert browser.ask("/page").status == 500
            site.until_told("SecurityPolicy default/tls", "names another issuer")
            provider.document = {}
            wait(lambda: browser.ask("/page").status == 302, "the document to be fetched")
            asked = openid.asked(browser.ask("/page?a=b").location)
            assert browser.finish(provider, asked).status == 302
            assert browser.ask("/page").status == 200

            other = Browser(site, "untrusted.example.com")
            asked = openid.asked(other.ask("/page").location)
            before = len(provider.asked)
            assert other.finish(provider, asked).status == 401
            assert len(provider.asked) == before


def _authority(authority: certificates.Pair) -> str:
    made = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "authority"},
        "data": {"ca.crt": authority.pem.decode()},
    }
    return yaml.safe_dump(made)

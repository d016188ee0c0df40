"""The login of a SecurityPolicy: what routes are told, and what closes them."""

import json
from typing import Any

import pytest

from dag import nodes
from dag.engine.incremental import Engine
from dag.gateway.envoypolicies import loginprovider, securitylogin
from dag.references import keysets
from dag.references.jwks import MAX_SIZE, UnusableError
from tests.dag.gateway.manifests import route
from tests.dag.gateway.test_securitypolicies import (
    GIVEN,
    INVALID,
    ROUTE,
    applied,
    message,
    policy,
    route_message,
    served,
    told,
)
from tests.dag.world import apply, delete, key, world

ISSUER = "https://idp.com/realm"
SOURCE = nodes.Discovery(
    ISSUER, nodes.UpstreamTls(system=True, sni="idp.com"), 5.0, loginprovider.REFRESH
)
DOCUMENT = {
    "issuer": ISSUER,
    "authorization_endpoint": "https://idp.com/authorize",
    "token_endpoint": "https://tokens.idp.com:8443/token",
    "end_session_endpoint": "https://idp.com/end",
    "jwks_uri": "https://idp.com/keys",
}
GIVEN_ENDPOINTS: dict[str, Any] = {
    "issuer": ISSUER,
    "authorizationEndpoint": "https://idp.com/auth",
    "tokenEndpoint": "https://idp.com/token",
}
SECRET = "a-secret-that-is-long"


def login(**more: object) -> str:
    """`oidc` with the endpoints of the provider."""
    made = {"provider": GIVEN_ENDPOINTS, "clientID": "app", "clientSecret": {"name": "c"}, **more}
    return "oidc: " + json.dumps({name: it for name, it in made.items() if it is not None})


def secret(content: str = SECRET, name: str = "c", entry: str = "client-secret") -> str:
    text = json.dumps({entry: content})
    return (
        f"---\n{{apiVersion: v1, kind: Secret, metadata: {{name: {name}}}, stringData: {text}}}\n"
    )


def guarded(spec: str, more: str = "") -> Engine:
    return world(GIVEN + route("r") + secret() + more + policy("a", spec))


def found(engine: Engine) -> nodes.Login:
    (it,) = served(engine)
    assert it.policies is not None
    assert isinstance(it.policies.login, nodes.Login), message(engine, "a")
    return it.policies.login


def test_what_a_policy_says_is_told_to_its_routes() -> None:
    it = found(guarded(login()))
    tls = nodes.UpstreamTls(
        system=True, names=(nodes.AlternativeName("DNS", "idp.com"),), sni="idp.com"
    )
    assert it.cluster.dns == nodes.DnsAddress("idp.com", 443)
    assert (it.cluster.tls, it.cluster.protocol) == (tls, "tls")
    assert it.endpoints == nodes.ProviderEndpoints("https://idp.com/auth", "https://idp.com/token")
    assert (it.callback, it.logout, it.scopes) == ("/oauth2/callback", "/logout", ("openid",))
    assert it.redirect == "%REQ(x-forwarded-proto)%://%REQ(:authority)%/oauth2/callback"
    assert it.refreshes
    assert (it.is_plain, it.forwards_access_token, it.id_token_header) == (False, False, "")
    assert it.passed == ()
    assert len({name.rpartition("-")[2] for name in it.cookies}) == 1
    assert len(set(it.cookies)) == 7


def test_the_server_of_the_token_endpoint_may_be_a_service() -> None:
    refs = {**GIVEN_ENDPOINTS, "backendRefs": [{"name": "s1", "port": 80}]}
    it = found(guarded(login(provider=refs)))
    assert it.cluster.port.service == key("s1")
    assert it.cluster.tls is not None
    assert it.cluster.tls.system
    plain = found(guarded(login(provider={**refs, "tokenEndpoint": "http://idp.svc/token"})))
    assert (plain.cluster.tls, plain.cluster.protocol) == (None, "http/1.1")


CLOSING = {
    "oidc.provider.tokenEndpoint": login(
        provider={**GIVEN_ENDPOINTS, "tokenEndpoint": "http://idp.com/token"}
    ),
    "oidc.provider.tokenEndpoint: 'localhost'": login(
        provider={**GIVEN_ENDPOINTS, "tokenEndpoint": "https://localhost/token"}
    ),
    "oidc.provider.tokenEndpoint: the host": login(
        provider={**GIVEN_ENDPOINTS, "tokenEndpoint": "https://192.0.2.1/token"}
    ),
    "oidc.provider.tokenEndpoint: 'https://idp.com/{": login(
        provider={**GIVEN_ENDPOINTS, "tokenEndpoint": "https://idp.com/{realm}"}
    ),
    "oidc.provider.authorizationEndpoint": login(
        provider={**GIVEN_ENDPOINTS, "authorizationEndpoint": "/auth"}
    ),
    "oidc.provider.authorizationEndpoint: 'https://idp.com/a#' has": login(
        provider={**GIVEN_ENDPOINTS, "authorizationEndpoint": "https://idp.com/a#"}
    ),
    "oidc.provider.endSessionEndpoint": login(
        provider={**GIVEN_ENDPOINTS, "endSessionEndpoint": "https://a b"}
    ),
    "oidc.provider.issuer: the scheme": login(provider={"issuer": "http://idp.com"}),
    "oidc.provider.issuer: an issuer": login(provider={"issuer": "https://idp.com?a"}),
    "oidc.provider.issuer: the discovery document has not been": login(provider={"issuer": ISSUER}),
    "oidc.provider.backendRefs[0]": login(
        provider={**GIVEN_ENDPOINTS, "backendRefs": [{"name": "gone", "port": 80}]}
    ),
    "oidc.provider.backendRefs[0]: kind": login(
        provider={
            **GIVEN_ENDPOINTS,
            "backendRefs": [{"group": "example.com", "kind": "Other", "name": "b", "port": 80}],
        }
    ),
    "oidc.provider.backendRefs": login(
        provider={
            **GIVEN_ENDPOINTS,
            "backendRefs": [{"name": "s1", "port": 80}, {"name": "s2", "port": 80}],
        }
    ),
    "oidc.provider.backendSettings.retry.perRetry.backOff": login(
        provider={
            **GIVEN_ENDPOINTS,
            "backendSettings": {"retry": {"perRetry": {"backOff": {"maxInterval": "1s"}}}},
        }
    ),
    "oidc.clientSecret: Secret default/gone not found": login(clientSecret={"name": "gone"}),
    "oidc.clientSecret: Secret default/tls is of type": login(clientSecret={"name": "tls"}),
    "oidc.clientSecret: Secret default/empty has a client-secret that is": login(
        clientSecret={"name": "empty"}
    ),
    "oidc.clientSecret: Secret default/id has no client-secret": login(clientSecret={"name": "id"}),
    "oidc.clientSecret: no ReferenceGrant": login(clientSecret={"name": "c", "namespace": "other"}),
    "oidc.clientSecret: kind": login(clientSecret={"name": "c", "kind": "ConfigMap"}),
    "oidc.clientID: has characters": login(clientID="a\r\nb: c"),
    "oidc.clientID: has": login(clientID="a b"),
    "oidc.clientIDRef": login(clientID=None, clientIDRef={"name": "c"}),
    "oidc.redirectURL": login(redirectURL="https://a.com/"),
    "oidc.redirectURL: 'https://a.com": login(redirectURL="https://a.com"),
    "oidc.redirectURL: '%REQ(cookie)%": login(redirectURL="%REQ(cookie)%://a.com/b"),
    "oidc.redirectURL: 'https://%req(:authority)%": login(
        redirectURL="https://%req(:authority)%/b"
    ),
    "oidc.redirectURL: '%Req(x-": login(redirectURL="%Req(x-forwarded-proto)%://a.com/b"),
    "oidc.redirectURL: 'https://%": login(redirectURL="https://%REQ(x)%/b"),
    "oidc.redirectURL: 'https://a.com/%": login(redirectURL="https://a.com/%REQ(x)%"),
    "oidc.redirectURL: 'https://a.com/b?": login(redirectURL="https://a.com/b?c"),
    "oidc.logoutPath": login(logoutPath="logout"),
    "oidc.logoutPath: is the path": login(redirectURL="https://a.com/logout"),
    "oidc.cookieNames.idToken": login(cookieNames={"accessToken": "a", "idToken": "a b"}),
    "oidc.cookieNames.accessToken": login(cookieNames={"accessToken": "a", "idToken": "a"}),
    "oidc.denyRedirect.headers[0].value": login(
        denyRedirect={"headers": [{"name": "x", "value": "(", "type": "RegularExpression"}]}
    ),
    "oidc.denyRedirect.headers[0].name": login(
        denyRedirect={"headers": [{"name": "a b", "value": "c"}]}
    ),
    "oidc.denyRedirect.headers[0].type": login(
        denyRedirect={"headers": [{"name": "x", "value": "(", "type": "Other"}]}
    ),
    "oidc.forwardIDToken.header": login(forwardIDToken={"header": "x-forwarded-for"}),
    "oidc.csrfTokenTTL": login(csrfTokenTTL="0s"),
    "oidc.passThroughAuthHeader": login(passThroughAuthHeader=True),
}
_OTHERS = (
    secret("", "empty")
    + secret("app", "id", "client-id")
    + "---\n{apiVersion: v1, kind: Secret, metadata: {name: tls}, type: kubernetes.io/tls}\n"
)


@pytest.mark.parametrize("words", CLOSING)
def test_what_cannot_be_built_closes_the_routes(words: str) -> None:
    it = guarded(CLOSING[words], _OTHERS)
    assert applied(it) == ["a 500"]
    assert told(it, "a") == INVALID
    assert message(it, "a").startswith(f"spec.{words}")
    delete(it, "SecurityPolicy", "a")
    assert applied(it) == [""]


TOKENS = (
    "jwt: {%s providers: [{name: p, %s localJWKS: {type: Inline, inline: "
    '\'{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}\'}}]}'
)


def test_requests_pass_with_a_token_only_where_every_token_is_verified() -> None:
    asked = login(passThroughAuthHeader=True)
    for lenient in ("optional: true,", "failOpen: true,"):
        it = guarded(f"{asked}, {TOKENS % (lenient, '')}")
        assert applied(it) == ["a 500"]
        assert "spec.oidc.passThroughAuthHeader: needs jwt" in message(it, "a")
    bearer = nodes.HeaderMatch("authorization", nodes.ValueMatch("prefix", "Bearer "))
    assert found(guarded(f"{asked}, {TOKENS % ('', '')}")).passed == (bearer,)
    own = "extractFrom: {headers: [{name: X-Token}], cookies: [c]},"
    present = nodes.HeaderMatch("x-token", nodes.ValueMatch("present"))
    assert found(guarded(f"{asked}, {TOKENS % ('', own)}")).passed == (present,)
    cookies = "extractFrom: {cookies: [c]},"
    assert found(guarded(f"{asked}, {TOKENS % ('', cookies)}")).passed == ()
    both = login(passThroughAuthHeader=True, forwardIDToken={"header": "x-token"})
    it = guarded(f"{both}, {TOKENS % ('', own)}")
    assert "spec.oidc.forwardIDToken.header: is a header of" in message(it, "a")
    both = login(passThroughAuthHeader=True, forwardIDToken={"header": "x-id"})
    it = guarded(f"{both}, {TOKENS % ('', own)}")
    assert "spec.oidc.forwardIDToken.header: requests that passThroughAuth" in message(it, "a")


def test_calls_that_cannot_log_in_are_told() -> None:
    target = ROUTE.replace("HTTPRoute", "GRPCRoute")
    given = GIVEN + route("r").replace("HTTPRoute", "GRPCRoute") + secret()
    it = world(given + policy("a", login(), target))
    words = "spec.rules[0]: calls without the cookies of a login are redirected or refused"
    assert words in route_message(it, "GRPCRoute")
    passing = f"{login(passThroughAuthHeader=True)}, {TOKENS % ('', '')}"
    apply(it, policy("a", passing, target))
    assert message(it, "a") == "the policy applies"
    assert route_message(it, "GRPCRoute") == "the route is attached"


def test_a_new_secret_changes_no_route_and_every_key() -> None:
    it = guarded(login())
    before, was = served(it), it.ask(securitylogin.secrets, key("a"))
    assert was is not None
    assert was.client == SECRET.encode()
    assert was == guarded(login()).ask(securitylogin.secrets, key("a"))
    apply(it, secret(SECRET + "\n"))
    assert it.ask(securitylogin.secrets, key("a")) == was
    apply(it, secret("another-long-secret"))
    now = it.ask(securitylogin.secrets, key("a"))
    assert now is not None
    assert served(it) is before
    assert {was.client, was.hmac} & {now.client, now.hmac} == set()
    assert repr(now) == "LoginSecrets()"
    assert SECRET not in repr(served(it))


def test_policies_with_one_secret_have_different_keys() -> None:
    it = guarded(
        login(), policy("b", login(), "{kind: Gateway, group: gateway.networking.k8s.io, name: gw}")
    )
    one, two = (it.ask(securitylogin.secrets, key(name)) for name in "ab")
    assert one is not None
    assert two is not None
    assert (one.client, one.hmac) != (two.client, two.hmac)
    assert one.client == two.client


def test_a_short_secret_is_served_and_told() -> None:
    it = guarded(login(clientSecret={"name": "s"}), secret("short", "s"))
    assert found(it).client_id == "app"
    assert "is shorter than 16 bytes" in message(it, "a")


def test_the_id_of_the_client_may_be_in_a_secret() -> None:
    given = login(clientID=None, clientIDRef={"name": "id"})
    assert found(guarded(given, _OTHERS)).client_id == "app"


def know(engine: Engine, keys: str = "", fault: str = "") -> None:
    keysets.write(engine, SOURCE, keysets.KeySet(keys, fault))
    engine.settle()


def readable(**more: object) -> str:
    made = {name: it for name, it in {**DOCUMENT, **more}.items() if it is not None}
    return keysets.readable(SOURCE, json.dumps(made).encode())


def test_endpoints_come_from_the_discovery_document() -> None:
    it = guarded(login(provider={"issuer": ISSUER}))
    assert SOURCE.uri == "https://idp.com/realm/.well-known/openid-configuration"
    assert it.answer(keysets.wanted, SOURCE) == keysets.Wanted(None, loopback=True)
    assert applied(it) == ["a 500"]
    know(it, fault="https://idp.com answers 500")
    assert "spec.oidc.provider.issuer: https://idp.com answers 500" in message(it, "a")

    know(it, readable())
    assert found(it).endpoints == nodes.ProviderEndpoints(
        "https://idp.com/authorize", "https://tokens.idp.com:8443/token", "https://idp.com/end"
    )
    assert found(it).cluster.dns == nodes.DnsAddress("tokens.idp.com", 8443)
    before = served(it)
    know(it, readable(), "https://idp.com answers 500")
    assert served(it) is before
    assert "stays in use: https://idp.com answers 500" in message(it, "a")

    delete(it, "SecurityPolicy", "a")
    assert it.answer(keysets.wanted, SOURCE) is None


def test_what_the_policy_says_goes_before_the_document() -> None:
    it = guarded(login(provider={**GIVEN_ENDPOINTS, "authorizationEndpoint": None}))
    know(it, readable(end_session_endpoint=None))
    assert found(it).endpoints == nodes.ProviderEndpoints(
        "https://idp.com/authorize", "https://idp.com/token"
    )


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"issuer": "https://other.com/realm"}, "names another issuer"),
        ({"issuer": None}, "has no issuer"),
        ({"token_endpoint": None}, "has no token_endpoint"),
        ({"token_endpoint": 1}, "has no token_endpoint"),
        ({"token_endpoint": "http://idp.com/token"}, "the scheme must be https"),
        ({"token_endpoint": "https://127.0.0.1/token"}, "leads to the proxy"),
        ({"authorization_endpoint": "http://idp.com/a"}, "the scheme must be https"),
        ({"end_session_endpoint": "javascript:alert(1)"}, "the scheme must be https"),
        ({"authorization_endpoint": "https://idp.com/a#b"}, "authorization_endpoint with a fragm"),
        ({"token_endpoint": "https://idp.com/t\u00fc"}, "characters that no URL has"),
        ({"end_session_endpoint": 'https://idp.com/"<b>'}, "characters that no URL has"),
    ],
)
def test_a_document_that_cannot_be_believed_is_not_used(more: dict[str, object], why: str) -> None:
    with pytest.raises(UnusableError, match=why):
        readable(**more)


@pytest.mark.parametrize("text", [b"", b"[]", b"\xff", b"{" * 100_000, b" " * (MAX_SIZE + 1)])
def test_what_is_no_document_is_not_used(text: bytes) -> None:
    with pytest.raises(UnusableError):
        keysets.readable(SOURCE, text)

"""Tokens: who signs them, which routes ask for them, and what happens where that is not clear."""

import pytest

from crds.meta import ObjectRef
from dag import nodes
from dag.engine.incremental import Engine
from dag.references import keysets
from tests.dag.httpproxy import served
from tests.dag.httpproxy.manifests import on, root, to
from tests.dag.world import apply, delete, messages, problems, routes, world
from tests.testbed import pairs, tokens

KEYS = tokens.jwks()
ROOT = ObjectRef("HTTPProxy", "default", "root")


def keys(content: str = KEYS, name: str = "keys") -> str:
    return f"""
---
apiVersion: v1
kind: Secret
metadata: {{name: {name}}}
stringData: {{jwks: '{content}'}}
"""


LOCAL = "localJWKS: {secretName: keys, key: jwks}"
FIRST = f"{{name: first, {LOCAL}}}"
SECOND = f"{{name: second, default: true, {LOCAL}}}"


def host(providers: str, *written: str, more: str = "") -> str:
    text = root("root", f"routes: [{', '.join(written) or to('s1')}]")
    guard = f"fqdn: a.com, jwtProviders: [{providers}]{more}"
    return served.SERVICES + text.replace("fqdn: a.com", guard)


def test_a_route_asks_for_the_tokens_of_a_provider_by_name() -> None:
    asking = on("/x", "s1", "jwtVerificationPolicy: {require: first}")
    engine = world(host(FIRST, asking, to("s2")) + keys())
    found = served.virtual_host(engine)
    by_path = {str(it.match.path): it.policies for it in found.routes}
    assert by_path == {
        "Prefix(path='/x')": nodes.Policies(jwt=nodes.Jwt("default/root/first")),
        "Prefix(path='/')": None,
    }
    assert found.policies is None
    first = nodes.JwtProvider("default/root/first", nodes.LocalJwks(KEYS), origins=(ROOT,))
    assert found.jwt_providers == (first,)
    assert problems(engine, "HTTPProxy", "root") == []


def test_the_default_provider_stands_on_the_host_and_routes_may_do_without() -> None:
    free = on("/free", "s1", "jwtVerificationPolicy: {disabled: true}")
    engine = world(host(f"{FIRST}, {SECOND}", free, to("s2")) + keys())
    found = served.virtual_host(engine)
    assert found.policies == nodes.Policies(jwt=nodes.Jwt("default/root/second"))
    assert [it.policies for it in found.routes] == [nodes.Policies(jwt=nodes.OFF), None]
    assert [it.name for it in found.jwt_providers] == ["default/root/second"]


def test_a_provider_as_it_was_written() -> None:
    provider = (
        f"{{name: first, default: true, issuer: me, audiences: [a, b], forwardJWT: true, "
        f"claimsToHeaders: [{{claim: sub.id, header: X-Sub}}], {LOCAL}}}"
    )
    (found,) = served.virtual_host(world(host(provider) + keys())).jwt_providers
    assert found == nodes.JwtProvider(
        "default/root/first",
        nodes.LocalJwks(KEYS),
        "me",
        ("a", "b"),
        forward=True,
        claim_headers=(("sub.id", "x-sub"),),
        origins=(ROOT,),
    )


@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        ("uri: 'http://keys.com/jwks'", nodes.RemoteJwks("http://keys.com/jwks")),
        (
            "uri: 'https://keys.com:8443/jwks', timeout: 3s, cacheDuration: 1h, "
            "dnsLookupFamily: v6",
            nodes.RemoteJwks(
                "https://keys.com:8443/jwks", nodes.UpstreamTls(sni="keys.com"), 3.0, 3600.0, "v6"
            ),
        ),
    ],
)
def test_a_key_set_of_a_server_is_wanted_and_used_once_it_is_known(
    remote: str, expected: nodes.RemoteJwks
) -> None:
    provider = f"{{name: first, default: true, remoteJWKS: {{{remote}}}}}"
    engine = world(host(provider))
    assert engine.answer(keysets.wanted, expected) == keysets.Wanted(None, loopback=True)
    assert routes(engine, "a.com") == ["/ -> 503"]
    assert problems(engine, "HTTPProxy", "root") == ["JWTVerificationError/KeysNotFetched"]
    know(engine, expected, keysets.KeySet(KEYS))
    assert problems(engine, "HTTPProxy", "root") == []
    assert [it.jwks for it in served.virtual_host(engine).jwt_providers] == [expected]


@pytest.mark.parametrize("text", ["10001ms", "24h"])
def test_no_server_of_keys_has_longer_than_10_s_to_answer(text: str) -> None:
    remote = f"remoteJWKS: {{uri: 'http://keys.com/jwks', timeout: {text}}}"
    engine = world(host(f"{{name: first, default: true, {remote}}}"))
    know(engine, nodes.RemoteJwks("http://keys.com/jwks", timeout=10.0), keysets.KeySet(KEYS))
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    assert messages(engine, "HTTPProxy", "root") == [
        "?JWTVerificationError/RemoteJWKSTimeoutInvalid: spec.virtualhost.jwtProviders[0]."
        "remoteJWKS.timeout: a request for keys takes 10s at most, which is used instead"
    ]


def know(engine: Engine, source: nodes.RemoteJwks, found: keysets.KeySet) -> None:
    keysets.write(engine, source, found)
    engine.settle()


def test_what_was_fetched_last_stays_in_use_and_that_is_told() -> None:
    source = nodes.RemoteJwks("http://keys.com/")
    provider = "{name: first, default: true, remoteJWKS: {uri: 'http://keys.com/'}}"
    engine = world(host(provider))
    know(engine, source, keysets.KeySet(fault="answers 500"))
    assert "answers 500" in messages(engine, "HTTPProxy", "root")[0]
    assert routes(engine, "a.com") == ["/ -> 503"]
    know(engine, source, keysets.KeySet(KEYS, "answers 500"))
    assert problems(engine, "HTTPProxy", "root") == ["?JWTVerificationError/KeysNotFetched"]
    assert routes(engine, "a.com") == ["/ -> default/s1:80"]
    know(engine, source, keysets.KeySet(KEYS))
    assert problems(engine, "HTTPProxy", "root") == []


def test_a_key_set_that_nobody_uses_is_not_wanted() -> None:
    source = nodes.RemoteJwks("http://keys.com/")
    provider = "{name: first, default: true, remoteJWKS: {uri: 'http://keys.com/'}}"
    engine = world(host(provider))
    assert engine.answer(keysets.wanted, source) is not None
    delete(engine, "HTTPProxy", "root")
    assert engine.answer(keysets.wanted, source) is None


def test_the_server_of_keys_may_have_to_show_a_certificate() -> None:
    checked = "validation: {caSecret: ca, subjectName: keys.com}"
    provider = (
        f"{{name: first, default: true, remoteJWKS: {{uri: 'https://keys.com/', {checked}}}}}"
    )
    engine = world(host(provider))
    assert problems(engine, "HTTPProxy", "root") == [
        "JWTVerificationError/RemoteJWKSUpstreamValidationInvalid"
    ]
    apply(engine, pairs.authority("ca"))
    assert problems(engine, "HTTPProxy", "root") == ["JWTVerificationError/KeysNotFetched"]
    tls = nodes.UpstreamTls(
        nodes.Trust((ObjectRef("Secret", "default", "ca"),)),
        names=(nodes.AlternativeName("DNS", "keys.com"),),
        sni="keys.com",
    )
    wanted = engine.answer(keysets.wanted, nodes.RemoteJwks("https://keys.com/", tls))
    assert wanted is not None
    assert b"BEGIN CERTIFICATE" in (wanted.authorities or b"")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("remoteJWKS: {uri: 'ftp://keys.com/'}", "RemoteJWKSSchemeInvalid"),
        ("remoteJWKS: {uri: 'https:///jwks'}", "RemoteJWKSURIInvalid"),
        ("remoteJWKS: {uri: 'http://me:secret@keys.com/'}", "RemoteJWKSURIInvalid"),
        ("remoteJWKS: {uri: 'http://keys.com:99999/'}", "RemoteJWKSURIInvalid"),
        ("remoteJWKS: {uri: 'http://keys.com:0/'}", "RemoteJWKSPortInvalid"),
        ("remoteJWKS: {uri: 'http://localhost/'}", "RemoteJWKSURIInvalid"),
        ("remoteJWKS: {uri: 'http://127.0.0.1/'}", "RemoteJWKSURIInvalid"),
        ("remoteJWKS: {uri: 'http://[::ffff:127.0.0.1]/'}", "RemoteJWKSURIInvalid"),
        ("remoteJWKS: {uri: 'http://2130706433/'}", "RemoteJWKSURIInvalid"),
        ("remoteJWKS: {uri: 'http://169.254.169.254/latest'}", "RemoteJWKSURIInvalid"),
        ("remoteJWKS: {uri: 'http://metadata.google.internal/'}", "RemoteJWKSURIInvalid"),
        ("remoteJWKS: {uri: 'https://keys.com/', timeout: 25h}", "RemoteJWKSTimeoutInvalid"),
        (
            "remoteJWKS: {uri: 'https://keys.com/', cacheDuration: 25h}",
            "RemoteJWKSCacheDurationInvalid",
        ),
        (
            "remoteJWKS: {uri: 'http://keys.com/', validation: {caSecret: a, subjectName: b}}",
            "RemoteJWKSUpstreamValidationInvalid",
        ),
        (
            "remoteJWKS: {uri: 'https://keys.com/', validation: {caSecret: x/a, subjectName: b}}",
            "RemoteJWKSCACertificateNotDelegated",
        ),
        ("localJWKS: {secretName: gone, key: jwks}", "LocalJWKSInvalid"),
        ("localJWKS: {secretName: keys, key: other}", "LocalJWKSInvalid"),
        ("localJWKS: {secretName: text, key: jwks}", "LocalJWKSInvalid"),
        ("localJWKS: {secretName: list, key: jwks}", "LocalJWKSInvalid"),
        ("localJWKS: {secretName: none, key: jwks}", "LocalJWKSInvalid"),
        ("localJWKS: {secretName: short, key: jwks}", "LocalJWKSInvalid"),
        ("localJWKS: {secretName: magic, key: jwks}", "LocalJWKSInvalid"),
        (f"{LOCAL}, claimsToHeaders: [{{claim: a, header: Host}}]", "ClaimsToHeadersInvalid"),
        (
            f"{LOCAL}, claimsToHeaders: [{{claim: a, header: X-Forwarded-For}}]",
            "ClaimsToHeadersInvalid",
        ),
    ],
)
def test_a_provider_that_cannot_be_built_closes_the_routes_that_name_it_and_no_other(
    source: str, reason: str
) -> None:
    asking = on("/x", "s1", "jwtVerificationPolicy: {require: bad}")
    secrets = keys() + keys("x", "text") + keys("[]", "list") + keys('{"keys": []}', "none")
    secrets += keys('{"keys": [{"kty": "RSA", "n": "abc", "e": "AQAB"}]}', "short")
    secrets += keys(KEYS.replace("RS256", "magic"), "magic")
    engine = world(host(f"{{name: bad, {source}}}", asking, to("s2")) + secrets)
    assert routes(engine, "a.com") == ["/x -> 503", "/ -> default/s2:80"]
    first, second = problems(engine, "HTTPProxy", "root")
    assert second == f"JWTVerificationError/{reason}"
    assert first == "JWTVerificationError/JWTProviderNotDefined"
    assert served.virtual_host(engine).jwt_providers == ()


def test_a_default_provider_that_cannot_be_built_closes_the_routes_that_ask_for_it() -> None:
    bad = "{name: bad, default: true, localJWKS: {secretName: gone, key: jwks}}"
    asking = on("/first", "s1", "jwtVerificationPolicy: {require: first}")
    open_ = on("/open", "s2", "jwtVerificationPolicy: {disabled: true}")
    nothing = on("/nothing", "s1", "jwtVerificationPolicy: {}")
    written = host(f"{bad}, {FIRST}", asking, open_, nothing, to("s1"))
    engine = world(written + keys())
    assert set(routes(engine, "a.com")) == {
        "/first -> default/s1:80", "/open -> default/s2:80", "/nothing -> 503", "/ -> 503",
    }  # fmt: skip
    assert problems(engine, "HTTPProxy", "root") == ["JWTVerificationError/LocalJWKSInvalid"]
    (provider,) = served.virtual_host(engine).jwt_providers
    assert provider.name == "default/root/first"


@pytest.mark.parametrize(
    ("providers", "reason"),
    [
        (f"{FIRST}, {FIRST}", "DuplicateProviderName"),
        (
            f"{SECOND}, {SECOND.replace('second', 'third')}",
            "MultipleDefaultProvidersSpecified",
        ),
    ],
)
def test_providers_that_are_not_clear_close_the_host(providers: str, reason: str) -> None:
    engine = world(host(providers) + keys())
    assert routes(engine, "a.com") == ["/ -> 503"]
    assert problems(engine, "HTTPProxy", "root") == [f"JWTVerificationError/{reason}"]


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        ("{require: first, disabled: true}", "InvalidJWTVerificationPolicy"),
        ("{require: nobody}", "JWTProviderNotDefined"),
    ],
)
def test_a_policy_that_is_not_clear_closes_its_route(policy: str, reason: str) -> None:
    asking = on("/x", "s1", f"jwtVerificationPolicy: {policy}")
    engine = world(host(FIRST, asking, to("s2")) + keys())
    assert routes(engine, "a.com") == ["/x -> 503", "/ -> default/s2:80"]
    (told,) = messages(engine, "HTTPProxy", "root")
    assert told.startswith(f"JWTVerificationError/{reason}: spec.routes[0].jwtVerificationPolicy")


def test_plain_http_of_a_tls_host_is_redirected_without_a_token() -> None:
    engine = world(host(SECOND, more=", tls: {secretName: cert}") + keys() + pairs.secret("cert"))
    (plain,) = served.virtual_host(engine).routes
    assert isinstance(plain.action, nodes.Redirect)
    assert plain.policies is not None
    assert (plain.policies.jwt, plain.policies.authorization) == (nodes.OFF, nodes.OFF)
    (secure,) = served.virtual_host(engine, at="ingress_https").routes
    assert secure.policies is None

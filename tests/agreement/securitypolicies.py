"""Generated SecurityPolicies with routes for them: each served field at the limits of its form."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from tests.agreement import logins, worlds
from tests.testbed import tokens

Document = dict[str, Any]

_HEADERS = ("x-user", "X-Tenant", "authorization", "cookie", "x-a_b", "a" * 200, ":path")
_VALUES = ("one", "a b", "%", "ü", '"', "x" * 500, "a,b", "", "(.*)+", "\\")
_CLAIMS = ("sub", "realm.role", "a.b.c.d", "https://example", "ü", "x" * 250)
_EXPRESSIONS = (".*", "/v[0-9]+/.*", "(?i)/a", "/" + "x" * 200, r"/\d+\.\d+")
_PATHS = ("/", "/a", "/a/", "/a/b", "/%20", "/ü", "/" + "x" * 500)
_RANGES = ("10.0.0.0/8", "0.0.0.0/0", "192.0.2.1/32", "10.1.2.3/9", "::/0", "2001:db8::/32", "::1")
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")


def cors(chance: Random) -> Document:
    """`cors`."""
    origins = ("*", "http://*.foo.com", "https://a.com:443", "capacitor://localhost", "null://x")
    made: Document = {"allowOrigins": _some(chance, origins)}
    for name, values in (
        ("allowMethods", (*_METHODS, "*")),
        ("allowHeaders", ("x-a", "*", "X-B")),
        ("exposeHeaders", ("x-a", "*")),
    ):
        if chance.random() < 0.6:
            made[name] = _some(chance, values)
    if chance.random() < 0.6:
        made["maxAge"] = chance.choice(("0s", "1ms", "10s", "1h30m", "99999h"))
    return {"cors": made | {"allowCredentials": chance.random() < 0.5}}


def jwt(chance: Random) -> Document:
    """`jwt`."""
    providers = [_provider(chance, f"p{it}") for it in range(chance.choice((1, 1, 2, 16)))]
    lenient = chance.choice(({}, {"optional": True}, {"failOpen": True}))
    return {"jwt": {"providers": providers, **lenient}}


def authorization(chance: Random) -> Document:
    """`authorization`, perhaps with the tokens that it asks for."""
    tokens_ = jwt(chance) if chance.random() < 0.5 else {}
    names = [it["name"] for it in tokens_.get("jwt", {}).get("providers", [])]
    rules = [_rule(chance, names) for _ in range(chance.choice((0, 1, 3, 20)))]
    made: Document = {"rules": rules}
    if chance.random() < 0.5:
        made["defaultAction"] = chance.choice(("Allow", "Deny"))
    return {"authorization": made, **tokens_}


def ext_auth(chance: Random) -> Document:
    """`extAuth`."""
    server: Document = {"backendRefs": [{"name": chance.choice(("s1", "s2")), "port": 80}]}
    made: Document = {"failOpen": chance.random() < 0.5}
    if chance.random() < 0.5:
        made["headersToExtAuth"] = _some(chance, ("x-a", "X-B", "cookie"))
    if chance.random() < 0.5:
        made["bodyToExtAuth"] = {"maxRequestBytes": chance.choice((1, 1024, 2**31 - 1))}
    if chance.random() < 0.5:
        made["timeout"] = chance.choice(("1ms", "10s", "1h", "0s"))
    if chance.random() < 0.5:
        if "headersToExtAuth" not in made:
            texts = [{"name": it, "type": "Value", "value": f"{it}%"} for it in ("a", "b")]
            made["contextExtensions"] = texts
        return {"extAuth": made | {"grpc": server}}
    server["headersToBackend"] = _some(chance, ("x-current-user", "X-Tenant"))
    if chance.random() < 0.5:
        server["path"] = chance.choice(("/check", "/a%20b", ""))
    return {"extAuth": made | {"http": server}}


def api_key_auth(chance: Random) -> Document:
    """`apiKeyAuth`."""
    names = chance.sample(SECRETS, chance.randrange(1, len(SECRETS) + 1))
    sources = [chance.choice(_SOURCES) for _ in range(chance.choice((1, 1, 3)))]
    made: Document = {"credentialRefs": [{"name": it} for it in names], "extractFrom": sources}
    if chance.random() < 0.5:
        made["forwardClientIDHeader"] = chance.choice(("x-client", "X-Client-ID", "x-a_b"))
    if chance.random() < 0.5:
        made["sanitize"] = chance.random() < 0.7
    return {"apiKeyAuth": made}


SECRETS = ("one-key", "many-keys", "same-keys")
_SOURCES: tuple[Document, ...] = (
    {"headers": ["x-api-key", "Authorization"]},
    {"headers": ["a" * 200]},
    {"params": ["key", "ü", "a b", "%", "k" * 300]},
    {"cookies": ["key", "a-b", "__Host-k"]},
)


def basic_auth(chance: Random) -> Document:
    """`basicAuth`."""
    made: Document = {"users": {"name": chance.choice(("one-user", "many-users"))}}
    if chance.random() < 0.5:
        made["forwardUsernameHeader"] = chance.choice(("x-user", "X-User-ID", "x-a_b"))
    return {"basicAuth": made}


def secrets() -> list[Document]:
    """What keys and users may be, at the limits of their form."""
    digest = "{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk="
    users = [f"{it}:{digest}" for it in ("me", "ü", "a b", "%REQ(x)%", "u" * 200, '"', "me")]
    texts = {
        "one-key": {"me": "secret"},
        "many-keys": {f"client-{it}": f"key {it} %REQ(x)% ü" for it in range(500)},
        "same-keys": {"a": "secret", "b": "secret", "c": "x" * 4096, "d": '"', "e": "\n"},
        "client": {"client-id": "app/%REQ(x)%", "client-secret": "s" * 4096},
        "short-client": {"client-secret": "ü"},
        "one-user": {".htpasswd": f"me:{digest}"},
        "many-users": {".htpasswd": "\n".join(["# users", *users, ""])},
    }
    return [worlds.secret(name, it) for name, it in texts.items()]


def oidc(chance: Random) -> Document:
    """`oidc`, perhaps with tokens that spare clients a login."""
    made = logins.login(chance)
    if chance.random() < 0.3:
        tokens_ = {"jwt": {"providers": [_provider(chance, "p")]}}
        return {"oidc": made | {"passThroughAuthHeader": True}, **tokens_}
    return {"oidc": made}


def csrf(chance: Random) -> Document:
    """`csrf`."""
    made: Document = {}
    origins = ("*", "https://*", "http://*.foo.com:8080", "https://a.com", "null://x", "a.b://c_d")
    if chance.random() < 0.7:
        made["additionalOrigins"] = _some(chance, origins)
    if chance.random() < 0.5:
        parts = chance.choice((1, 3, 100, 2**31 - 1))
        made["shadowFraction"] = {"numerator": chance.randrange(parts + 1), "denominator": parts}
    return {"csrf": made}


def every(chance: Random) -> Document:
    """All of them on one route."""
    shown = api_key_auth(chance) | basic_auth(chance)
    shown |= csrf(chance) | {"oidc": logins.login(chance)}
    return cors(chance) | authorization(chance) | ext_auth(chance) | shown


FIELDS: Mapping[str, Callable[[Random], Document]] = {
    "cors": cors,
    "csrf": csrf,
    "jwt": jwt,
    "authorization": authorization,
    "extAuth": ext_auth,
    "apiKeyAuth": api_key_auth,
    "basicAuth": basic_auth,
    "oidc": oidc,
    "all": every,
}


def documents(field: str, seed: int, count: int) -> list[Document]:
    """A Gateway with routes, each with a policy of its own; the Gateway has one, too."""
    chance = Random(f"{field} {seed}")
    return [*secrets(), *worlds.policies("SecurityPolicy", FIELDS[field], chance, count)]


def _provider(chance: Random, name: str) -> Document:
    made: Document = {"name": name}
    if chance.random() < 0.5:
        made["issuer"] = chance.choice(("https://issuer.example.com", "me@example.com", "ü"))
    if chance.random() < 0.5:
        made["audiences"] = _some(chance, ("shop", "ü", "a b", "%REQ(x)%"))
    if chance.random() < 0.5:
        made["localJWKS"] = {"type": "Inline", "inline": tokens.jwks()}
    else:
        uri = f"https://keys-{chance.randrange(4)}.example.com/jwks"
        made["remoteJWKS"] = {"uri": uri, "cacheDuration": chance.choice(("1s", "300s", "24h"))}
    if chance.random() < 0.5:
        made["claimToHeaders"] = [{"header": "x-claim", "claim": chance.choice(_CLAIMS)}]
        made["recomputeRoute"] = chance.random() < 0.5
    if chance.random() < 0.5:
        made["extractFrom"] = {
            "headers": [{"name": "x-token", "valuePrefix": chance.choice(("", "Token ", "ü"))}],
            "cookies": _some(chance, ("token", "a-b")),
            "params": _some(chance, ("token", "t%")),
        }
    return made


def _rule(chance: Random, providers: list[str]) -> Document:
    principal: Document = {}
    operation: Document = {}
    if chance.random() < 0.4:
        principal["clientCIDRs"] = _some(chance, _RANGES)
    if chance.random() < 0.4:
        names = _some(chance, _HEADERS)
        principal["headers"] = [{"name": it, "values": _some(chance, _VALUES)} for it in names]
    if providers and chance.random() < 0.6:
        claims = [_claim(chance) for _ in range(chance.choice((1, 2, 16)))]
        scopes = _some(chance, ("read", "a:b", "ü"))
        asked = {"provider": chance.choice(providers), "claims": claims, "scopes": scopes}
        principal["jwt"] = asked
    if chance.random() < 0.4:
        operation["methods"] = _some(chance, _METHODS)
    if chance.random() < 0.4 or not principal:
        how = chance.choice(("Exact", "PathPrefix", "RegularExpression"))
        value = chance.choice(_EXPRESSIONS if how == "RegularExpression" else _PATHS)
        operation["path"] = {"type": how, "value": value, "invert": chance.random() < 0.3}
    made: Document = {"action": chance.choice(("Allow", "Deny"))}
    made |= {"principal": principal} if principal else {}
    return made | ({"operation": operation} if operation else {})


def _claim(chance: Random) -> Document:
    name = chance.choice([it for it in _CLAIMS if ".." not in it])
    kind = chance.choice(("String", "StringArray"))
    return {"name": name, "valueType": kind, "values": _some(chance, _VALUES)}


def _some(chance: Random, values: tuple[str, ...]) -> list[str]:
    return chance.sample(values, chance.randrange(1, min(4, len(values)) + 1))

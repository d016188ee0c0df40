"""Random filters of Envoy Gateway, and routes that name them.

Mostly right, and often at the limits of what Envoy takes: so many filters are served.
"""

import json
from random import Random
from typing import Any

from tests.testbed import tokens

Document = dict[str, Any]

GROUP = "gateway.envoyproxy.io"
NAMES = tuple(f"f{it}" for it in range(12))
URIS = tuple(f"https://keys-{it}.example.com/jwks" for it in range(4))
"""Of the servers that remote key sets come from."""
_ISSUERS = ("https://issuer.example.com", "me@example.com", "urn:x:y", "", "", "https://ü.example")
_AUDIENCES = ("shop", "https://shop.example.com", "ü", "a b", "%REQ(x)%")
_HEADERS = ("x-user", "X-User", "x-tenant", "x-a", "x_b", "authorization")
_CLAIMS = ("sub", "realm.role", "a.b.c", "groups", "x-y", "ü")
_TESTED = ("x-user", "X-Org", "cookie", "user-agent", ":path", ":method", ":authority")
_EXACT = ("one", "a b", "%", "ü", '"', "x" * 200)
_EXPRESSIONS = (".*", "one|two", "^a.+$", "[0-9]{1,9}", "(?i)x", r"\d+\.\d+", "x" * 200)
_RANGES = (
    "10.0.0.0/8",
    "0.0.0.0/0",
    "192.0.2.1/32",
    "10.1.2.3/9",
    "2001:db8::/32",
    "::/0",
    "::1/128",
)
_NUMBERS = (0, 1, 10, 1000, 2**31, 2**32 - 1)


def filter_(chance: Random) -> Document:
    """A filter of either kind."""
    kind = chance.choice(("AuthenticationFilter", "RateLimitFilter"))
    spec = _authentication(chance) if kind == "AuthenticationFilter" else _limits(chance)
    metadata = {"name": chance.choice(NAMES), "namespace": "default"}
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def route(chance: Random, made: Document) -> Document:
    """A route of which some rule names this filter, and others perhaps others."""
    name = made["metadata"]["name"]
    kind = chance.choice(("HTTPRoute", "HTTPRoute", "HTTPRoute", "GRPCRoute"))
    rules = [_rule(chance, kind, [(made["kind"], name), *_others(chance, made["kind"])])]
    rules += [_rule(chance, kind, _others(chance, "")) for _ in range(chance.randrange(2))]
    hosts = [f"{name}.example.com", "shared.example.com"][: chance.choice((1, 1, 2))]
    spec = {"parentRefs": [{"name": "web"}], "hostnames": hosts, "rules": rules}
    metadata = {"name": f"{kind[:4].lower()}-{name}", "namespace": "default"}
    version = "gateway.networking.k8s.io/v1"
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _others(chance: Random, kind: str) -> list[tuple[str, str]]:
    """More filters for a rule, of which one may be an AuthenticationFilter."""
    found = [("RateLimitFilter", chance.choice(NAMES)) for _ in range(chance.choice((0, 0, 1, 2)))]
    if kind != "AuthenticationFilter" and chance.random() < 0.3:
        found.append(("AuthenticationFilter", chance.choice(NAMES)))
    return found


def _rule(chance: Random, kind: str, named: list[tuple[str, str]]) -> Document:
    filters: list[Document] = [
        {"type": "ExtensionRef", "extensionRef": {"group": GROUP, "kind": it, "name": name}}
        for it, name in named
    ]
    if kind == "HTTPRoute" and chance.random() < 0.1:
        filters.append({"type": "RequestRedirect", "requestRedirect": {"statusCode": 301}})
        return {"filters": filters}
    made: Document = {"filters": filters, "backendRefs": [{"name": "one", "port": 80}]}
    if kind == "HTTPRoute" and chance.random() < 0.7:
        made["matches"] = [{"path": {"value": chance.choice(("/", "/a", "/a/b"))}}]
    return made


def _authentication(chance: Random) -> Document:
    number = chance.choice((0, 1, 1, 1, 2, 3, 4))
    return {"type": "JWT", "jwtProviders": [_provider(chance, it) for it in range(number)]}


def _provider(chance: Random, number: int) -> Document:
    made: Document = {
        "name": f"p{number}" if chance.random() < 0.97 else "p0",
        "issuer": chance.choice(_ISSUERS),
        "audiences": chance.sample(_AUDIENCES, chance.randrange(3)),
        "claimToHeaders": [
            {"claim": chance.choice(_CLAIMS), "header": chance.choice(_HEADERS)}
            for _ in range(chance.choice((0, 0, 1, 3)))
        ],
    }
    source = chance.choice(("remoteJWKS", "remoteJwks", "localJWKS", "localJWKS"))
    inline = {"type": "Inline", "inline": json.dumps(json.loads(tokens.jwks()))}
    made[source] = inline if source == "localJWKS" else {"uri": chance.choice(URIS)}
    return made


def _limits(chance: Random) -> Document:
    rules = [_limit(chance) for _ in range(chance.choice((0, 1, 1, 2, 4, 16)))]
    return {"type": "Global", "global": {"rules": rules}}


def _limit(chance: Random) -> Document:
    units = ("Second", "Minute", "Hour", "Day")
    limit = {"requests": chance.choice(_NUMBERS), "unit": chance.choice(units)}
    selectors = [_selector(chance) for _ in range(chance.choice((0, 0, 1, 1, 2)))]
    return {"clientSelectors": selectors, "limit": limit}


def _selector(chance: Random) -> Document:
    names = chance.sample(_TESTED, chance.choice((0, 1, 1, 2)))
    made: Document = {"headers": [_header(chance, it) for it in names]}
    if chance.random() < 0.2:
        made["sourceIP"] = chance.choice(_RANGES)
    if chance.random() < 0.2:
        kind = chance.choice(("Exact", "Distinct"))
        made["sourceCIDR"] = {"type": kind, "value": chance.choice(_RANGES)}
    return made


def _header(chance: Random, name: str) -> Document:
    kind = chance.choice(("Exact", "RegularExpression", "Distinct"))
    made = {"name": name, "type": kind}
    if kind != "Distinct":
        made["value"] = chance.choice(_EXACT if kind == "Exact" else _EXPRESSIONS)
    return made

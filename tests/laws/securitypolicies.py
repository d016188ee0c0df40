"""Random SecurityPolicies over the targets of a small world: they meet, win, lose and close."""

from random import Random
from typing import Any

Document = dict[str, Any]

_GROUP = "gateway.networking.k8s.io"
_TARGETS = (("Gateway", "g1"), ("Gateway", "g2"), ("ListenerSet", "l1"), ("HTTPRoute", "r1"),
            ("HTTPRoute", "r2"), ("GRPCRoute", "q1"), ("TCPRoute", "u1"))  # fmt: skip
_KEYS = '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}'
LABELS = ({"team": "one"}, {"team": "two"}, {"kind": "web"})


def policy(chance: Random) -> Document:
    """A policy for some targets, by name or by labels."""
    spec: Document = dict(_guards(chance))
    if chance.random() < 0.5:
        spec["mergeType"] = chance.choice(("StrategicMerge", "JSONMerge"))
    if chance.random() < 0.7:
        wanted = chance.sample(_TARGETS, chance.choice((1, 1, 2)))
        spec["targetRefs"] = [_target(chance, *it) for it in wanted]
    else:
        spec["targetSelectors"] = [_selector(chance)]
    return {"spec": spec}


def _target(chance: Random, kind: str, name: str) -> Document:
    found: Document = {"group": _GROUP, "kind": kind, "name": name}
    if chance.random() < 0.3:
        found["sectionName"] = chance.choice(("h1", "h2", "one", "gone"))
    return found


def _selector(chance: Random) -> Document:
    found: Document = {"kind": chance.choice(("HTTPRoute", "Gateway", "GRPCRoute"))}
    if chance.random() < 0.7:
        found["matchLabels"] = chance.choice(LABELS)
    else:
        found["matchExpressions"] = [{"key": "team", "operator": "Exists"}]
    if chance.random() < 0.5:
        found["namespaces"] = {"from": chance.choice(("Same", "All"))}
    return found


def _guards(chance: Random) -> Document:
    token: Document = {"name": "one", "issuer": chance.choice(("a", "b"))}
    if chance.random() < 0.7:
        token["localJWKS"] = {"type": "Inline", "inline": _KEYS}
    else:
        reference = {"group": "", "kind": "ConfigMap", "name": "m1"}
        token["localJWKS"] = {"type": "ValueRef", "valueRef": reference}
    principal = {"headers": [{"name": "x", "values": [chance.choice(("a", "b"))]}]}
    port = {"name": chance.choice(("s1", "s2")), "port": 80}
    return chance.choice(
        (
            {"cors": {"allowOrigins": ["https://a.com"]}},
            {"jwt": {"providers": [token]}},
            {"authorization": {"rules": [{"action": "Allow", "principal": principal}]}},
            {"extAuth": {"grpc": {"backendRefs": [port]}}},
            {"oidc": _login(chance)},
        )
    )


def _login(chance: Random) -> Document:
    """With a Secret that comes and goes, and a server that may be there."""
    provider: Document = {
        "issuer": "https://idp.com",
        "authorizationEndpoint": "https://idp.com/auth",
        "tokenEndpoint": "https://idp.com/token",
    }
    if chance.random() < 0.5:
        provider["backendRefs"] = [{"name": chance.choice(("s1", "s2")), "port": 80}]
    if chance.random() < 0.2:
        del provider["tokenEndpoint"]
    secret = {"name": chance.choice(("c1", "c1", "nobody"))}
    return {"provider": provider, "clientID": chance.choice(("a", "b")), "clientSecret": secret}

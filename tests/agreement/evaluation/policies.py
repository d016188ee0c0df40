"""SecurityPolicies for the routes of a world: rules over what requests have."""

from random import Random
from typing import Any

from tests.agreement.evaluation import pools

Document = dict[str, Any]


CLIENTS = "clients"
"""The Secret with the keys of clients, and the users."""
KEY_SOURCES = [{"headers": [pools.NAMES[0]]}, {"params": [pools.PARAMETERS[0]]}]


LOGIN: Document = {
    "provider": {
        "issuer": "https://idp.test",
        "authorizationEndpoint": "https://idp.test/authorize",
        "tokenEndpoint": "http://idp.test/token",
        "backendRefs": [{"name": pools.BACKENDS[0], "port": 80}],
    },
    "clientID": "app",
    "clientSecret": {"name": CLIENTS},
    "redirectURL": "%REQ(x-forwarded-proto)%://%REQ(:authority)%/a/b",
    "logoutPath": "/b/x",
    "denyRedirect": {"headers": [{"name": pools.NAMES[0], "value": pools.VALUES[0]}]},
}
"""Nobody has a login."""


def clients() -> Document:
    """Some values that requests have are keys; nobody has the password."""
    users = "nobody:{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk="
    entries = {f"client-{it}": it for it in pools.KEYS} | {"client-secret": "of-the-login"}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": CLIENTS, "namespace": "default"},
        "stringData": entries | {".htpasswd": users},
    }


def of_clients(section: str, namespace: str, chance: Random) -> Document:
    """How requests to a listener of the Gateway are read."""
    target = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gateway"}
    action = chance.choice(("UnescapeAndForward", "KeepUnchanged", "RejectRequest"))
    underscores = chance.choice(("Allow", "RejectRequest", "DropHeader"))
    return {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "ClientTrafficPolicy",
        "metadata": {"name": f"clients-{section}", "namespace": namespace},
        "spec": {
            "targetRefs": [target | {"sectionName": section}],
            "path": {
                "escapedSlashesAction": action,
                "disableMergeSlashes": chance.random() < 0.5,
            },
            "headers": {"withUnderscoresAction": underscores},
            "healthCheck": {"path": chance.choice(pools.PATHS[1:])},
        },
    }


def made(number: int, namespace: str, chance: Random) -> Document:
    """Ordered rules over what requests have, for a route."""
    rules = [_access_rule(chance) for _ in range(chance.randrange(1, 5))]
    authorization: Document = {"rules": rules}
    if chance.random() < 0.8:
        authorization["defaultAction"] = chance.choice(("Allow", "Allow", "Deny"))
    target = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": f"route-{number}"}
    spec = {"targetRefs": [target], "authorization": authorization}
    if chance.random() < 0.25:
        spec["apiKeyAuth"] = {"credentialRefs": [{"name": CLIENTS}], "extractFrom": KEY_SOURCES}
    if chance.random() < 0.3:
        spec["csrf"] = {"additionalOrigins": [chance.choice(pools.ORIGINS)]}
    if chance.random() < 0.15:
        spec["basicAuth"] = {"users": {"name": CLIENTS}}
    if number % 7 == 3:
        spec["oidc"] = LOGIN
    return {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "SecurityPolicy",
        "metadata": {"name": f"policy-{number}", "namespace": namespace},
        "spec": spec,
    }


def _access_rule(chance: Random) -> Document:
    principal: Document = {}
    operation: Document = {}
    if chance.random() < 0.4:
        principal["clientCIDRs"] = [chance.choice(("127.0.0.0/8", "10.0.0.0/8", "::/0"))]
    if chance.random() < 0.5:
        values = chance.sample(pools.VALUES, 2)
        principal["headers"] = [{"name": chance.choice(pools.NAMES), "values": values}]
    if chance.random() < 0.3:
        operation["methods"] = chance.sample(pools.METHODS, 2)
    if chance.random() < 0.4 or not principal:
        how = chance.choice(("PathPrefix", "Exact", "RegularExpression"))
        values_of = {"PathPrefix": pools.PREFIXES, "Exact": pools.PATHS}
        value = chance.choice(values_of.get(how, pools.EXPRESSIONS))
        operation["path"] = {"type": how, "value": value, "invert": chance.random() < 0.2}
    made: Document = {"action": chance.choice(("Allow", "Deny"))}
    return (
        made
        | ({"principal": principal} if principal else {})
        | ({"operation": operation} if operation else {})
    )

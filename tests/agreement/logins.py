"""Generated logins of SecurityPolicies: each served field at the limits of its form."""

import socket
from random import Random
from typing import Any

Document = dict[str, Any]

_HOST = socket.gethostname().lower()
"""Of this machine: a name that Envoy resolves without asking anybody."""
_TEXTS = ("one", "a b", "%", "ü", '"', "x" * 500, "a,b", "%REQ(x)%", "\\")
_CLIENTS = ("one", "%", '"', "x" * 500, "a,b", "%REQ(x)%", "\\", "me@example.com/~:1")
_TIMES = ("0s", "1ms", "10s", "1h30m", "99999h")
_RETRIES = ("5xx", "gateway-error", "reset", "connect-failure", "retriable-status-codes")


def login(chance: Random) -> Document:
    """`oidc` without what needs other fields of its policy."""
    made: Document = {
        "provider": provider(chance),
        "clientSecret": {"name": chance.choice(("client", "short-client"))},
        **chance.choice(
            ({"clientIDRef": {"name": "client"}}, {"clientID": chance.choice(_CLIENTS)})
        ),
    }
    for name, values in _FIELDS.items():
        if chance.random() < 0.4:
            made[name] = chance.choice(values)
    if chance.random() < 0.4:
        made["scopes"] = chance.sample(_TEXTS, 3)
    if chance.random() < 0.4:
        made["resources"] = chance.sample(_TEXTS, 2)
    if chance.random() < 0.4:
        made["denyRedirect"] = {"headers": [_denied(chance) for _ in range(chance.choice((1, 16)))]}
    if made.get("forwardAccessToken"):
        made["forwardIDToken"] = {"header": "x-id"}
    return made


_FIELDS: dict[str, tuple[Any, ...]] = {
    "redirectURL": (
        "https://www.example.com:8443/myapp/oauth2/callback",
        "%REQ(X-Forwarded-Proto)%://%REQ(:AUTHORITY)%/" + "x" * 500,
        "http://[::1]:80/a;b=c,d!",
    ),
    "logoutPath": ("/a/logout", "/" + "y" * 500, "/~;,!@"),
    "cookieNames": ({"accessToken": "a" * 200}, {"accessToken": "A!#$%&'*+", "idToken": "~"}),
    "cookieConfig": ({"sameSite": "Lax"}, {"sameSite": "Strict"}, {"sameSite": "None"}, {}),
    "cookieDomain": ("example.com", "a", ".".join(["b" * 60] * 4)),
    "forwardAccessToken": (True, False),
    "forwardIDToken": ({"header": "Authorization"}, {"header": "X-" + "i" * 250}),
    "defaultTokenTTL": _TIMES,
    "refreshToken": (True, False),
    "defaultRefreshTokenTTL": _TIMES,
    "csrfTokenTTL": ("1s", "10m", "99999h"),
    "disableTokenEncryption": (True, False),
    "passThroughAuthHeader": (False,),
}


def provider(chance: Random) -> Document:
    """The provider, whose endpoints are perhaps those of its discovery document."""
    made: Document = {"issuer": f"https://{_HOST}/{chance.randrange(3)}"}
    if chance.random() < 0.7:
        made["authorizationEndpoint"] = chance.choice(
            ("http://idp.example.com", "https://idp.example.com/a?b=c&d=%20", "https://[::1]:1/x")
        )
    if chance.random() < 0.7:
        made["tokenEndpoint"] = f"https://{_HOST}{chance.choice(('', '/token?a=b', ':8443/t'))}"
    if chance.random() < 0.5:
        made["endSessionEndpoint"] = "https://idp.example.com/end?a=b"
    if chance.random() < 0.5:
        made["backendRefs"] = [{"name": chance.choice(("s1", "s2", "named")), "port": 80}]
    if chance.random() < 0.5:
        made["backendSettings"] = {"retry": _retry(chance)}
    return made


def _retry(chance: Random) -> Document:
    made: Document = {"numRetries": chance.choice((0, 1, 2**31 - 1))}
    if chance.random() < 0.5:
        made["retryOn"] = {"triggers": chance.sample(_RETRIES, 2)}
    if chance.random() < 0.5:
        times = chance.choice(({}, {"maxInterval": "99999h"}, {"maxInterval": "1ms"}))
        made["perRetry"] = {"backOff": {"baseInterval": "1ms", **times}}
    return made


def _denied(chance: Random) -> Document:
    how = chance.choice(("Exact", "Prefix", "Suffix", "RegularExpression"))
    values = (".*", "(?i)a", "x" * 200) if how == "RegularExpression" else _TEXTS
    name = chance.choice(("x-a", "X-B", "a" * 200, "accept"))
    return {"name": name, "type": how, "value": chance.choice(values)}

"""Generated objects with the fields that v1.7 of the Gateway API brings or changes.

Each field has generators of its own: a number of the seed chooses among what the CRD takes.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from dag import nodes

Document = dict[str, Any]

_GROUP = "gateway.networking.k8s.io/v1"
_HOSTS = ("*", "a.com", "*.a.com", "*.b.a.com", "x.b.a.com", "a" * 63 + ".a.com")
_HEADERS = ("x-user", "x-tenant", "authorization", "x-a_b")
_CLASS: Document = {
    "apiVersion": _GROUP,
    "kind": "GatewayClass",
    "metadata": {"name": "contour"},
    "spec": {"controllerName": "projectcontour.io/gateway-controller"},
}


def _backend(chance: Random) -> Document:
    return {"name": chance.choice(("s1", "s2")), "port": 80}


def _server(chance: Random) -> Document:
    found: Document = {"backendRef": _backend(chance)}
    if chance.random() < 0.7:
        found["forwardBody"] = {"maxSize": chance.choice((0, 1, 1024, 2**31 - 1))}
    if chance.random() < 0.5:
        return found | {"protocol": "GRPC", "grpc": {}}
    told = {"allowedHeaders": list(_HEADERS), "allowedResponseHeaders": [chance.choice(_HEADERS)]}
    path = chance.choice(("/", "/a%20b", "/a;b=(c)'$"))
    return found | {"protocol": "HTTP", "http": {"path": path, **told}}


def filters(chance: Random) -> Document:
    """`listeners[].filters` on some of the listeners of two ports."""
    listeners: list[Document] = []
    for number, host in enumerate(chance.sample(_HOSTS, 4)):
        listener: Document = {"name": f"l{number}", "port": 80, "protocol": "HTTP"}
        if chance.random() < 0.5:
            reference = {"certificateRefs": [{"name": "cert"}]}
            listener |= {"port": 443, "protocol": "HTTPS", "tls": reference}
        if host != "*":
            listener["hostname"] = host
        count = chance.choice((0, 1, 2, 16))
        asked = [{"type": "ExternalAuth", "externalAuth": _server(chance)} for _ in range(count)]
        listeners.append(listener | {"filters": {"requests": asked}})
    return {"listeners": listeners}


def routability(chance: Random) -> Document:
    """`addresses[].routability`."""
    scopes = ("", "Cluster", "testing.x-k8s.io/sentinel", "example.com/x")
    count = chance.randrange(1, 5)
    return {"addresses": [{"routability": chance.choice(scopes)} for _ in range(count)]}


def retry(chance: Random) -> Document:
    """`rules[].retry`."""
    found: Document = {"attempts": chance.choice((0, 1, 3, 100, 2**31 - 1))}
    if chance.random() < 0.6:
        found["codes"] = sorted(chance.sample(range(400, 600), chance.randrange(1, 200)))
    if chance.random() < 0.6:
        found["backoff"] = chance.choice(("1ms", "25ms", "10s", "1h"))
    rule: Document = {"retry": found}
    if chance.random() < 0.5:
        rule["timeouts"] = {"request": "10s", "backendRequest": chance.choice(("1ms", "10s"))}
    return rule


def session(chance: Random) -> Document:
    """`rules[].sessionPersistence.cookie` and `.header`."""
    if chance.random() < 0.4:
        name = chance.choice(("x-session", "X-S", "a" * 256))
        return {"sessionPersistence": {"type": "Header", "header": {"name": name}}}
    cookie: Document = {}
    if chance.random() < 0.7:
        cookie["name"] = chance.choice(("s", "!#$%&'*+-.^_`|~", "c" * 256))
    if chance.random() < 0.5:
        cookie["path"] = chance.choice(("/", "/a", "/" + "p" * 1023))
    found: Document = {"type": "Cookie", "cookie": cookie}
    if chance.random() < 0.5:
        cookie["lifetimeType"] = "Permanent"
        found["absoluteTimeout"] = chance.choice(("1s", "1h", "99999h"))
    return {"sessionPersistence": found}


def rewrites(chance: Random) -> Document:
    """`rules[].backendRefs[].filters[].urlRewrite`, another for each backend."""
    paths = (
        {"type": "ReplaceFullPath", "replaceFullPath": chance.choice(("/", "/x%y", "/a b"))},
        {"type": "ReplacePrefixMatch", "replacePrefixMatch": chance.choice(("/", "/p", "/p/"))},
    )
    backends: list[Document] = []
    for _ in range(chance.randrange(1, 4)):
        wanted: Document = {"path": chance.choice(paths)}
        if chance.random() < 0.5:
            wanted["hostname"] = chance.choice(("b.com", "c.d.com"))
        filter_ = {"type": "URLRewrite", "urlRewrite": wanted}
        weight = {"weight": chance.choice((0, 1, 7, 1_000_000))}
        backends.append(_backend(chance) | weight | {"filters": [filter_]})
    return {"backendRefs": backends}


def _share(chance: Random) -> Document:
    denominator = chance.choice((1, 100, 1_000_000, 2**31 - 1))
    return {"numerator": chance.randrange(denominator + 1), "denominator": denominator}


def telemetry(chance: Random) -> Document:
    """`tracing` of an XTelemetryPolicy."""
    names = chance.sample(("x-key", "Authorization", "a-bin", "!#$&'*+-.^_`|~"), 2)
    headers = [{"name": it, "value": chance.choice(("a", "Basic YTpi", '"{}"'))} for it in names]
    keys = sorted(nodes.REQUEST_PROPERTIES)
    attributes: list[Document] = [
        {"name": f"a.b:/{it}", "sourceType": "Attribute", "attributeKey": it} for it in keys
    ]
    attributes.append({"name": "h", "sourceType": "Header", "headerName": chance.choice(names)})
    text = chance.choice(("%", "%REQ(x)%", "a" * 1024))
    attributes.append({"name": "l", "sourceType": "Literal", "literalValue": text})
    found: Document = {
        "mode": "Enabled",
        "provider": {"backendRef": _backend(chance), "headers": headers},
        "attributes": chance.sample(attributes, chance.randrange(len(attributes))),
    }
    optional: Document = {
        "samplingRate": _share(chance),
        "parentBasedSampling": {"mode": chance.choice(("Enabled", "Disabled"))},
        "serviceName": chance.choice(("s", "a.b:/c-d_e", "s" * 253)),
        "spanName": chance.choice(("in", "a b c", "n" * 256)),
    }
    return found | {name: it for name, it in optional.items() if chance.random() < 0.7}


OF_GATEWAYS: Mapping[str, Callable[[Random], Document]] = {
    "listeners[].filters": filters,
    "addresses[].routability": routability,
}
OF_RULES: Mapping[str, Callable[[Random], Document]] = {
    "rules[].retry": retry,
    "rules[].sessionPersistence": session,
    "rules[].backendRefs[].filters": rewrites,
}
TRACING = "XTelemetryPolicy tracing"
FIELDS = (*OF_GATEWAYS, *OF_RULES, TRACING)


def documents(field: str, seed: int) -> list[Document]:
    """A class, a Gateway and a route that leads everywhere; one of them has the field."""
    chance = Random(f"{field} {seed}")
    plain: Document = {"listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}
    spec = plain | OF_GATEWAYS[field](chance) if field in OF_GATEWAYS else plain
    rule: Document = {"backendRefs": [_backend(chance)]}
    rule |= OF_RULES[field](chance) if field in OF_RULES else {}
    named: Document = {"namespace": "default", "name": "gw"}
    gateway = {"apiVersion": _GROUP, "kind": "Gateway", "metadata": named}
    route = {"apiVersion": _GROUP, "kind": "HTTPRoute", "metadata": named | {"name": "route"}}
    asked = {"parentRefs": [{"name": "gw"}], "rules": [rule]}
    found: list[Document] = [
        _CLASS,
        gateway | {"spec": {"gatewayClassName": "contour", **spec}},
        route | {"spec": asked},
    ]
    if field == TRACING:
        target = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gw"}
        policy = {"targetRefs": [target], "tracing": telemetry(chance)}
        version = "gateway.networking.x-k8s.io/v1alpha1"
        made: Document = {"apiVersion": version, "kind": "XTelemetryPolicy", "metadata": named}
        found.append(made | {"spec": policy})
    return found

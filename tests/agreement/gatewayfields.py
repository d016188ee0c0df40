"""Generated objects with the fields that v1.7 of the Gateway API brings or changes.

Each field has generators of its own: a number of the seed chooses among what the CRD takes.
"""

import socket
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import yaml

from crds.kinds import ENVOY_GATEWAY
from dag import nodes
from tests.testbed import pairs

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


def _authorities(chance: Random) -> Document:
    """`validation`, whose authorities are ClusterTrustBundles that are there."""
    group = {"group": "certificates.k8s.io", "kind": "ClusterTrustBundle"}
    names = chance.sample(("authority", "other"), chance.randrange(1, 3))
    found: Document = {"caCertificateRefs": [group | {"name": it} for it in names]}
    if chance.random() < 0.5:
        uri = {"type": "URI", "uri": chance.choice(("spiffe://a/b", "https://a.com/?x#y"))}
        host = {"type": "Hostname", "hostname": chance.choice(("*.a.com", "b.a.com"))}
        found["subjectAltNames"] = chance.sample((uri, host), chance.randrange(1, 3))
    return found


def bundles(chance: Random) -> Document:
    """`tls.frontend` of a Gateway with HTTPS, whose authorities are ClusterTrustBundles."""
    refs = _authorities(chance)["caCertificateRefs"]
    reference = {"certificateRefs": [{"name": "cert"}]}
    listener = {"name": "https", "port": 443, "protocol": "HTTPS", "tls": reference}
    mode = chance.choice(({}, {"mode": "AllowInsecureFallback"}, {"mode": "AllowValidOnly"}))
    validation = {"validation": {"caCertificateRefs": refs} | mode}
    frontend: Document = {"default": validation if chance.random() < 0.5 else {}}
    if not frontend["default"] or chance.random() < 0.5:
        frontend["perPort"] = [{"port": 443, "tls": validation}]
    return {"listeners": [listener], "tls": {"frontend": frontend}}


def backend_bundles(chance: Random) -> Document:
    """The specification of a BackendTLSPolicy with ClusterTrustBundles."""
    targets = [{"group": "", "kind": "Service", "name": it} for it in ("s1", "s2")]
    return {
        "targetRefs": targets,
        "validation": _authorities(chance) | {"hostname": chance.choice(("a.com", "b.a.com"))},
    }


_FAR = socket.gethostname().lower()
"""A name that Envoy looks for on this machine alone."""
_PLAIN = ("", "HTTP", "HTTP11", "H2C", "GRPC")
_OVER_TLS = ("", "HTTP", "HTTP2", "HTTP11", "GRPC", "WSS")


def xbackend(chance: Random) -> Document:
    """The specification of an XBackend."""
    found: Document = {
        "type": "ExternalHostname",
        "externalHostname": {"hostname": _FAR},
        "port": {"number": chance.choice((1, 80, 443, 65535))},
    }
    mode = chance.choice(("", "None", "ServerOnly", "ClientAndServer"))
    is_over_tls = mode in ("ServerOnly", "ClientAndServer")
    if mode:
        found["tls"] = {"mode": mode}
    if is_over_tls:
        found["tls"]["validation"] = _authorities(chance) | {"hostname": "far.a.com"}
    if mode == "ClientAndServer":
        found["tls"]["clientCertificateRef"] = {"name": "cert"}
    if protocol := chance.choice(_OVER_TLS if is_over_tls else _PLAIN):
        found["protocol"] = protocol
    return found


def backend_traffic(chance: Random) -> Document:
    """The specification of an XBackendTrafficPolicy."""
    budget: Document = {"percent": chance.choice((0, 1, 20, 100))}
    budget["interval"] = chance.choice(("1s", "10s", "59m59s999ms", "1h"))
    rate: Document = {"count": chance.choice((1, 10, 1_000_000))}
    rate["interval"] = chance.choice(("1ms", "1s", "7s", "1h"))
    optional: Document = {"budget": budget, "minRetryRate": rate}
    asked = {name: it for name, it in optional.items() if chance.random() < 0.7}
    kept = session(chance) if chance.random() < 0.7 else {}
    targets = [{"group": "", "kind": "Service", "name": it} for it in ("s1", "s2")]
    return {"targetRefs": targets, "retryConstraint": asked} | kept


def backend(chance: Random) -> Document:
    """The specification of a Backend."""
    made = chance.choice((_named_endpoint, _address_endpoint, _socket_endpoint))
    found: Document = {"endpoints": [made(chance) for _ in range(chance.choice((1, 1, 2, 3)))]}
    if protocol := chance.choice(("", "", "h2c", "ws")):
        found["appProtocols"] = [f"gateway.envoyproxy.io/{protocol}"]
    if chance.random() < 0.6:
        found["tls"] = _backend_tls(chance)
    return found


def _named_endpoint(chance: Random) -> Document:
    host = chance.choice(("far.a.com", "other.a.com", "localhost", "absolute.a.com."))
    return _maybe_named(chance, {"fqdn": {"hostname": host, "port": chance.choice((80, 65535))}})


def _address_endpoint(chance: Random) -> Document:
    text = chance.choice(("127.0.0.1", "10.0.0.1", "::1", "2001:db8::1", "::ffff:10.0.0.1"))
    return _maybe_named(chance, {"ip": {"address": text, "port": chance.choice((1, 443))}})


def _socket_endpoint(chance: Random) -> Document:
    path = chance.choice(("/run/it.sock", f"/{'a' * 106}", "/run/ä b.sock"))
    return _maybe_named(chance, {"unix": {"path": path}})


def _maybe_named(chance: Random, endpoint: Document) -> Document:
    return endpoint | ({"hostname": "far.a.com"} if chance.random() < 0.7 else {})


def _backend_tls(chance: Random) -> Document:
    found: Document = (
        chance.choice(({"insecureSkipVerify": True}, {"wellKnownCACertificates": "System"})) | {}
    )
    if chance.random() < 0.3:
        found["sni"] = "far.a.com"
    if chance.random() < 0.3:
        found["clientCertificateRef"] = {"name": "cert"}
    if chance.random() < 0.3:
        found["minVersion"] = chance.choice(("Auto", "1.0", "1.2", "1.3"))
    if chance.random() < 0.3:
        found["maxVersion"] = chance.choice(("Auto", "1.3"))
    if chance.random() < 0.3 and found.get("minVersion") != "1.3":
        found["ciphers"] = ["ECDHE-RSA-AES128-GCM-SHA256"]
    if chance.random() < 0.3:
        found["ecdhCurves"] = ["X25519", "P-256"]
    if chance.random() < 0.5:
        found["alpnProtocols"] = chance.choice(([], ["h2"], ["h2", "http/1.1"], ["http/1.1"]))
    return found


OF_GATEWAYS: Mapping[str, Callable[[Random], Document]] = {
    "listeners[].filters": filters,
    "addresses[].routability": routability,
    "tls.frontend": bundles,
}
OF_RULES: Mapping[str, Callable[[Random], Document]] = {
    "rules[].retry": retry,
    "rules[].sessionPersistence": session,
    "rules[].backendRefs[].filters": rewrites,
}
_EXPERIMENTAL = "gateway.networking.x-k8s.io"
_TARGET = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "gw"}


def _telemetry_policy(chance: Random) -> Document:
    return {"targetRefs": [_TARGET], "tracing": telemetry(chance)}


OF_OTHERS: Mapping[str, tuple[str, Callable[[Random], Document]]] = {
    "XTelemetryPolicy": (f"{_EXPERIMENTAL}/v1alpha1", _telemetry_policy),
    "XBackend": (f"{_EXPERIMENTAL}/v1alpha1", xbackend),
    "XBackendTrafficPolicy": (f"{_EXPERIMENTAL}/v1alpha1", backend_traffic),
    "Backend": (f"{ENVOY_GATEWAY}/v1alpha1", backend),
    "BackendTLSPolicy": (_GROUP, backend_bundles),
}
"""By kind: its version, and what makes the specification of an object that is called `gw`."""
FIELDS = (*OF_GATEWAYS, *OF_RULES, *OF_OTHERS)


def documents(field: str, seed: int) -> list[Document]:
    """A class, a Gateway and a route that leads everywhere; one of them has the field."""
    chance = Random(f"{field} {seed}")
    plain: Document = {"listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]}
    spec = plain | OF_GATEWAYS[field](chance) if field in OF_GATEWAYS else plain
    rule: Document = {"backendRefs": [_backend(chance)]}
    if field == "XBackend":
        rule["backendRefs"].append({"group": _EXPERIMENTAL, "kind": "XBackend", "name": "gw"})
    if field == "Backend":
        named_one: Document = {"group": ENVOY_GATEWAY, "kind": "Backend", "weight": 3}
        rule["backendRefs"] = [named_one | {"name": it} for it in ("gw", "spare")]
    rule |= OF_RULES[field](chance) if field in OF_RULES else {}
    named: Document = {"namespace": "default", "name": "gw"}
    gateway = {"apiVersion": _GROUP, "kind": "Gateway", "metadata": named}
    route = {"apiVersion": _GROUP, "kind": "HTTPRoute", "metadata": named | {"name": "route"}}
    asked = {"parentRefs": [{"name": "gw"}], "rules": [rule]}
    bundles = pairs.trust_bundle("authority") + pairs.trust_bundle("other")
    found: list[Document] = [
        *yaml.load_all(bundles, yaml.CSafeLoader),
        _CLASS,
        gateway | {"spec": {"gatewayClassName": "contour", **spec}},
        route | {"spec": asked},
    ]
    if field in OF_OTHERS:
        version, made = OF_OTHERS[field]
        other: Document = {
            "apiVersion": version,
            "kind": field,
            "metadata": named,
            "spec": made(chance),
        }
        found.append(other)
        if field == "Backend":  # one that takes over, mostly spoken to as the first
            apart = backend(chance) if chance.random() < 0.2 else other["spec"]
            where = backend(chance)["endpoints"]
            spec = {**apart, "endpoints": where, "fallback": chance.random() < 0.8}
            found.append(other | {"metadata": named | {"name": "spare"}, "spec": spec})
    return found

"""Random objects of the Gateway API, and those of Envoy Gateway that belong to its routes, grown
from their models: mostly of the right shape.

Names repeat, so objects keep meeting one another; some values are what an attacker or a hasty hand
would write, or words of a later version of the API.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from crds import schema
from crds.kinds import ENVOY_GATEWAY, GATEWAY, KINDS

Document = dict[str, Any]

NAMES = ("a", "b")
CONTENT = "content"
"""The name of a Secret with a credential."""
TEXTS: Mapping[str, tuple[str, ...]] = {
    "gatewayClassName": ("contour",),
    "controllerName": ("projectcontour.io/gateway-controller",),
    "protocol": ("HTTP", "HTTP", "HTTPS", "TLS", "TCP", "UDP", "a.b/ODD"),
    "mode": ("Terminate", "Passthrough", "AllowInsecureFallback", "Odd"),
    "from": ("All", "Same", "Selector", "None", "Odd"),
    "operator": ("In", "NotIn", "Exists", "Odd"),
    "hostname": ("a.com", "*.a.com", "b.a.com", "10.0.0.1"),
    "hostnames": ("a.com", "*.a.com", "b.a.com", "10.0.0.1"),
    "sectionName": ("a", "http"),
    "scheme": ("http", "https", "h3"),
    "method": ("GET", "Say", "QUERY", "("),
    "service": ("a.Echo", "[a-", "b"),
    "value": ("/", "/a", "/a/.*", "(", "x", "100%", "%REQ(x)%", "a\nb", "10.0.0.1"),
    "request": ("1s", "0s", "99999h"),
    "backendRequest": ("1s", "0s", "10ms"),
    "backoff": ("5ms", "0s"),
    "absoluteTimeout": ("1h", "99999h"),
    "allowOrigins": ("*", "https://a.com", "https://*.a.com:8443", "http://*"),
    "allowMethods": ("GET", "*", "QUERY"),
    "replaceFullPath": ("/x", "x", "", "/a\nb"),
    "replacePrefixMatch": ("/x", "/", ""),
    "wellKnownCACertificates": ("System", "a.b/C"),
    "uri": ("spiffe://a/b",),
    "defaultScope": ("All", "None", "Odd"),
    "useDefaultGateways": ("All", "None", "Odd"),
    "routability": ("", "Cluster", "a.b/c", "testing.x-k8s.io/sentinel", "odd"),
    "lifetimeType": ("Permanent", "Session", "Odd"),
    "pattern": ("^/a", "(a)(.*)", "(", "a" * 3000),
    "substitution": ("/b", r"\\1", r"\\9", "a\nb"),
    "inline": ("x", "%REQ(x)%", "x" * 5000),
    "address": ("10.0.0.1", "::1", "127.0.0.1", "a"),
    "appProtocols": ("gateway.envoyproxy.io/h2c", "gateway.envoyproxy.io/wss", "odd"),
    "alpnProtocols": ("h2", "http/1.1", "odd"),
    "minVersion": ("1.2", "1.3", "1.0"),
    "jsonPath": ("$.name", "$..*", "("),
}
PATCHED = (
    "ingress_http",
    "ingress_https",
    "ingress_http/a.com",
    "a/a/80",
    "a/a/a",
    "httproute/a/a",
)
"""Names of resources, some of which are there."""
KIND_TEXTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "parentRefs": ((GATEWAY, "Gateway"), (GATEWAY, "ListenerSet"), ("", "Service")),
    "parentRef": ((GATEWAY, "Gateway"), ("", "Service")),
    "backendRefs": (
        *[("", "Service")] * 3,
        *[(ENVOY_GATEWAY, "Backend")] * 2,
        ("a.b", "Odd"),
    ),
    "backendRef": (("", "Service"), ("", "Service"), (ENVOY_GATEWAY, "Backend"), ("a.b", "Odd")),
    "extensionRef": (
        *[(ENVOY_GATEWAY, "HTTPRouteFilter")] * 4,
        (ENVOY_GATEWAY, "RateLimitFilter"),
        ("a.b", "Odd"),
    ),
    "targetRef": ((GATEWAY, "Gateway"), (GATEWAY, "Gateway"), (GATEWAY, "GatewayClass")),
    "valueRef": (("", "ConfigMap"), ("", "ConfigMap"), ("", "Secret")),
    "targetRefs": (("", "Service"), ("", "Service"), ("a.b", "Odd")),
    "certificateRefs": (("", "Secret"), ("", "Secret"), ("", "ConfigMap")),
    "clientCertificateRef": (("", "Secret"),),
    "caCertificateRefs": (("", "ConfigMap"), ("", "Secret"), ("", "Service")),
    "kinds": ((GATEWAY, "HTTPRoute"), (GATEWAY, "TLSRoute"), ("a.b", "Odd")),
    "from": ((GATEWAY, "HTTPRoute"), (GATEWAY, "Gateway"), (GATEWAY, "ListenerSet")),
    "to": (("", "Service"), ("", "Secret")),
}
NUMBERS: Mapping[str, tuple[int, ...]] = {
    "port": (80, 80, 443, 8443),
    "statusCode": (301, 302, 309),
    "codes": (500, 503),
}
_TYPES: Mapping[str, tuple[str, ...]] = {
    "path": ("Exact", "PathPrefix", "RegularExpression", "ReplaceFullPath", "ReplacePrefixMatch"),
    "headers": ("Exact", "RegularExpression", "Odd"),
    "queryParams": ("Exact", "RegularExpression", "Odd"),
    "method": ("Exact", "RegularExpression", "Odd"),
    "subjectAltNames": ("Hostname", "URI", "Odd"),
    "addresses": ("IPAddress", "Hostname", "a.b/Odd"),
    "sessionPersistence": ("Cookie", "Header", "Odd"),
}
_ONE_OF: Mapping[str, Mapping[str, str]] = {
    "filters": {
        "requestHeaderModifier": "RequestHeaderModifier",
        "responseHeaderModifier": "ResponseHeaderModifier",
        "requestMirror": "RequestMirror",
        "requestRedirect": "RequestRedirect",
        "urlRewrite": "URLRewrite",
        "extensionRef": "ExtensionRef",
        "cors": "CORS",
        "externalAuth": "ExternalAuth",
    },
    "requests": {"extensionRef": "ExtensionRef", "externalAuth": "ExternalAuth"},
}
_OF_ENVOY_GATEWAY = frozenset({"HTTPRouteFilter", "Backend", "EnvoyPatchPolicy"})
WRITTEN = tuple(
    it
    for it in KINDS.values()
    if (it.group == GATEWAY and it.kind != "GatewayClass")
    or (it.group == ENVOY_GATEWAY and it.kind in _OF_ENVOY_GATEWAY)
)


def document(chance: Random) -> Document:
    """One object of any kind."""
    kind = chance.choice(WRITTEN)
    spec = schema.structural(kind.model)["properties"]["spec"]
    metadata: Document = {"name": chance.choice(NAMES), "namespace": chance.choice(NAMES)}
    if chance.random() < 0.5:
        metadata["creationTimestamp"] = f"2026-01-01T00:00:0{chance.randrange(4)}Z"
    if chance.random() < 0.2:
        metadata["annotations"] = {"projectcontour.io/certificate": chance.choice(NAMES)}
    if chance.random() < 0.05:
        name = "nginx.ingress.kubernetes.io/whitelist-source-range"
        metadata["annotations"] = {name: chance.choice(("10.0.0.0/8", "0.0.0.0/0,::/0", ""))}
    made = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    return made | {"spec": _grown("spec", spec, chance)}


def _grown(name: str, node: Any, chance: Random) -> Any:
    if "type" not in node:
        return chance.choice((1, "7s", {}, {"name": "a", "connect_timeout": "1s"}, [None]))
    grow: Mapping[str, Callable[[str, Any, Random], Any]] = {
        "object": _object,
        "array": _array,
        "string": _text,
        "integer": _number,
    }
    found = grow.get(node["type"])
    return found(name, node, chance) if found is not None else chance.random() < 0.5


def _array(name: str, node: Any, chance: Random) -> Any:
    fewest = node.get("minItems", 0)
    count = chance.choice((max(fewest, 1), max(fewest, 1), fewest, fewest + 1))
    return [_grown(name, node["items"], chance) for _ in range(count)]


def _object(name: str, node: Any, chance: Random) -> Any:
    if name in _ONE_OF and "type" in node.get("properties", {}):
        return _one_of(name, node, chance)
    required = node.get("required", ())
    made = {
        field: _grown(field, it, chance)
        for field, it in node.get("properties", {}).items()
        if field in required or chance.random() < 0.4
    }
    if name == "endpoints":
        kept = chance.choice(("fqdn", "ip", "unix"))
        return {kept: _grown(kept, node["properties"][kept], chance)}
    if name == "jsonPatches":
        made["name"] = chance.choice(PATCHED)
    if name == "valueRef":
        made["name"] = chance.choice((*NAMES, CONTENT))
    if "kind" in node.get("properties", {}) and name in KIND_TEXTS:
        made["group"], made["kind"] = chance.choice(KIND_TEXTS[name])
    if "type" in made and name in _TYPES:
        made["type"] = chance.choice(_TYPES[name])
    if name in {"backendRefs", "backendRef"}:
        made["port"] = chance.choice((80, 443, 99))
    if name == "listeners":
        _fit(made, chance)
    if "additionalProperties" in node:
        return {"projectcontour.io/route-certificate": chance.choice(("Allow", "Deny", "x"))}
    return made


def _fit(listener: Document, chance: Random) -> None:
    """What the API server lets through: TLS where the protocol has it, and a host likewise."""
    if listener["protocol"] not in {"HTTPS", "TLS"}:
        listener.pop("tls", None)
    elif chance.random() < 0.9:
        ending = {"mode": "Terminate", "certificateRefs": [{"name": chance.choice(NAMES)}]}
        passing = {"mode": "Passthrough"}
        is_passing = listener["protocol"] == "TLS" and chance.random() < 0.5
        listener["tls"] = passing if is_passing else ending
    if listener["protocol"] in {"TCP", "UDP"}:
        listener.pop("hostname", None)


def _one_of(name: str, node: Any, chance: Random) -> Any:
    fields = [it for it in node["properties"] if it in _ONE_OF[name]]
    field = chance.choice(fields)
    if chance.random() < 0.05:
        return {"type": "Odd"}
    return {
        "type": _ONE_OF[name][field],
        field: _grown(field, node["properties"][field], chance),
    }


def _text(name: str, node: Any, chance: Random) -> Any:
    return chance.choice(TEXTS.get(name) or node.get("enum") or NAMES)


def _number(name: str, node: Any, chance: Random) -> Any:
    least, most = node.get("minimum", 0), node.get("maximum", 65_535)
    return chance.choice(NUMBERS.get(name) or (least, least + 1, min(most, 70)))

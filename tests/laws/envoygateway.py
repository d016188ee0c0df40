"""Random HTTPRouteFilters, Backends and EnvoyPatchPolicies, and routes that refer to them."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from crds.envoygateway import patchpolicy
from crds.gateway.filters import HTTPRouteFilter
from crds.gateway.references import LocalObjectReference
from crds.kinds import ENVOY_GATEWAY
from tests.laws.gateways import GROUP, NAMESPACES, Document
from tests.laws.histories import Step
from tests.testbed import pairs

_VERSION = f"{ENVOY_GATEWAY}/v1alpha1"


def _filter(chance: Random) -> Document:
    parts = chance.sample(tuple(_PARTS), chance.choice((1, 1, 1, 2)))
    return {"spec": {part: _PARTS[part](chance) for part in parts}}


def _rewrite(chance: Random) -> Document:
    pattern = chance.choice(("^/p", "^/p", "^/p", "("))
    match = {"pattern": pattern, "substitution": chance.choice(("/r", r"\0x"))}
    path = {"type": "ReplaceRegexMatch", "replaceRegexMatch": match}
    host = chance.choice(
        ({"type": "Backend"}, {"type": "Header", "header": chance.choice(("X-A", "X-A", ":path"))})
    )
    return chance.choice(({"path": path}, {"hostname": host}, {"path": path, "hostname": host}))


def _answer(chance: Random) -> Document:
    named = {"group": "", "kind": "ConfigMap", "name": chance.choice(("m1", "m2", "m3"))}
    body = chance.choice(
        ({"type": "Inline", "inline": "x"}, {"type": "ValueRef", "valueRef": named})
    )
    return {"statusCode": chance.choice((200, 403, 403, 999)), "body": body}


def _injection(chance: Random) -> Document:
    reference: Document = {"name": chance.choice(("k1", "k2", "c1"))}
    if chance.random() < 0.4:
        reference["namespace"] = chance.choice(NAMESPACES)
    return {"credential": {"valueRef": reference}, "overwrite": chance.random() < 0.5}


def _matches(chance: Random) -> list[Document]:
    value = chance.choice(("a", "b", "a;b"))
    cookie = {"name": chance.choice("ab"), "value": value}
    return [{"cookies": [cookie]}, {"cookies": [cookie | {"value": "c"}]}][: chance.choice((1, 2))]


_PARTS: dict[str, Callable[[Random], Any]] = {
    "urlRewrite": _rewrite,
    "directResponse": _answer,
    "credentialInjection": _injection,
    "matches": _matches,
}


def _backend(chance: Random) -> Document:
    number = chance.choice((80, 443))
    hosts = chance.sample(("x.com", "y.com", "localhost"), chance.choice((1, 2)))
    names = [{"fqdn": {"hostname": it, "port": number}} for it in hosts]
    addresses = [{"ip": {"address": f"10.0.0.{it}", "port": number}} for it in (1, 2)]
    sockets = [{"unix": {"path": "/run/it.sock"}}]
    spec: Document = {"endpoints": chance.choice((names, *[addresses] * 5, sockets))}
    if chance.random() < 0.4:
        spec["fallback"] = True
    if chance.random() < 0.15:
        spec["appProtocols"] = [chance.choice(("gateway.envoyproxy.io/h2c", "odd"))]
    if chance.random() < 0.3:
        spec["tls"] = _tls(chance)
    return {"spec": spec}


def _tls(chance: Random) -> Document:
    authority = {"group": "", "kind": "ConfigMap", "name": chance.choice(("m1", "m2"))}
    made: Document = chance.choice(
        ({"wellKnownCACertificates": "System"}, {"caCertificateRefs": [authority]}, {})
    )
    if chance.random() < 0.4:
        reference: Document = {"name": chance.choice(("c1", "c2"))}
        if chance.random() < 0.5:
            reference["namespace"] = chance.choice(NAMESPACES)
        made = made | {"clientCertificateRef": reference}
    return made


_CLUSTERS = ("a/s1/80", "a/s2/80", "b/s1/80", "httproute/a/r1/rule/0", "added")
_WHERE: dict[str, tuple[str, ...]] = {
    patchpolicy.LISTENER: ("ingress_http", "ingress_https", "a/g1/h1", "nowhere"),
    patchpolicy.ROUTES: ("ingress_http/x.com", "a/g1/h1/y.com", "ingress_http/w.x.com"),
    patchpolicy.CLUSTER: _CLUSTERS,
}
_CHANGES: dict[str, tuple[tuple[str, Any], ...]] = {
    patchpolicy.LISTENER: (("/per_connection_buffer_limit_bytes", 7), ("/odd", 1)),
    patchpolicy.ROUTES: (("/retry_policy", {"num_retries": 3}), ("/routes/0/name", "x"), ("/x", 1)),
    patchpolicy.CLUSTER: (("/connect_timeout", "7s"), ("/connect_timeout", "odd")),
}


def _patches(chance: Random) -> Document:
    target = {"group": GROUP, "kind": "Gateway", "name": chance.choice(("g1", "g2"))}
    if chance.random() < 0.2:
        target |= {"kind": "GatewayClass", "name": "k1"}
    patches = [_patch(chance) for _ in range(chance.choice((1, 2, 3)))]
    priority = chance.choice((0, 0, 5))
    spec = {"type": "JSONPatch", "targetRef": target, "jsonPatches": patches, "priority": priority}
    return {"spec": spec}


def _patch(chance: Random) -> Document:
    type_ = chance.choice(tuple(_WHERE))
    name = chance.choice(_WHERE[type_])
    if name == "added":
        value = {"name": name, "type": "STATIC", "connect_timeout": chance.choice(("1s", "2s"))}
        operation: Document = {"op": "add", "path": "", "value": value}
    else:
        path, value = chance.choice(_CHANGES[type_])
        operation = {"op": chance.choice(("add", "add", "replace")), "path": path, "value": value}
    return {"type": type_, "name": name, "operation": operation}


def _secret(chance: Random) -> Document:
    entry = chance.choice(("credential", "credential", "credential", "other"))
    return {"type": "Opaque", "stringData": {entry: chance.choice(("Bearer a", "Bearer b", ""))}}


def _config_map(chance: Random) -> Document:
    chain = pairs.pair(chance.randrange(2))[0].decode()
    return {"data": {"response.body": chance.choice(("a", "b", "x" * 5000)), "ca.crt": chain}}


def _policy(chance: Random) -> Document:
    target = {"group": ENVOY_GATEWAY, "kind": "Backend", "name": chance.choice(("k1", "k2"))}
    if chance.random() < 0.3:
        target["sectionName"] = chance.choice(("80", "443"))
    validation = {"hostname": "x.com", "wellKnownCACertificates": "System"}
    return {"spec": {"targetRefs": [target], "validation": validation}}


def _grant(chance: Random) -> Document:
    kind = chance.choice(("HTTPRouteFilter", "Backend"))
    from_ = [{"group": ENVOY_GATEWAY, "kind": kind, "namespace": it} for it in NAMESPACES]
    from_.append({"group": GROUP, "kind": "HTTPRoute", "namespace": chance.choice(NAMESPACES)})
    to = [{"group": "", "kind": "Secret"}, {"group": ENVOY_GATEWAY, "kind": "Backend"}]
    return {"spec": {"from": from_, "to": to}}


KINDS: tuple[tuple[str, str, tuple[str, ...], int, Callable[[Random], Document]], ...] = (
    ("HTTPRouteFilter", _VERSION, ("k1", "k2", "k3"), 5, _filter),
    ("Backend", _VERSION, ("k1", "k2"), 6, _backend),
    ("EnvoyPatchPolicy", _VERSION, ("k1", "k2"), 4, _patches),
    ("Secret", "v1", ("k1", "k2"), 3, _secret),
    ("ConfigMap", "v1", ("m1", "m2", "m3"), 2, _config_map),
    ("BackendTLSPolicy", f"{GROUP}/v1", ("k1",), 1, _policy),
    ("ReferenceGrant", f"{GROUP}/v1beta1", ("k1",), 2, _grant),
)
"""The weight of each kind, before what makes one."""


def document(chance: Random) -> Document:
    """An object of one of the kinds."""
    kind, version, names, _, made = chance.choices(KINDS, [it[3] for it in KINDS])[0]
    metadata = {"name": chance.choice(names), "namespace": chance.choice(NAMESPACES)}
    metadata["creationTimestamp"] = f"2026-01-01T00:00:0{chance.randrange(9)}Z"
    return {"apiVersion": version, "kind": kind, "metadata": metadata} | made(chance)


def ground() -> list[Document]:
    """What allows Backends and patches, and lets requests reach routes; older than the rest."""
    controller = "projectcontour.io/gateway-controller"
    http = {"name": "h1", "port": 80, "protocol": "HTTP"}
    allowed = {"controllerName": controller, "envoyPatchPolicies": {"namespaces": ["a", "b"]}}
    configuration = {"enableBackend": True, "enableExternalNameService": True, "gateway": allowed}
    made = (
        (f"{GROUP}/v1", "GatewayClass", "k1", {"controllerName": controller}),
        (f"{GROUP}/v1", "Gateway", "g1", {"gatewayClassName": "k1", "listeners": [http]}),
        (f"{GROUP}/v1", "HTTPRoute", "r1", _ground_route("k1", _SERVICE)),
        (f"{GROUP}/v1", "HTTPRoute", "r2", _ground_route("k2", *map(_of_backend, ("k1", "k2")))),
        (_VERSION, "HTTPRouteFilter", "k1", {"credentialInjection": _CREDENTIAL}),
        (_VERSION, "Backend", "k1", {"endpoints": [_ADDRESS]}),
        (_VERSION, "Backend", "k2", {"endpoints": [_ADDRESS], "fallback": True}),
        ("v1", "Service", "s1", {"ports": [{"name": "http", "port": 80}]}),
        ("projectcontour.io/v1alpha1", "ContourConfiguration", "contour", configuration),
    )
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "k1", "namespace": "a"}}
    secret |= {"type": "Opaque", "stringData": {"credential": "Bearer a"}}
    old = {"creationTimestamp": "2025-01-01T00:00:00Z"}
    return [
        secret,
        *(
            {
                "apiVersion": version,
                "kind": kind,
                "metadata": {"name": name} | old | _place(kind),
                "spec": spec,
            }
            for version, kind, name, spec in made
        ),
    ]


_CREDENTIAL: Document = {"credential": {"valueRef": {"name": "k1"}}}
_ADDRESS: Document = {"ip": {"address": "10.0.0.1", "port": 80}}
_SERVICE: Document = {"name": "s1", "port": 80}


def _of_backend(name: str) -> Document:
    return {"group": ENVOY_GATEWAY, "kind": "Backend", "name": name}


def _ground_route(name: str, *backends: Document) -> Document:
    """A route with a filter, and one rule without."""
    reference = {"group": ENVOY_GATEWAY, "kind": "HTTPRouteFilter", "name": name}
    filtered = {"filters": [{"type": "ExtensionRef", "extensionRef": reference}]}
    led = {"backendRefs": list(backends)}
    rules = [{"matches": [{"path": {"value": "/p"}}]} | filtered | led, led]
    return {"parentRefs": [{"name": "g1"}], "rules": rules}


def _place(kind: str) -> Document:
    return {} if kind == "GatewayClass" else {"namespace": "a"}


def referring(step: Step, chance: Random) -> Step:
    """The same; a route has perhaps references to such objects."""
    if step.object is None or not step.kind.kind.endswith("Route"):
        return step
    spec: Any = step.object.spec
    rules = tuple(_referring(it, chance, step.kind.kind) for it in spec.rules)
    return step._replace(object=replace(step.object, spec=replace(spec, rules=rules)))


def _referring(rule: Any, chance: Random, kind: str) -> Any:
    led = tuple(_led(it, chance) for it in rule.backend_refs)
    if kind not in {"HTTPRoute", "GRPCRoute"} or chance.random() < 0.3:
        return replace(rule, backend_refs=led)
    names = chance.sample(("k1", "k2", "k3"), chance.choice((1, 1, 1, 2)))
    return replace(rule, backend_refs=led, filters=(*rule.filters, *map(_named, names)))


def _named(name: str) -> HTTPRouteFilter:
    reference = LocalObjectReference(group=ENVOY_GATEWAY, kind="HTTPRouteFilter", name=name)
    return HTTPRouteFilter(type="ExtensionRef", extension_ref=reference)


def _led(reference: Any, chance: Random) -> Any:
    if chance.random() < 0.5:
        return reference
    name = chance.choice(("k1", "k2"))
    return replace(reference, group=ENVOY_GATEWAY, kind="Backend", name=name, port=None)

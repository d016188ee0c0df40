"""Random objects of every kind, in a world so small that they keep meeting one another.

Two namespaces, a handful of hosts, and names that repeat: so includes form cycles and lead to
orphans, hosts are claimed twice, Services and certificates are missing, grants come and go.
"""

import base64
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from tests.laws import gateways
from tests.testbed import pairs

Document = dict[str, Any]

NAMESPACES = ("a", "b")
HOSTS = ("x.com", "y.com", "w.x.com", "*.x.com")
PATHS = ("/", "/p", "/p/q", "/p/", "/r")
CONTROLLER = "projectcontour.io/gateway-controller"
FOREIGN = (
    ("nginx.ingress.kubernetes.io/auth-type", "basic"),
    ("nginx.ingress.kubernetes.io/rewrite-target", "/"),
    ("haproxy-ingress.github.io/allowlist-source-range", "10.0.0.0/8"),
    ("projectcontour.io/num-retriess", "3"),
)
"""Annotations that have no effect here: two of them are to guard something."""
GATEWAY_GROUP = "gateway.networking.k8s.io"


def document(chance: Random) -> Document:
    """One object, of any kind."""
    kind = chance.choices(tuple(_SPECS), _WEIGHTS)[0]
    version, name, namespaced = _VERSIONS[kind]
    metadata: Document = {"name": chance.choice(name)}
    if namespaced:
        metadata["namespace"] = chance.choice(NAMESPACES)
    if chance.random() < 0.7:
        metadata["creationTimestamp"] = f"2026-01-01T00:00:0{chance.randrange(4)}Z"
    if chance.random() < 0.08:
        metadata["annotations"] = dict([chance.choice(FOREIGN)])
    made = {"apiVersion": version, "kind": kind, "metadata": metadata}
    return _merged(made, _SPECS[kind](chance))


def _merged(made: Document, rest: Document) -> Document:
    metadata = made["metadata"] | rest.pop("metadata", {})
    return made | rest | {"metadata": metadata}


def _service(chance: Random) -> Document:
    if chance.random() < 0.1:
        name = chance.choice(("far.example.org", "localhost"))
        return {"spec": {"type": "ExternalName", "externalName": name, "ports": [{"port": 80}]}}
    ports = [{"name": "http", "port": 80}, {"name": "other", "port": 81}]
    annotations = {"projectcontour.io/upstream-protocol.h2c": "http"}
    return {
        "spec": {"ports": ports[: chance.choice((1, 2, 2))]},
        "metadata": {"annotations": annotations} if chance.random() < 0.2 else {},
    }


def _slice(chance: Random) -> Document:
    endpoints = [
        {"addresses": [f"10.0.0.{it}"], "conditions": {"ready": chance.random() < 0.8}}
        for it in range(chance.randrange(3))
    ]
    labels = {"kubernetes.io/service-name": chance.choice(("s1", "s2"))}
    ports = [{"name": "http", "port": 8080}]
    rest = {"addressType": "IPv4", "endpoints": endpoints, "ports": ports}
    return rest | {"metadata": {"labels": labels}}


def _secret(chance: Random) -> Document:
    if chance.random() < 0.2:
        return {"type": "Opaque", "stringData": {"client-secret": chance.choice(("a", "b"))}}
    if chance.random() < 0.2:
        data = {"tls.crt": "bm90aGluZw==", "tls.key": "bm90aGluZw=="}
    else:
        chain, key = pairs.pair(chance.randrange(3))
        encoded = (base64.b64encode(it).decode() for it in (chain, key))
        data = dict(zip(("tls.crt", "tls.key"), encoded, strict=True))
    return {"type": "kubernetes.io/tls", "data": data}


def _namespace(chance: Random) -> Document:
    return {"metadata": {"labels": {"team": chance.choice(("red", "blue"))}}}


def _class(chance: Random) -> Document:
    return {"spec": {"controller": chance.choice(("projectcontour.io/x", "other/y"))}}


def _ingress(chance: Random) -> Document:
    rules = [_ingress_rule(chance) for _ in range(chance.randrange(1, 3))]
    spec: Document = {"rules": rules}
    if chance.random() < 0.3:
        spec["defaultBackend"] = _ingress_backend(chance)
    if chance.random() < 0.4:
        hosts = chance.sample(HOSTS, 1)
        spec["tls"] = [{"hosts": hosts, "secretName": chance.choice(("c1", "c2"))}]
    if chance.random() < 0.3:
        spec["ingressClassName"] = chance.choice(("contour", "other"))
    return {"spec": spec}


def _ingress_rule(chance: Random) -> Document:
    path = {
        "path": chance.choice(PATHS),
        "pathType": chance.choice(("Prefix", "Exact", "ImplementationSpecific")),
        "backend": _ingress_backend(chance),
    }
    host = {"host": chance.choice(HOSTS)} if chance.random() < 0.9 else {}
    return host | {"http": {"paths": [path]}}


def _ingress_backend(chance: Random) -> Document:
    port = chance.choice(({"number": 80}, {"name": "http"}, {"number": 99}))
    return {"service": {"name": chance.choice(("s1", "s2")), "port": port}}


def _proxy(chance: Random) -> Document:
    spec: Document = {
        "routes": [_proxy_route(chance) for _ in range(chance.randrange(3))],
        "includes": [_include(chance) for _ in range(chance.choice((0, 0, 1, 2)))],
    }
    if spec["routes"] and chance.random() < 0.8:
        spec["virtualhost"] = _virtual_host(chance)
    if chance.random() < 0.1:
        spec["ingressClassName"] = chance.choice(("contour", "other"))
    return {"spec": spec}


def _virtual_host(chance: Random) -> Document:
    host: Document = {"fqdn": chance.choice(HOSTS)}
    if chance.random() < 0.4:
        host["tls"] = {"secretName": chance.choice(("c1", "c2", "b/c1"))}
    return host


def _include(chance: Random) -> Document:
    made: Document = {"name": chance.choice(("p1", "p2", "p3", "p4"))}
    if chance.random() < 0.3:
        made["namespace"] = chance.choice(NAMESPACES)
    if chance.random() < 0.7:
        made["conditions"] = [_condition(chance)]
    return made


def _condition(chance: Random) -> Document:
    if chance.random() < 0.7:
        return {"prefix": chance.choice(PATHS)}
    if chance.random() < 0.5:
        return {"header": {"name": "X-A", "exact": chance.choice("12")}}
    return {"queryParameter": {"name": "q", "exact": chance.choice("12")}}


def _proxy_route(chance: Random) -> Document:
    port = chance.choice((80, 80, 80, 81))
    services = [
        {"name": name, "port": port, "weight": chance.randrange(3)}
        for name in chance.sample(("s1", "s2"), chance.choice((1, 1, 2)))
    ]
    route: Document = {"services": services}
    if chance.random() < 0.7:
        route["conditions"] = [_condition(chance)]
    if chance.random() < 0.2:
        route["permitInsecure"] = True
    if chance.random() < 0.2:
        set_ = [{"name": "X-B", "value": chance.choice("12")}]
        route["requestHeadersPolicy"] = {"set": set_}
    return route


def _delegation(chance: Random) -> Document:
    targets = chance.choice((["*"], ["a"], ["b"]))
    name = chance.choice(("c1", "c2"))
    return {"spec": {"delegations": [{"secretName": name, "targetNamespaces": targets}]}}


def _gateway_class(chance: Random) -> Document:
    controller = chance.choice((CONTROLLER, CONTROLLER, CONTROLLER, "other/x"))
    made: Document = {"spec": {"controllerName": controller}}
    if chance.random() < 0.1:
        made["spec"]["parametersRef"] = gateways.PARAMETERS | {"namespace": "a"}
    if chance.random() < 0.1:
        made["metadata"] = {"deletionTimestamp": "2026-02-01T00:00:00Z"}
    return made


def _gateway(chance: Random) -> Document:
    kinds = (_http_listener, _http_listener, _https_listener, gateways.stream_listener)
    listeners = [chance.choice(kinds)(chance) for _ in range(chance.randrange(1, 4))]
    spec = {"gatewayClassName": chance.choice(("k1", "k1", "k1", "k2")), "listeners": listeners}
    return {"spec": spec | gateways.gateway_settings(chance)}


def _http_listener(chance: Random) -> Document:
    made: Document = {"name": chance.choice(("h1", "h2")), "port": chance.choice((80, 80, 8080))}
    return made | {"protocol": "HTTP"} | _admission(chance)


def _https_listener(chance: Random) -> Document:
    reference: Document = {"name": chance.choice(("c1", "c2"))}
    if chance.random() < 0.3:
        reference["namespace"] = chance.choice(NAMESPACES)
    made = {"name": "t1", "port": 443, "protocol": "HTTPS"}
    return made | {"tls": {"certificateRefs": [reference]}} | _admission(chance)


def _admission(chance: Random) -> Document:
    made: Document = {"hostname": chance.choice(HOSTS)} if chance.random() < 0.4 else {}
    selector = {"matchLabels": {"team": "red"}}
    admitted = chance.choice(
        (None, {"from": "All"}, {"from": "All"}, {"from": "Selector", "selector": selector})
    )
    if admitted is not None:
        made["allowedRoutes"] = {"namespaces": admitted}
    return made


def _http_route(chance: Random) -> Document:
    names = chance.sample(("g1", "g2"), chance.choice((1, 1, 2)))
    spec: Document = {
        "parentRefs": [_parent(name, chance) for name in names],
        "rules": [_rule(chance) for _ in range(chance.randrange(1, 3))],
    }
    if chance.random() < 0.7:
        spec["hostnames"] = chance.sample(HOSTS, chance.choice((1, 2)))
    return {"spec": spec}


def _parent(name: str, chance: Random) -> Document:
    made: Document = {"name": name}
    if chance.random() < 0.5:
        made["namespace"] = chance.choice(NAMESPACES)
    if chance.random() < 0.3:
        made["sectionName"] = chance.choice(("h1", "h2", "t1"))
    return made


def _rule(chance: Random) -> Document:
    path = {"type": chance.choice(("PathPrefix", "Exact")), "value": chance.choice(("/", "/p"))}
    rule: Document = {"matches": [{"path": path}]}
    if chance.random() < 0.2:
        redirect = {"scheme": "https", "statusCode": 301}
        return rule | {"filters": [{"type": "RequestRedirect", "requestRedirect": redirect}]}
    reference: Document = {"name": chance.choice(("s1", "s2")), "port": chance.choice((80, 80, 99))}
    if chance.random() < 0.3:
        reference["namespace"] = chance.choice(NAMESPACES)
    return rule | {"backendRefs": [reference], "filters": gateways.filters(chance)}


def _grant(chance: Random) -> Document:
    kind = chance.choice(("HTTPRoute", "Gateway", "TLSRoute", "ListenerSet"))
    from_ = {"group": GATEWAY_GROUP, "kind": kind, "namespace": chance.choice(NAMESPACES)}
    to = {"group": "", "kind": chance.choice(("Service", "Secret"))}
    return {"spec": {"from": [from_], "to": [to]}}


def _configuration(chance: Random) -> Document:
    spec: Document = {"enableExternalNameService": chance.random() < 0.5}
    if chance.random() < 0.3:
        spec["foreignGuards"] = "Report"
    if chance.random() < 0.3:
        spec["envoy"] = {"networkPublishing": {"type": "ClusterIPService"}}
    if chance.random() < 0.8:
        spec["gateway"] = chance.choice(({"controllerName": CONTROLLER}, {}))
        if chance.random() < 0.3:
            spec["gateway"] = spec["gateway"] | {"mode": "PerGateway"}
    return {"spec": spec}


_KINDS: tuple[tuple[str, str, tuple[str, ...], bool, int, Callable[[Random], Document]], ...] = (
    ("Service", "v1", ("s1", "s2"), True, 7, _service),
    ("EndpointSlice", "discovery.k8s.io/v1", ("e1", "e2"), True, 2, _slice),
    ("Secret", "v1", ("c1", "c2"), True, 6, _secret),
    ("Namespace", "v1", NAMESPACES, False, 1, _namespace),
    ("IngressClass", "networking.k8s.io/v1", ("contour", "other"), False, 1, _class),
    ("Ingress", "networking.k8s.io/v1", ("i1", "i2"), True, 5, _ingress),
    ("HTTPProxy", "projectcontour.io/v1", ("p1", "p2", "p3", "p4"), True, 9, _proxy),
    ("TLSCertificateDelegation", "projectcontour.io/v1", ("d1",), True, 1, _delegation),
    ("GatewayClass", f"{GATEWAY_GROUP}/v1", ("k1", "k2"), False, 3, _gateway_class),
    ("Gateway", f"{GATEWAY_GROUP}/v1", ("g1", "g2"), True, 4, _gateway),
    ("HTTPRoute", f"{GATEWAY_GROUP}/v1", ("r1", "r2", "r3"), True, 6, _http_route),
    ("ReferenceGrant", f"{GATEWAY_GROUP}/v1beta1", ("n1",), True, 1, _grant),
    ("ContourConfiguration", "projectcontour.io/v1alpha1", ("contour",), True, 1, _configuration),
    *gateways.KINDS,
)
_SPECS: Mapping[str, Callable[[Random], Document]] = {it[0]: it[5] for it in _KINDS}
_VERSIONS = {it[0]: (it[1], it[2], it[3]) for it in _KINDS}
_WEIGHTS = tuple(it[4] for it in _KINDS)

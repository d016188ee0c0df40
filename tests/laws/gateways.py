"""Random objects of the wider Gateway API, in the small world of `documents`."""

import base64
from collections.abc import Callable
from random import Random
from typing import Any

from tests.testbed import pairs

Document = dict[str, Any]

GROUP = "gateway.networking.k8s.io"
NAMESPACES = ("a", "b")
HOSTS = ("x.com", "y.com", "w.x.com", "*.x.com")


def stream_listener(chance: Random) -> Document:
    """A listener of a protocol that is no HTTP."""
    protocol = chance.choice(("TLS", "TLS", "TCP", "UDP"))
    made: Document = {"name": f"x{protocol.lower()}", "protocol": protocol}
    if protocol != "TLS":
        return made | {"port": chance.choice((80, 9000))}
    mode = chance.choice(("Passthrough", "Terminate"))
    made |= {"port": chance.choice((443, 8443)), "tls": {"mode": mode}}
    if mode == "Terminate":
        made["tls"]["certificateRefs"] = [{"name": chance.choice(("c1", "c2"))}]
    if chance.random() < 0.6:
        made["hostname"] = chance.choice(HOSTS)
    return made


def gateway_settings(chance: Random) -> Document:
    """What may stand beside the listeners of a Gateway."""
    made: Document = {}
    if chance.random() < 0.7:
        made["allowedListeners"] = {"namespaces": {"from": chance.choice(("All", "Same"))}}
    if chance.random() < 0.3:
        authority = {"group": "", "kind": "ConfigMap", "name": chance.choice(("m1", "m2"))}
        wanted = {"validation": {"caCertificateRefs": [authority]}}
        made["tls"] = {"frontend": {"default": wanted}}
    if chance.random() < 0.3:
        reference = {"name": chance.choice(("c1", "c2"))}
        made.setdefault("tls", {})["backend"] = {"clientCertificateRef": reference}
    return made | infrastructure(chance)


def infrastructure(chance: Random) -> Document:
    """What a Gateway may ask of its Envoys."""
    made: Document = {}
    if chance.random() < 0.1:
        made["addresses"] = [chance.choice(({"value": "192.0.2.1"}, {"value": "192.0.2.2"}))]
    if chance.random() < 0.1:
        made["infrastructure"] = {"labels": {"team": chance.choice(NAMESPACES)}}
        if chance.random() < 0.5:
            made["infrastructure"]["parametersRef"] = PARAMETERS
    return made


PARAMETERS = {"group": "projectcontour.io", "kind": "ContourConfiguration", "name": "contour"}


def definition(chance: Random) -> Document:
    """Of GatewayClasses, in a version that is known or not."""
    version = chance.choice(("v1.4.1", "v1.6.1"))
    annotations = {"gateway.networking.k8s.io/bundle-version": version}
    return {"metadata": {"annotations": annotations}, "spec": {}}


def filters(chance: Random) -> list[Document]:
    """Filters of a rule that sends requests on."""
    mirror = {"backendRef": {"name": chance.choice(("s1", "s2")), "port": 80}}
    cors = {"allowOrigins": [chance.choice(("*", "https://*.a.com"))]}
    headers = {"set": [{"name": "A", "value": chance.choice("12")}]}
    every = (
        {"type": "RequestMirror", "requestMirror": mirror},
        {"type": "CORS", "cors": cors},
        {"type": "RequestHeaderModifier", "requestHeaderModifier": headers},
        {"type": "Cache"},
    )
    return [it for it in every if chance.random() < 0.15]


def _parent(chance: Random) -> Document:
    kind, names = chance.choice((("Gateway", ("g1", "g2")), ("ListenerSet", ("l1", "l2"))))
    made = {"kind": kind, "name": chance.choice(names)}
    if chance.random() < 0.4:
        made["namespace"] = chance.choice(NAMESPACES)
    return made


def _backend(chance: Random) -> Document:
    made: Document = {"name": chance.choice(("s1", "s2")), "port": chance.choice((80, 80, 99))}
    if chance.random() < 0.2:
        made["namespace"] = chance.choice(NAMESPACES)
    return made | {"weight": chance.randrange(3)}


def _grpc_route(chance: Random) -> Document:
    method = {"service": chance.choice(("a.A", "a.B")), "method": chance.choice(("C", ""))}
    rule = {"matches": [{"method": method}], "backendRefs": [_backend(chance)]}
    spec: Document = {"parentRefs": [_parent(chance)], "rules": [rule]}
    if chance.random() < 0.7:
        spec["hostnames"] = [chance.choice(HOSTS)]
    return {"spec": spec}


def _stream_route(chance: Random) -> Document:
    rules = [{"backendRefs": [_backend(chance) for _ in range(chance.choice((1, 2)))]}]
    return {"spec": {"parentRefs": [_parent(chance)], "rules": rules}}


def _tls_route(chance: Random) -> Document:
    made = _stream_route(chance)
    made["spec"]["hostnames"] = chance.sample(HOSTS, chance.choice((1, 2)))
    return made


def _listener_set(chance: Random) -> Document:
    ports = chance.sample((80, 80, 8080), 2)
    listeners: list[Document] = [
        {"name": f"h{n}", "port": port, "protocol": "HTTP", "hostname": HOSTS[n]}
        for n, port in enumerate(ports)
    ]
    if chance.random() < 0.4:
        listeners.append(stream_listener(chance))
    parent = {"name": chance.choice(("g1", "g2")), "namespace": chance.choice(NAMESPACES)}
    return {"spec": {"parentRef": parent, "listeners": listeners}}


def _policy(chance: Random) -> Document:
    target: Document = {"group": "", "kind": "Service", "name": chance.choice(("s1", "s2"))}
    if chance.random() < 0.3:
        target["sectionName"] = chance.choice(("http", "other"))
    validation: Document = {"hostname": chance.choice(("x.com", "y.com"))}
    if chance.random() < 0.5:
        validation["wellKnownCACertificates"] = "System"
    else:
        name = chance.choice(("m1", "m2"))
        validation["caCertificateRefs"] = [{"group": "", "kind": "ConfigMap", "name": name}]
    return {"spec": {"targetRefs": [target], "validation": validation}}


def _config_map(chance: Random) -> Document:
    chain = pairs.pair(chance.randrange(2))[0].decode()
    encoded = {"binaryData": {"other": base64.b64encode(b"x").decode()}}
    return encoded | {"data": {"ca.crt": chain if chance.random() < 0.8 else "nothing"}}


_DEFINITIONS = ("gatewayclasses.gateway.networking.k8s.io",)

KINDS: tuple[tuple[str, str, tuple[str, ...], bool, int, Callable[[Random], Document]], ...] = (
    ("CustomResourceDefinition", "apiextensions.k8s.io/v1", _DEFINITIONS, False, 1, definition),
    ("ConfigMap", "v1", ("m1", "m2"), True, 2, _config_map),
    ("GRPCRoute", f"{GROUP}/v1", ("q1", "q2"), True, 2, _grpc_route),
    ("TLSRoute", f"{GROUP}/v1", ("t1", "t2"), True, 2, _tls_route),
    ("TCPRoute", f"{GROUP}/v1", ("u1", "u2"), True, 1, _stream_route),
    ("UDPRoute", f"{GROUP}/v1", ("v1", "v2"), True, 1, _stream_route),
    ("ListenerSet", f"{GROUP}/v1", ("l1", "l2"), True, 3, _listener_set),
    ("BackendTLSPolicy", f"{GROUP}/v1", ("y1", "y2"), True, 2, _policy),
)

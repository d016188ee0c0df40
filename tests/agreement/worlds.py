"""What generated objects of Envoy Gateway stand in: a Gateway, its routes, and their backends."""

import socket
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

Document = dict[str, Any]

_GATEWAYS = "gateway.networking.k8s.io"
ENVOY_GATEWAY = "gateway.envoyproxy.io"


def policies(
    kind: str, make: Callable[[Random], Document], chance: Random, count: int
) -> list[Document]:
    """Routes, each with a policy of its own; the Gateway has one, too, and one route has none."""
    found = [*ground(), route("bare"), _policy(kind, "whole", ("Gateway", "gw"), make(chance))]
    for number in range(count):
        policy = _policy(kind, f"p{number}", ("HTTPRoute", f"r{number}"), make(chance))
        found += (route(f"r{number}"), policy)
    return found


def ground() -> list[Document]:
    """A Gateway, and what routes send requests to beside `s1`: a Service whose name Envoy resolves,
    which is that of this machine, and one of HTTP/2."""
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    port: Document = {"port": 80}
    named: Document = {
        "type": "ExternalName",
        "externalName": socket.gethostname().lower(),
        "ports": [port],
    }
    h2c: Document = {"ports": [port | {"appProtocol": "kubernetes.io/h2c"}]}
    controller = {"controllerName": "projectcontour.io/gateway-controller"}
    return [
        _core("GatewayClass", "contour", controller),
        _core("Gateway", "gw", {"gatewayClassName": "contour", "listeners": [listener]}),
        document("v1", "Service", "named", {"spec": named}),
        document("v1", "Service", "h2c", {"spec": h2c}),
    ]


def route(name: str, *filters: Document) -> Document:
    """An HTTPRoute whose rules have these filters, each to another backend."""
    rules: list[Document] = [
        {"backendRefs": [{"name": it, "port": 80}], "filters": list(filters)}
        for it in ("s1", "named", "h2c")
    ]
    for rule in rules[1:]:
        path = {"type": "PathPrefix", "value": f"/{rule['backendRefs'][0]['name']}"}
        rule["matches"] = [{"path": path}]
    spec = {"parentRefs": [{"name": "gw"}], "hostnames": [f"{name}.test"], "rules": rules}
    return _core("HTTPRoute", name, spec)


def of_envoy_gateway(kind: str, name: str, spec: Document) -> Document:
    """An object of a kind of Envoy Gateway."""
    return document(f"{ENVOY_GATEWAY}/v1alpha1", kind, name, {"spec": spec})


def secret(name: str, texts: Mapping[str, str]) -> Document:
    """A Secret with these entries."""
    return document("v1", "Secret", name, {"stringData": dict(texts)})


def document(version: str, kind: str, name: str, rest: Document) -> Document:
    """An object in the namespace `default`."""
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def _core(kind: str, name: str, spec: Document) -> Document:
    return document(f"{_GATEWAYS}/v1", kind, name, {"spec": spec})


def _policy(kind: str, name: str, target: tuple[str, str], spec: Document) -> Document:
    reference = {"group": _GATEWAYS, "kind": target[0], "name": target[1]}
    return of_envoy_gateway(kind, name, {"targetRefs": [reference], **spec})

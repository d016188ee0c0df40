"""Manifests of routes whose rules name filters that are objects of their own."""

from collections.abc import Mapping

from tests.testbed.world import Document

_API = "gateway.networking.k8s.io/v1"
_GROUP = "gateway.envoyproxy.io"


def gateway() -> list[Document]:
    """A Gateway with its class, and the Service `one` that the routes lead to."""
    named = {"name": "contour"}
    spec = {"controllerName": "projectcontour.io/gateway-controller"}
    listeners = [{"name": "http", "protocol": "HTTP", "port": 80}]
    return [
        {"apiVersion": _API, "kind": "GatewayClass", "metadata": named, "spec": spec},
        _object(_API, "Gateway", "web", {"gatewayClassName": "contour", "listeners": listeners}),
        _object("v1", "Service", "one", {"ports": [{"port": 80}]}),
    ]


def filter_(kind: str, name: str, spec: Mapping[str, object]) -> Document:
    """A filter."""
    return _object(f"{_GROUP}/v1alpha1", kind, name, spec)


def route(name: str, kind: str, filters: Mapping[str, str], host: str) -> Document:
    """An HTTPRoute with a rule for each path, with the filter of that name."""
    rules = [
        {
            "matches": [{"path": {"value": path}}],
            "filters": [
                {
                    "type": "ExtensionRef",
                    "extensionRef": {"group": _GROUP, "kind": kind, "name": filter_name},
                }
            ],
            "backendRefs": [{"name": "one", "port": 80}],
        }
        for path, filter_name in filters.items()
    ]
    spec = {"parentRefs": [{"name": "web"}], "hostnames": [host], "rules": rules}
    return _object(_API, "HTTPRoute", name, spec)


def _object(api: str, kind: str, name: str, spec: Mapping[str, object]) -> Document:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}

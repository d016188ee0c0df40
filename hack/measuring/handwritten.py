"""Envoys configured by hand, in a file: what a request costs with nothing but a router.

They are the yardstick of what our Envoys spend, so they log as ours do and route to the same place.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.testbed.envoys import Envoy

Message = dict[str, Any]

LOOPBACK = "127.0.0.1"

_TYPES = "type.googleapis.com/envoy.extensions.filters"
_DIRECT: Message = {"direct_response": {"status": 200, "body": {"inline_string": "ok"}}}
_PROXIED: Message = {"route": {"cluster": "backend"}}


def direct(
    hosts: Sequence[str], port: int, logs: Sequence[Message] = (), address: str = LOOPBACK
) -> Message:
    """The listeners of an Envoy that answers all requests to these hosts itself."""
    return {"listeners": [_listener(hosts, _address(port, address), _DIRECT, logs)]}


def proxied(hosts: Sequence[str], port: int, backend: int, logs: Sequence[Message]) -> Message:
    """The listeners and clusters of an Envoy that sends all requests to this port."""
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": _address(backend)}}]}]
    assignment = {"cluster_name": "backend", "endpoints": endpoints}
    cluster = {"name": "backend", "connect_timeout": "2s", "load_assignment": assignment}
    listener = _listener(hosts, _address(port), _PROXIED, logs)
    return {"listeners": [listener], "clusters": [cluster]}


def configure(envoy: Envoy, resources: Message) -> None:
    """Writes the whole configuration of this Envoy."""
    admin = {"address": {"pipe": {"path": str(envoy.admin)}}}
    node = {"id": envoy.name, "cluster": "handwritten"}
    whole = {"node": node, "admin": admin, "static_resources": resources}
    Path(envoy.configuration).write_text(json.dumps(whole))


def _address(port: int, address: str = LOOPBACK) -> Message:
    return {"socket_address": {"address": address, "port_value": port}}


def _listener(
    hosts: Sequence[str], address: Message, action: Message, logs: Sequence[Message]
) -> Message:
    virtual_hosts = [
        {"name": it, "domains": [it, f"{it}:*"], "routes": [{"match": {"prefix": "/"}} | action]}
        for it in hosts
    ]
    router = {"name": "router", "typed_config": {"@type": f"{_TYPES}.http.router.v3.Router"}}
    manager = {
        "@type": f"{_TYPES}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "handwritten",
        "access_log": list(logs),
        "http_filters": [router],
        "route_config": {"name": "hosts", "virtual_hosts": virtual_hosts},
    }
    filters = [{"name": "http", "typed_config": manager}]
    return {"name": "http", "address": address, "filter_chains": [{"filters": filters}]}

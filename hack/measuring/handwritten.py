"""Envoys configured by hand, in a file: the cost of a request with only a router.

Our Envoys are compared with them, so they log as ours do and route to the same backend.
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


def direct(
    hosts: Sequence[str], port: int, logs: Sequence[Message] = (), address: str = LOOPBACK
) -> Message:
    """The listeners of an Envoy that answers all requests to these hosts itself."""
    return {
        "listeners": [_listener([(it, _DIRECT) for it in hosts], _address(port, address), logs)]
    }


def proxied(
    hosts: Sequence[str], port: int, backend: int, services: int, logs: Sequence[Message]
) -> Message:
    """The listeners and clusters of an Envoy that sends all requests to this port.

    There are as many clusters as the measured world has Services, since each has connections and
    statistics of its own.
    """
    routed = [
        (it, {"route": {"cluster": _cluster_name(number % services)}})
        for number, it in enumerate(hosts)
    ]
    listener = _listener(routed, _address(port), logs)
    return {"listeners": [listener], "clusters": [_cluster(it, backend) for it in range(services)]}


def _cluster_name(number: int) -> str:
    return f"service-{number}"


def _cluster(number: int, backend: int) -> Message:
    name = _cluster_name(number)
    endpoints = [{"lb_endpoints": [{"endpoint": {"address": _address(backend)}}]}]
    assignment = {"cluster_name": name, "endpoints": endpoints}
    return {"name": name, "connect_timeout": "2s", "load_assignment": assignment}


def configure(envoy: Envoy, resources: Message) -> None:
    """Writes the whole configuration of this Envoy."""
    admin = {"address": {"pipe": {"path": str(envoy.admin)}}}
    node = {"id": envoy.name, "cluster": "handwritten"}
    whole = {"node": node, "admin": admin, "static_resources": resources}
    Path(envoy.configuration).write_text(json.dumps(whole))


def _address(port: int, address: str = LOOPBACK) -> Message:
    return {"socket_address": {"address": address, "port_value": port}}


def _listener(
    hosts: Sequence[tuple[str, Message]], address: Message, logs: Sequence[Message]
) -> Message:
    """`hosts` has the action of requests for each name."""
    virtual_hosts = [
        {"name": it, "domains": [it, f"{it}:*"], "routes": [{"match": {"prefix": "/"}} | action]}
        for it, action in hosts
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

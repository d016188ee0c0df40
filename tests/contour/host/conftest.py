"""A state directory and the configuration of an Envoy that needs no control plane."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from contour import bootstrap, host
from contour.demo import backends
from contour.host import state
from tests.testbed.ports import free_port


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[state.StateDirectory]:
    with state.claimed(tmp_path / "state") as claimed:
        yield claimed


@pytest.fixture
async def backend() -> AsyncIterator[int]:
    async with backends.serving({"one": 0}) as ports:
        yield ports["one"]


@pytest.fixture
def configuration(directory: state.StateDirectory, backend: int, port: int) -> str:
    """One static listener in front of one backend, in place of xDS."""
    document = bootstrap.document(
        bootstrap.Settings(
            node="one",
            fleet="contour",
            control_plane=bootstrap.Pipe(directory.socket("xds.sock")),
            admin=directory.socket(host.ADMIN),
        )
    )
    del document["dynamic_resources"]
    del document["layered_runtime"]["layers"][0]  # which would come by xDS, too
    document["static_resources"]["clusters"].append(_cluster(backend))
    document["static_resources"]["listeners"] = [_listener(port)]
    return json.dumps(document)


@pytest.fixture
def port() -> int:
    return free_port()


def _address(port: int) -> dict[str, Any]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def _cluster(port: int) -> dict[str, Any]:
    endpoint = {"endpoint": {"address": _address(port)}}
    endpoints = [{"lb_endpoints": [endpoint]}]
    return {"name": "one", "load_assignment": {"cluster_name": "one", "endpoints": endpoints}}


def _listener(port: int) -> dict[str, Any]:
    package = "type.googleapis.com/envoy.extensions.filters"
    route = {"match": {"prefix": "/"}, "route": {"cluster": "one", "timeout": "0s"}}
    router = {"name": "router", "typed_config": {"@type": f"{package}.http.router.v3.Router"}}
    http = {
        "@type": f"{package}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "one",
        "route_config": {"virtual_hosts": [{"name": "one", "domains": ["*"], "routes": [route]}]},
        "http_filters": [router],
    }
    filters = [{"name": "http", "typed_config": http}]
    return {"name": "one", "address": _address(port), "filter_chains": [{"filters": filters}]}

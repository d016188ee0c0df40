"""One Envoy of a node ID and two control planes: what names of an authority stand for."""

import contextlib
import http.client
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from contour import rundir
from contour.host import installation
from contour.run import XDS_SOCKET
from tests.e2e.standalone import Standalone, manifest, standalone
from tests.testbed import processes
from tests.testbed.ports import free_port
from tests.testbed.processes import wait

pytestmark = pytest.mark.envoy

NAME = "xdstp://b.example/envoy.config.route.v3.RouteConfiguration/all"
EXTENSIONS = "type.googleapis.com/envoy.extensions.filters"
EDGE = "EnvoyConfig default/edge"


def config(type_: str, value: dict[str, Any]) -> str:
    spec = {"nodeID": "edge", "resources": [{"type": type_, "value": value}]}
    metadata = {"name": "edge", "namespace": "default"}
    kind = {"apiVersion": "marin3r.3scale.net/v1alpha1", "kind": "EnvoyConfig"}
    return yaml.safe_dump({**kind, "metadata": metadata, "spec": spec})


def listener(port: int) -> str:
    """One that gets its routes from the other control plane: its `rds` has no source."""
    router = {"@type": f"{EXTENSIONS}.http.router.v3.Router"}
    manager = {
        "@type": f"{EXTENSIONS}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "http",
        "rds": {"route_config_name": NAME},
        "http_filters": [{"name": "router", "typed_config": router}],
    }
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    chains = [{"filters": [{"name": "http", "typed_config": manager}]}]
    return config("listener", {"name": "http", "address": address, "filter_chains": chains})


def routes(answer: str, *domains: str) -> str:
    route = {
        "match": {"prefix": "/"},
        "direct_response": {"status": 200, "body": {"inline_string": answer}},
    }
    host = {"name": "all", "domains": list(domains or "*"), "routes": [route]}
    return config("route", {"name": NAME, "virtual_hosts": [host]})


@contextlib.contextmanager
def plane(folder: Path, text: str) -> Iterator[Standalone]:
    folder.mkdir()
    files = {it: manifest(it) for it in ("services.yaml", "live.yaml")}
    with standalone(folder, {**files, "edge.yaml": text}) as running:
        yield running


@contextlib.contextmanager
def envoy(folder: Path, own: Standalone, other: Standalone) -> Iterator[None]:
    mine, theirs = (rundir.socket(it.state, XDS_SOCKET) for it in (own, other))
    file = folder / "edge.json"
    processes.called(
        *("bootstrap", str(file), "--node-id", "edge", "--xds-socket", str(mine)),
        *("--authority", f"b.example=unix:{theirs}"),
        *("--admin-address", str(folder / "admin.sock")),
    )
    command = (
        *(str(installation.binary()), "--config-path", str(file), "--concurrency", "1"),
        *("--use-dynamic-base-id", "--log-level", "warning"),
    )
    running = processes.start("edge", command, folder)
    try:
        yield
    finally:
        running.kill()


def answered(port: int) -> str:
    """What it answers; empty if nobody listens."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    with contextlib.closing(connection):
        try:
            connection.request("GET", "/")
            return connection.getresponse().read().decode()
        except OSError:
            return ""


def test_routes_come_from_the_control_plane_of_their_authority_and_heal_there(
    tmp_path: Path,
) -> None:
    port = free_port()
    with (
        plane(tmp_path / "a", listener(port)) as own,
        plane(tmp_path / "b", routes("one")) as other,
        envoy(tmp_path, own, other),
    ):
        wait(lambda: answered(port) == "one", "the routes of the other control plane")
        other.write("edge.yaml", routes("two"))
        wait(lambda: answered(port) == "two", "their change")
        other.write("edge.yaml", routes("bad", "*", "*"))
        other.until_told(EDGE, "Only a single wildcard domain")
        assert answered(port) == "two"
        own.process.stop()
        other.write("edge.yaml", routes("three"))
        wait(lambda: answered(port) == "three", "a change while the first control plane is away")

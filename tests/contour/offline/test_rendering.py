"""Which resources of a fleet `contour translate` shows."""

import json

import pytest
from click.testing import CliRunner

from contour.cli import main

GRPC = """
apiVersion: projectcontour.io/v1alpha1
kind: ContourConfiguration
metadata: {name: contour, namespace: projectcontour}
spec: {xdsServer: {grpcClients: {exports: [{namespaces: [shop]}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: echo, namespace: shop}
spec: {ports: [{port: 50051}]}
"""
ENVOY_CONFIG = """
apiVersion: marin3r.3scale.net/v1alpha1
kind: EnvoyConfig
metadata: {name: edge, namespace: default}
spec:
  nodeID: edge
  serialization: yaml
  envoyResources:
    routes:
    - {name: local, value: "{name: local, virtual_hosts: [{name: a, domains: ['*']}]}"}
"""
EDGE = "projectcontour://envoy-node/default/edge"


@pytest.mark.parametrize("raw", [(), ("--raw",)])
@pytest.mark.parametrize(
    ("manifests", "fleet", "names"),
    [(GRPC, "grpc:clients", ["echo.shop:50051"]), (ENVOY_CONFIG, EDGE, ["local"])],
)
def test_routes_are_shown_that_belong_to_no_listener_of_ours(
    manifests: str, fleet: str, names: list[str], raw: tuple[str, ...]
) -> None:
    arguments = ["translate", "-", "--fleet", fleet, "-o", "json", *raw]
    result = CliRunner().invoke(main, arguments, input=manifests)
    assert result.exit_code == 0, result.output
    assert [it["name"] for it in json.loads(result.stdout)["routes"]] == names

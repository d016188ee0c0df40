"""Expressions for services and methods of gRPC: each holds for its half of the path alone."""

import pytest

from tests.dag.gateway.manifests import gateway, gateway_class, service
from tests.dag.world import routes, world


def served(method: str) -> list[str]:
    text = f"""
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {{name: r, namespace: default}}
spec:
  parentRefs: [{{name: gw}}]
  rules:
  - matches: [{{method: {{type: RegularExpression, {method}}}}}]
    backendRefs: [{{name: s1, port: 80}}]
"""
    return routes(world(gateway_class() + gateway("gw") + service("s1") + text), "*")


@pytest.mark.parametrize(
    ("method", "expression"),
    [
        ("service: 'a|b', method: 'c|d'", "/(a|b)/(c|d)"),
        ("service: 'a|b'", "/(a|b)/[^/]+"),
        ("method: '(?i)c|d'", "/[^/]+/((?i)c|d)"),
    ],
)
def test_alternatives_stay_in_their_half(method: str, expression: str) -> None:
    assert served(method) == [f"~{expression} -> default/s1:80"]


@pytest.mark.parametrize("method", ["service: 'a)|(b'", "service: a, method: 'c)|(d'"])
def test_an_expression_may_not_end_the_group_that_it_becomes_a_part_of(method: str) -> None:
    assert served(method) == []

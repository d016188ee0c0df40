"""Of which version the Gateway API is that a cluster has, as its classes are told."""

import pytest

from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import gateway, gateway_class
from tests.dag.world import apply, delete, world

NAME = "gatewayclasses.gateway.networking.k8s.io"


def definition(version: str, name: str = NAME, channel: str = "experimental") -> str:
    return f"""
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {name}
  annotations:
    gateway.networking.k8s.io/bundle-version: {version}
    gateway.networking.k8s.io/channel: {channel}
spec: {{group: gateway.networking.k8s.io}}
"""


@pytest.mark.parametrize("version", ["v1.5.0", "v1.6.1", "v1.6.99", "v1.7.0"])
def test_a_version_that_we_know_is_supported(version: str) -> None:
    it = world(gateway_class() + definition(version))
    assert status_text.gateway_class(it, "contour") == ["Accepted", "SupportedVersion"]


@pytest.mark.parametrize("version", ["v1.4.1", "v1.8.0", "v2.6.1", "v1.60.0", "odd", "''"])
def test_another_version_is_told_and_served_as_well_as_may_be(version: str) -> None:
    it = world(gateway_class() + definition(version) + gateway("gw"))
    unsupported = "SupportedVersion=False/UnsupportedVersion"
    assert status_text.gateway_class(it, "contour") == ["Accepted", unsupported]
    assert "supported: v1.5, v1.6, v1.7" in status_text.class_messages(it, "contour")[1]
    assert status_text.gateway(it)[:2] == ["Accepted", "Programmed"]


def test_an_installation_that_changes_is_told_at_once() -> None:
    it = world(gateway_class() + definition("v1.4.1"))
    apply(it, definition("v1.6.1"))
    assert status_text.gateway_class(it, "contour") == ["Accepted", "SupportedVersion"]
    apply(it, definition("v1.4.1"))
    delete(it, "CustomResourceDefinition", f"/{NAME}")
    assert status_text.gateway_class(it, "contour") == ["Accepted", "SupportedVersion"]


def test_definitions_of_other_kinds_say_nothing() -> None:
    it = world(gateway_class() + definition("v1.4.1", "gateways.gateway.networking.k8s.io"))
    assert status_text.gateway_class(it, "contour") == ["Accepted", "SupportedVersion"]

"""What may stand in `spec.contour` and in sidecars, beyond the schema."""

from typing import Any

import pytest

from contour_operator import validation
from crds import decode


def complaints(contour: dict[str, Any], **more: Any) -> list[str]:
    """About a configuration with this `spec.contour`."""
    raw = {
        "apiVersion": "projectcontour.io/v1alpha1",
        "kind": "ContourConfiguration",
        "metadata": {"name": "contour", "namespace": "ingress"},
        "spec": {"contour": contour, **more},
    }
    found = decode.decode(raw)
    assert isinstance(found, decode.Decoded)
    assert found.object is not None, found.errors
    return [str(it) for it in validation.complaints(found.object)]


@pytest.mark.parametrize(
    "contour",
    [
        {},
        {"replicas": 0, "watchNamespaces": ["a", "team-1"]},
        {"resources": {"requests": {"cpu": "500m", "memory": "1Gi", "example.com/gpu": "1"}}},
        {"resources": {"requests": {"cpu": ".5"}, "limits": {"cpu": "1e0"}}},
        {"resources": {"requests": {"memory": "1024Ki"}, "limits": {"memory": "1Mi"}}},
        {"placement": {"nodeSelector": {"kubernetes.io/os": "linux", "empty": ""}}},
        {"placement": {"tolerations": [{"operator": "Exists"}]}},
        {"podAnnotations": {"Example.com/Name": "anything, even {{ this }}"}},
    ],
)
def test_what_kubernetes_takes_is_taken(contour: dict[str, Any]) -> None:
    assert complaints(contour) == []


@pytest.mark.parametrize(
    ("contour", "path"),
    [
        ({"watchNamespaces": ["a", "B"]}, "watchNamespaces[1]"),
        ({"watchNamespaces": ["a", "a"]}, "watchNamespaces[0]"),
        ({"watchNamespaces": ["a" * 64]}, "watchNamespaces[0]"),
        ({"resources": {"limits": {"cpu": "lots"}}}, "resources.limits.cpu"),
        ({"resources": {"limits": {"cpu": "-1"}}}, "resources.limits.cpu"),
        ({"resources": {"limits": {"c p u": "1"}}}, "resources.limits.c p u"),
        (
            {"resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "1Gi"}}},
            "resources.requests.memory",
        ),
        ({"placement": {"nodeSelector": {"a": "b c"}}}, "placement.nodeSelector.a"),
        ({"placement": {"tolerations": [{}]}}, "placement.tolerations[0].operator"),
        (
            {"placement": {"tolerations": [{"operator": "Exists", "value": "x"}]}},
            "placement.tolerations[0].value",
        ),
        (
            {"placement": {"tolerations": [{"key": "a", "tolerationSeconds": 1}]}},
            "placement.tolerations[0].effect",
        ),
        ({"podAnnotations": {"a/b/c": ""}}, "podAnnotations.a/b/c"),
    ],
)
def test_what_kubernetes_would_refuse_is_told_with_its_path(
    contour: dict[str, Any], path: str
) -> None:
    assert complaints(contour)[0].startswith(f"spec.contour.{path}: ")


@pytest.mark.parametrize(
    ("sidecar", "path"),
    [
        ({"env": {"LEVEL": "x=y", "a.b-c": ""}}, ""),
        ({"env": {"a=b": ""}}, "env.a=b"),
        ({"env": {"1": ""}}, "env.1"),
        ({"resources": {"limits": {"cpu": "lots"}}}, "resources.limits.cpu"),
    ],
)
def test_a_sidecar_is_checked_too(sidecar: dict[str, Any], path: str) -> None:
    service = {"unix": "/run/extensions/a.sock"}
    entry = {"name": "a", "hooks": {"post": ["VirtualHost"]}, "service": service}
    found = complaints({}, extensions=[entry | {"sidecar": {"image": "a"} | sidecar}])
    assert [it.partition(": ")[0] for it in found] == (
        [f"spec.extensions[0].sidecar.{path}"] if path else []
    )

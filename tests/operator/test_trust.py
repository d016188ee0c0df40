"""Which instances may reach beyond their namespace where no API server asks their authors."""

from functools import partial
from typing import Any

import pytest

from contour_operator import trust
from crds import decode
from provisioning import admission
from tests.operator.operators import Rig
from tests.operator.proxy import Proxy

SIDECAR = {
    "extensions": [
        {
            "name": "tags",
            "hooks": {"post": ["VirtualHost"]},
            "service": {"unix": "/run/extensions/tags.sock"},
            "sidecar": {"image": "tags"},
        }
    ]
}
OUTER = {"type": "ClusterIPService", "gateway": {"controllerName": "example.com/balancer"}}


@pytest.mark.parametrize(
    ("spec", "demands"),
    [
        ({"contour": {"watchNamespaces": ["ingress"]}, "gateway": {"mode": "PerGateway"}}, []),
        ({"contour": {}}, [admission.SECRETS]),
        (
            {"contour": {"watchNamespaces": ["ingress", "a", "b"]}},
            [admission.of_namespace("a"), admission.of_namespace("b")],
        ),
        (
            {
                "contour": {"watchNamespaces": ["ingress"]},
                "envoy": {"networkPublishing": OUTER},
            },
            [admission.CLASSES],
        ),
        ({"contour": {"watchNamespaces": ["ingress"]}, **SIDECAR}, [admission.SIDECARS]),
        (
            {
                "contour": {"watchNamespaces": ["ingress"]},
                "rateLimitFilters": {"service": {"image": "counter"}},
            },
            [admission.IMAGES],
        ),
        (
            {"contour": {"watchNamespaces": ["ingress"]}, "rateLimitFilters": {"service": {}}},
            [],
        ),
    ],
)
def test_what_an_instance_would_hold_beyond_its_namespace(
    spec: dict[str, Any], demands: list[admission.Demand]
) -> None:
    raw = {
        "apiVersion": "projectcontour.io/v1alpha1",
        "kind": "ContourConfiguration",
        "metadata": {"name": "contour", "namespace": "ingress"},
        "spec": spec,
    }
    found = decode.decode(raw)
    assert isinstance(found, decode.Decoded)
    assert found.object is not None, found.errors
    assert [*trust.demands(found.object)] == demands


@pytest.mark.cluster
def test_an_api_server_without_policies_leaves_it_to_the_flag(rig: Rig) -> None:
    proxy = Proxy(rig.cluster)
    proxy.refuse = lambda it: it.path.startswith("/apis/admissionregistration.k8s.io/")
    proxy.refusal = 404
    with proxy.running():
        operator = rig.start(proxy=proxy)
        rig.configure()
        rig.until(lambda: rig.reason() == "NotTrusted")
        message = rig.condition("Provisioned")["message"]
        assert message.startswith(admission.SECRETS.words)
        assert message.endswith(f"--trusted-namespaces={rig.namespace} of the operator")
        assert rig.children() == {}
        assert rig.finalizers() == []
        rig.configure(contour={"watchNamespaces": [rig.namespace]})
        rig.until_provisioned()
        operator.stop()
    # On this one the API server can ask; what the flag says holds all the same.
    rig.operators.clear()
    for trusted, reason in (("", "NotTrusted"), (f"a,{rig.prefix}-*", "Provisioned")):
        operator = rig.start(f"--trusted-namespaces={trusted}")
        rig.configure()
        rig.until(partial(_has_reason, rig, reason))
        operator.stop()
        rig.operators.clear()
    rig.start()
    rig.cluster.delete(rig.configuration())
    rig.until(lambda: rig.is_gone(rig.configuration()))


def _has_reason(rig: Rig, reason: str) -> bool:
    return rig.reason() == reason

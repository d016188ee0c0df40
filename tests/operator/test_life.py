"""An instance from its configuration to its end: made, repaired, changed, removed."""

import base64
from typing import Any

import pytest
from cryptography import x509

from tests.operator.operators import Rig

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]


def test_an_instance_is_made_and_goes_with_its_configuration(operated: Rig) -> None:
    operated.configure()
    operated.until_provisioned()
    found = operated.children()
    kinds = sorted(kind for kind, _, _ in found)
    assert kinds == [
        *("ClusterRoleBinding", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Role"),
        *("RoleBinding", "Secret", "Secret", "Secret", "Service", "ServiceAccount"),
    ]
    assert all(not it["metadata"].get("ownerReferences") for it in found.values())
    secret = found["Secret", operated.namespace, "contourcert"]
    certificate = x509.load_pem_x509_certificate(base64.b64decode(secret["data"]["tls.crt"]))
    assert certificate.subject.rfc4514_string() == "CN=contour"
    stored = operated.cluster.get(operated.configuration())
    assert stored["metadata"]["finalizers"] == ["operator.projectcontour.io/finalizer"]
    assert not stored["metadata"].get("annotations", {}).keys() - {"kubectl.kubernetes.io"}
    operated.cluster.delete(operated.configuration())
    operated.until(lambda: operated.is_gone(operated.configuration()))
    assert operated.children() == {}

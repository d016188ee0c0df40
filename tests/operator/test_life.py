"""An instance from its configuration to its end: made, repaired, changed, removed."""

import base64
from typing import Any

import pytest
from cryptography import x509

from tests.operator.operators import Rig

pytestmark = pytest.mark.cluster

Raw = dict[str, Any]


def test_an_instance_is_made_and_goes_with_its_configuration(rig: Rig) -> None:
    rig.start()
    rig.configure()
    rig.until_provisioned()
    found = rig.children()
    kinds = sorted(kind for kind, _, _ in found)
    assert kinds == [
        *("ClusterRoleBinding", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Role"),
        *("RoleBinding", "Secret", "Secret", "Secret", "Service", "ServiceAccount"),
    ]
    assert all(not it["metadata"].get("ownerReferences") for it in found.values())
    secret = found["Secret", rig.namespace, "contourcert"]
    certificate = x509.load_pem_x509_certificate(base64.b64decode(secret["data"]["tls.crt"]))
    assert certificate.subject.rfc4514_string() == "CN=contour"
    stored = rig.cluster.get(rig.configuration())
    assert stored["metadata"]["finalizers"] == ["operator.projectcontour.io/finalizer"]
    assert not stored["metadata"].get("annotations", {}).keys() - {"kubectl.kubernetes.io"}
    rig.cluster.delete(rig.configuration())
    rig.until(lambda: rig.is_gone(rig.configuration()))
    assert rig.children() == {}

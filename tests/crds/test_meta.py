"""Names on the wire, and identities."""

import pytest

from crds.meta import NamespacedName, ObjectMeta, ObjectRef, wire_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fqdn", "fqdn"),
        ("ingress_class_name", "ingressClassName"),
        ("ip_allow_policy", "ipAllowPolicy"),
        ("hash_source_ip", "hashSourceIP"),
        ("remote_jwks", "remoteJWKS"),
        ("forward_jwt", "forwardJWT"),
        ("default_http_versions", "defaultHTTPVersions"),
        ("max_requests_per_io_cycle", "maxRequestsPerIOCycle"),
        ("upstream_tls", "upstreamTLS"),
        ("enable_x_rate_limit_headers", "enableXRateLimitHeaders"),
    ],
)
def test_an_initialism_keeps_its_capitals_unless_it_leads(name: str, expected: str) -> None:
    assert wire_name(name) == expected


def test_identities_print_as_users_write_them() -> None:
    assert str(NamespacedName("web", "it")) == "web/it"
    assert str(NamespacedName("", "it")) == "it"
    assert str(ObjectRef("Service", "web", "it")) == "Service web/it"
    assert ObjectRef("Service", "web", "it").key == ObjectMeta(name="it", namespace="web").key

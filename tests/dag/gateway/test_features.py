"""What we claim is what the API knows by these names, and every claim has folders that show it."""

import pytest

from dag import tables
from tests.dag.gateway import status_text
from tests.dag.gateway.manifests import configuration, gateway_class
from tests.dag.gateway.test_conformance import NAMES
from tests.dag.gateway.test_crdversions import definition
from tests.dag.world import world

FOLDERS = {
    "GatewayAddressEmpty": "GatewayOptionalAddressValue",
    "GatewayBackendClientCertificate": "GatewayTLSBackendClientCertificate",
    "GatewayHTTPSListenerDetectMisdirectedRequests": "HTTPSListenerDetectMisdirectedRequests",
    "GatewayInfrastructurePropagation": "GatewayInfrastructure",
    "GatewayRouteHostnameIntersectionPrecedence": (
        "RouteMultipleRoutesAttachmentSameHostnameIntersection"
    ),
    "GatewayPort8080": "GatewayWithAttachedRoutesWithPort8080",
    "HTTPRouteBackendRequestHeaderModification": "HTTPRouteRequestHeaderModifierBackendWeights",
    "HTTPRouteBackendTimeout": "HTTPRouteTimeoutBackendRequest",
    "HTTPRouteDestinationPortMatching": "HTTPRouteInvalidParentRefNotMatchingListenerPort",
    "HTTPRouteHostRewrite": "HTTPRouteRewriteHost",
    "HTTPRouteNamedRouteRule": "HTTPRouteNamedRule",
    "HTTPRouteParentRefPort": "HTTPRouteListenerPortMatching",
    "HTTPRoutePathRedirect": "HTTPRouteRedirectPath",
    "HTTPRoutePathRewrite": "HTTPRouteRewritePath",
    "HTTPRoutePortRedirect": "HTTPRouteRedirectPort",
    "HTTPRouteRequestTimeout": "HTTPRouteTimeoutRequest",
    "HTTPRouteResponseHeaderModification": "HTTPRouteResponseHeaderModifier",
    "HTTPRouteRetryBackendTimeout": "HTTPRouteRetryWithTimeouts",
    "HTTPRouteRetryCodes": "HTTPRouteRetry",
    "HTTPRouteSchemeRedirect": "HTTPRouteRedirectScheme",
    "GRPCRouteNamedRouteRule": "GRPCRouteNamedRule",
    "TLSRouteModeMixed": "TLSRouteMixedTerminationSameNamespace",
    "TLSRouteModeTerminate": "TLSRouteTerminateSimpleSameNamespace",
}
"""The folder of a feature whose name is not the beginning of a folder's."""


MANAGED = "envoy: {networkPublishing: {type: ClusterIPService}}"


def claims(version: str, channel: str = "experimental", configured: str = MANAGED) -> set[str]:
    """What a class tells where the CRDs are of this version and channel."""
    crd = definition(version, channel=channel)
    given = configuration(configured) if configured else ""
    found = status_text.features(world(gateway_class() + given + crd), "contour")
    assert list(found) == sorted(set(found))
    assert len(found) <= 64, "the most that the API takes"
    return set(found)


ROUTABILITY = {"GatewayAddressRoutability", "GatewayAddressRoutabilityCluster"}
UNTESTED = {"ClusterTrustBundle", "GatewayListenerFilters"} | ROUTABILITY
"""Of v1.7, experimental: upstream has no test for them."""


@pytest.mark.parametrize("version", ["v1.6.1", "v1.7.0"])
def test_every_claim_has_a_folder(version: str) -> None:
    for feature in claims(version) - UNTESTED:
        name = FOLDERS.get(feature, feature.removesuffix("StatusCode"))
        assert any(name in it for it in NAMES), feature


RETRIES = {"HTTPRouteRetry", "HTTPRouteRetryBackendTimeout", "HTTPRouteRetryConnectionError"}
NEW = {
    "GRPCRouteRequestHeaderModifier",
    "GatewayRouteHostnameIntersectionPrecedence",
    "HTTPRouteBackendURLRewrite",
    "HTTPRouteRetryCodes",
}


def test_features_are_called_as_in_the_release_that_is_installed() -> None:
    older, newer = claims("v1.6.1"), claims("v1.7.0")
    retries = {"HTTPRouteRetry", "HTTPRouteRetryBackendTimeout"}
    assert older - newer == {"GatewayInfrastructurePropagation"} | retries
    assert newer - older == {"GatewayInfrastructure"} | NEW | UNTESTED
    assert claims("v1.5.0") == claims("v1.4.1") == older
    assert claims("v1.8.0") == claims("v2.0.0") == claims("odd") == newer
    without = world(gateway_class() + configuration(MANAGED))
    assert set(status_text.features(without, "contour")) == newer


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("v1.6.1", {"GatewayInfrastructurePropagation", "GatewayStaticAddresses"}),
        ("v1.7.0", {"GatewayInfrastructure", "GatewayStaticAddresses"} | ROUTABILITY),
    ],
)
def test_what_only_those_can_do_who_make_the_envoys_is_claimed_by_nobody_else(
    version: str, expected: set[str]
) -> None:
    assert claims(version) - claims(version, configured="") == expected


@pytest.mark.parametrize(("version", "missing"), [("v1.6.1", RETRIES), ("v1.7.0", UNTESTED)])
def test_what_the_installed_crds_have_no_fields_for_is_not_claimed(
    version: str, missing: set[str]
) -> None:
    assert claims(version) - claims(version, "standard") == missing
    assert claims(version, "standard") <= claims(version)


def test_bundles_of_the_cluster_are_claimed_while_the_api_server_has_them() -> None:
    it = world(gateway_class() + definition("v1.7.0"))
    assert "ClusterTrustBundle" in status_text.features(it, "contour")
    it.write(tables.ABSENT, "ClusterTrustBundle", True)
    it.settle()
    assert "ClusterTrustBundle" not in status_text.features(it, "contour")

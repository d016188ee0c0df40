"""What we claim is what the API knows by these names, and every claim has folders that show it."""

from dag.gateway import features
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
    "HTTPRouteSchemeRedirect": "HTTPRouteRedirectScheme",
    "GRPCRouteNamedRouteRule": "GRPCRouteNamedRule",
    "TLSRouteModeMixed": "TLSRouteMixedTerminationSameNamespace",
    "TLSRouteModeTerminate": "TLSRouteTerminateSimpleSameNamespace",
}
"""The folder of a feature whose name is not the beginning of a folder's."""


def test_every_claim_has_a_folder() -> None:
    for feature in features.SUPPORTED:
        name = FOLDERS.get(feature, feature.removesuffix("StatusCode"))
        assert any(name in it for it in NAMES), feature


def test_a_class_tells_the_claims_sorted_and_at_most_as_many_as_the_api_takes() -> None:
    it = world(
        gateway_class() + configuration("envoy: {networkPublishing: {type: ClusterIPService}}")
    )
    assert list(features.SUPPORTED) == sorted(set(features.SUPPORTED))
    assert len(features.SUPPORTED) <= 64
    assert status_text.features(it, "contour") == features.SUPPORTED


def test_what_only_those_can_do_who_make_the_envoys_is_claimed_by_nobody_else() -> None:
    missing = set(features.SUPPORTED) - set(status_text.features(world(gateway_class()), "contour"))
    assert missing == {"GatewayInfrastructurePropagation", "GatewayStaticAddresses"}


def test_what_the_installed_crds_have_no_fields_for_is_not_claimed() -> None:
    def claims(channel: str) -> set[str]:
        crd = definition("v1.6.1", channel=channel)
        return set(status_text.features(world(gateway_class() + crd), "contour"))

    missing = claims("experimental") - claims("standard")
    retries = {"HTTPRouteRetry", "HTTPRouteRetryBackendTimeout", "HTTPRouteRetryConnectionError"}
    assert missing == retries
    assert claims("experimental") == set(status_text.features(world(gateway_class()), "contour"))

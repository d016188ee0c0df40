"""The supported features of the Gateway API, by the names of its conformance suite.

This is the one list: each GatewayClass of ours has it in its status (`supportedFeatures`), the
conformance run reads it, and a test compares the documents with it. It has a name only if all of
the feature is served. Names are those of the release whose CRDs are installed: v1.7 renamed some.
"""

from typing import NamedTuple

_GATEWAY = {
    "Gateway",
    "GatewayAddressEmpty",
    "GatewayBackendClientCertificate",
    "GatewayFrontendClientCertificateValidation",
    "GatewayFrontendClientCertificateValidationInsecureFallback",
    "GatewayHTTPListenerIsolation",
    "GatewayHTTPSListenerDetectMisdirectedRequests",
    "GatewayPort8080",
    "ListenerSet",
    "ReferenceGrant",
}
_HTTP = {
    "BackendTLSPolicy",
    "BackendTLSPolicySANValidation",
    "HTTPRoute",
    "HTTPRoute303RedirectStatusCode",
    "HTTPRoute307RedirectStatusCode",
    "HTTPRoute308RedirectStatusCode",
    "HTTPRouteBackendProtocolH2C",
    "HTTPRouteBackendProtocolWebSocket",
    "HTTPRouteBackendRequestHeaderModification",
    "HTTPRouteBackendTimeout",
    "HTTPRouteCORS",
    "HTTPRouteDestinationPortMatching",
    "HTTPRouteHostRewrite",
    "HTTPRouteMethodMatching",
    "HTTPRouteNamedRouteRule",
    "HTTPRouteParentRefPort",
    "HTTPRoutePathRedirect",
    "HTTPRoutePathRewrite",
    "HTTPRoutePortRedirect",
    "HTTPRouteQueryParamMatching",
    "HTTPRouteRequestMirror",
    "HTTPRouteRequestMultipleMirrors",
    "HTTPRouteRequestPercentageMirror",
    "HTTPRouteRequestTimeout",
    "HTTPRouteResponseHeaderModification",
    "HTTPRouteSchemeRedirect",
}
_OTHERS = {
    "GRPCRoute",
    "GRPCRouteNamedRouteRule",
    "TCPRoute",
    "TLSRoute",
    "TLSRouteModeMixed",
    "TLSRouteModeTerminate",
    "UDPRoute",
}

_MANAGED = {"GatewayStaticAddresses"}
"""Features of an instance that makes its Envoys."""

_RETRIES_OF_1_6 = {
    "HTTPRouteRetry",
    "HTTPRouteRetryBackendTimeout",
    "HTTPRouteRetryConnectionError",
}
"""The CRDs of the standard channel have no fields for them."""
_MANAGED_OF_1_6 = {"GatewayInfrastructurePropagation"}

_NEW_IN_1_7 = {
    "GRPCRouteRequestHeaderModifier",
    "GatewayRouteHostnameIntersectionPrecedence",
    "HTTPRouteBackendURLRewrite",
    "HTTPRouteRetryCodes",
    "HTTPRouteRetryConnectionError",
}
_EXPERIMENTAL_IN_1_7 = {"ClusterTrustBundle", "GatewayListenerFilters"}
"""The CRDs of the standard channel have no fields for them."""
_MANAGED_OF_1_7 = {"GatewayInfrastructure"}
_MANAGED_EXPERIMENTAL_IN_1_7 = {"GatewayAddressRoutability", "GatewayAddressRoutabilityCluster"}


class Installed(NamedTuple):
    """The facts about an installation on which the list depends."""

    has_names_of_1_7: bool = True
    is_experimental: bool = True
    """Whether the CRDs have the fields of the experimental channel."""
    is_managed: bool = True
    """Whether the instance makes Envoys."""
    absent: frozenset[str] = frozenset()
    """Kinds that the API server does not serve; the features that need them have the same names."""


def claimed(installed: Installed) -> tuple[str, ...]:
    """The features that an instance claims to support, sorted."""
    found = _GATEWAY | _HTTP | _OTHERS
    if installed.has_names_of_1_7:
        found, managed = found | _NEW_IN_1_7, _MANAGED | _MANAGED_OF_1_7
        if installed.is_experimental:
            found, managed = found | _EXPERIMENTAL_IN_1_7, managed | _MANAGED_EXPERIMENTAL_IN_1_7
    else:
        found |= _RETRIES_OF_1_6 if installed.is_experimental else set()
        managed = _MANAGED | _MANAGED_OF_1_6
    found = found | managed if installed.is_managed else found
    return tuple(sorted(found - installed.absent))

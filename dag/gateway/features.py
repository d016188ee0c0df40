"""What we claim to serve of the Gateway API, by the names of its conformance suite (v1.6.1).

The one list: told on each GatewayClass of ours, sorted, as the API demands; read by the conformance
run and held against the documents. A name stands here only when all of it is served.
"""

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
    "HTTPRouteRetry",
    "HTTPRouteRetryBackendTimeout",
    "HTTPRouteRetryConnectionError",
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

_OF_MANAGED_FLEETS = {
    "GatewayInfrastructurePropagation",
    "GatewayStaticAddresses",
}

_OF_THE_EXPERIMENTAL_CHANNEL = {
    "HTTPRouteRetry",
    "HTTPRouteRetryBackendTimeout",
    "HTTPRouteRetryConnectionError",
}
"""The CRDs of the other channel have no fields for them."""

SUPPORTED = tuple(sorted(_GATEWAY | _HTTP | _OTHERS | _OF_MANAGED_FLEETS))


def claimed(*, is_managed: bool, is_experimental: bool = True) -> tuple[str, ...]:
    """What an instance claims that makes Envoys or does not, with CRDs of one channel."""
    absent: set[str] = set()
    absent |= set() if is_managed else _OF_MANAGED_FLEETS
    absent |= set() if is_experimental else _OF_THE_EXPERIMENTAL_CHANNEL
    return tuple(it for it in SUPPORTED if it not in absent)

"""Problems of HTTPProxies, with Contour's types and reasons.

There is one constructor for each problem. A problem that routes, hosts and includes may have gets
its type from the place.
"""

from collections.abc import Iterable

from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import Contour, ErrorType, Own
from dag.problems.shared import Constructor, OfAuthorization, OfSecrets, closing, error

KIND = "HTTPProxy"


def spec(proxy: NamespacedName) -> Place:
    """The specification of an HTTPProxy."""
    return Place(ObjectRef(KIND, *proxy))


# The object as a whole.


def orphaned(place: Place) -> Problem:
    """No root includes it; the message is that of upstream."""
    return Problem(place.subject, ErrorType.Orphaned, Contour.Orphaned, _ORPHANED)


_ORPHANED = "this HTTPProxy is not part of a delegation chain from a root HTTPProxy"


def lost_with_its_roots(place: Place) -> Problem:
    """The roots that include it serve nothing."""
    message = f"{_ORPHANED} that is served: the hosts of those that include it belong to others"
    return Problem(place.subject, ErrorType.Orphaned, Contour.Orphaned, message)


def nothing_defined(place: Place) -> Problem:
    """A root without routes, includes and tcpproxy."""
    return place.error(
        ErrorType.SpecError,
        Contour.NothingDefined,
        "needs at least one of routes, includes and tcpproxy",
    )


def ignored_field(place: Place, why: str = "is not served yet and has no effect") -> Problem:
    """A field without effect."""
    type_ = ErrorType.TCPProxyError if _is_of_stream(place) else ErrorType.SpecError
    return place.warning(type_, Contour.IgnoredField, why)


def unsupported_guard(place: Place) -> Problem:
    """A field that guards something and is not served: what it guards is closed."""
    return place.error(
        ErrorType.SpecError,
        Own.UnsupportedField,
        "is not served yet; what it protects is answered with 503",
    )


def too_many_routes(place: Place, refusal: str) -> Problem:
    """An expansion that was stopped."""
    return place.error(
        ErrorType.IncludeError,
        Own.TooManyRoutes,
        f"the host has {refusal}, with this one's",
    )


# The virtual host.


def fqdn_not_valid(place: Place, fqdn: str, why: str) -> Problem:
    """An invalid name of a host."""
    return place.error(ErrorType.VirtualHostError, Own.FQDNNotValid, f"{fqdn[:60]!r} {why}")


def duplicate_vhost(place: Place, fqdn: str, owner: NamespacedName) -> Problem:
    """A root whose host belongs to another one."""
    text = f"{fqdn} belongs to HTTPProxy {owner}, which takes precedence"
    return place.error(ErrorType.VirtualHostError, Contour.DuplicateVhost, text)


def root_not_allowed(place: Place, namespaces: Iterable[str]) -> Problem:
    """A root outside the root namespaces."""
    text = f"hosts may only be claimed in the namespaces {', '.join(sorted(namespaces))}"
    return place.error(ErrorType.RootNamespaceError, Contour.RootProxyNotAllowedInNamespace, text)


# TLS.

_NOT_OVER_TLS = "; the host is not served over TLS"
_HOST_CLOSED = "; the host is answered with 503, and connections of a tcpproxy are closed"

tls_config_not_valid = error(ErrorType.TLSError, Contour.TLSConfigNotValid)
"""Settings of TLS that contradict one another."""
passthrough_incompatible = closing(
    ErrorType.TLSError, Contour.TLSIncompatibleFeatures, _HOST_CLOSED
)
"""A check of clients that cannot be made, since the backend terminates TLS."""
client_validation_not_valid = closing(
    ErrorType.TLSError, Contour.ClientValidationInvalid, _HOST_CLOSED
)
client_validation_overruled = error(
    ErrorType.TLSError, Contour.ClientValidationInvalid, "; the routes answer 503 over TLS"
)
SECRET = OfSecrets(
    error(ErrorType.TLSError, Contour.SecretNotValid, _NOT_OVER_TLS),
    error(ErrorType.TLSError, Contour.DelegationNotPermitted, _NOT_OVER_TLS),
)
"""The certificate of the host."""
CLIENT_AUTHORITY = OfSecrets(
    client_validation_not_valid,
    closing(ErrorType.TLSError, Contour.DelegationNotPermitted, _HOST_CLOSED),
)
"""The certificates that those of clients are checked against."""

fallback_incompatible = error(ErrorType.TLSError, Contour.TLSIncompatibleFeatures)
fallback_not_present = error(ErrorType.TLSError, Contour.FallbackNotPresent)
fallback_not_delegated = error(ErrorType.TLSError, Contour.FallbackNotDelegated)
fallback_not_valid = error(ErrorType.TLSError, Contour.FallbackNotValid)


# Includes, of routes and of a tcpproxy.


def include_not_found(place: Place, target: NamespacedName, hint: str = "") -> Problem:
    """An include of an HTTPProxy that does not exist, or is not for this controller."""
    text = f"HTTPProxy {target} not found{hint}"
    return place.error(_of_include(place), Contour.IncludeNotFound, text)


def root_includes_root(place: Place, target: NamespacedName) -> Problem:
    """An include of an HTTPProxy that has a virtual host of its own."""
    text = f"HTTPProxy {target} is a root itself"
    return place.error(_of_include(place), Contour.RootIncludesRoot, text)


def include_creates_cycle(place: Place, trail: Iterable[NamespacedName]) -> Problem:
    """An include that leads back; the trail ends where it began."""
    text = f"include creates a cycle: {' -> '.join(map(str, trail))}"
    return place.error(_of_include(place), Contour.IncludeCreatesCycle, text)


def include_too_deep(place: Place, limit: int) -> Problem:
    """A chain of includes that was stopped."""
    text = f"includes are nested more than {limit} deep"
    return place.error(_of_include(place), Own.IncludeTooDeep, text)


def duplicate_include(place: Place, first: int) -> Problem:
    """Two includes that take the same requests."""
    text = f"has the same conditions as includes[{first}] and is not used"
    return place.error(_of_include(place), Contour.DuplicateMatchConditions, text)


def _of_include(place: Place) -> ErrorType:
    return ErrorType.TCPProxyIncludeError if _is_of_stream(place) else ErrorType.IncludeError


def _is_of_stream(place: Place) -> bool:
    return place.path.startswith("spec.tcpproxy")


# Match conditions, of routes and of includes.


def path_conditions_not_valid(place: Place, text: str) -> Problem:
    """Paths that no request can be matched by."""
    return place.error(_of_conditions(place), Contour.PathMatchConditionsNotValid, text)


def header_conditions_not_valid(place: Place, text: str) -> Problem:
    """Headers that no request can be matched by, or expressions that are not clear."""
    return place.error(_of_conditions(place), Contour.HeaderMatchConditionsNotValid, text)


def query_conditions_not_valid(place: Place, text: str) -> Problem:
    """Query parameters that no request can be matched by."""
    return place.error(_of_conditions(place), Contour.QueryParameterMatchConditionsNotValid, text)


def _of_conditions(place: Place) -> ErrorType:
    is_include = place.path.startswith("spec.includes")
    return ErrorType.IncludeError if is_include else ErrorType.RouteError


# Routes.


def duplicate_route(place: Place, winner: Place) -> Problem:
    """Two routes that take the same requests."""
    text = f"has the same conditions as {winner.path} of {winner.subject} and is not used"
    return place.warning(ErrorType.RouteError, Contour.DuplicateMatchConditions, text)


def action_count_not_valid(place: Place) -> Problem:
    """A route that does nothing, or too much."""
    text = "needs exactly one of services, requestRedirectPolicy and directResponsePolicy"
    return place.error(ErrorType.RouteError, Contour.RouteActionCountNotValid, text)


timeout_not_valid = error(ErrorType.RouteError, Contour.TimeoutPolicyNotValid)
retry_not_valid = error(ErrorType.RouteError, Own.RetryPolicyNotValid)
health_check_not_valid = error(ErrorType.RouteError, Contour.HealthCheckPolicyInvalid)
cookie_rewrite_not_valid = error(ErrorType.RouteError, Contour.CookieRewritePoliciesInvalid)
redirect_not_valid = error(ErrorType.RouteError, Contour.RequestRedirectPolicy)
response_not_valid = error(ErrorType.RouteError, Own.DirectResponsePolicy)
request_headers_not_valid = error(ErrorType.RouteError, Contour.RequestHeadersPolicyInvalid)
response_headers_not_valid = error(ErrorType.RouteError, Contour.ResponseHeaderPolicyInvalid)

rewrite_without_prefix = error(ErrorType.PrefixReplaceError, Contour.MustHavePrefix)
ambiguous_replacement = error(ErrorType.PrefixReplaceError, Contour.AmbiguousReplacement)
duplicate_replacement = error(ErrorType.PrefixReplaceError, Contour.DuplicateReplacement)
replacement_not_valid = error(ErrorType.PrefixReplaceError, Own.ReplacementNotValid)


def guarded_route_closed(found: Problem) -> Problem:
    """A guarded route in which something other than its guard is wrong."""
    message = f"{found.message}; the route has a guard, so it is answered with 503"
    return replace(found, message=message, closes=True)


def header_not_set(place: Place, name: str) -> Problem:
    """A header that names the Service, on a route without one."""
    text = f"header {name} tells of a Service; the route has none, so it is removed instead"
    return place.warning(ErrorType.SpecError, Contour.IgnoredField, text)


# Services.


def service_unresolved(place: Place, text: str) -> Problem:
    """A Service that cannot take traffic, of a route or of a tcpproxy."""
    type_ = ErrorType.TCPProxyError if _is_of_stream(place) else ErrorType.ServiceError
    return place.error(type_, Contour.ServiceUnresolvedReference, text)


client_certificate_not_valid = error(ErrorType.TLSError, Contour.SecretNotValid)
"""A Service to which Envoy cannot show the client certificate of the configuration."""
service_request_headers_not_valid = error(
    ErrorType.ServiceError, Contour.RequestHeadersPolicyInvalid
)
service_response_headers_not_valid = error(
    ErrorType.ServiceError, Contour.ResponseHeadersPolicyInvalid
)
slow_start_not_valid = error(ErrorType.ServiceError, Contour.SlowStartInvalid)

_NOT_CHECKED = "; the route is answered with 503"
UPSTREAM = OfSecrets(
    closing(ErrorType.ServiceError, Contour.TLSUpstreamValidation, _NOT_CHECKED),
    closing(ErrorType.TLSError, Contour.CACertificateNotDelegated, _NOT_CHECKED),
)
"""A Service whose certificate cannot be checked, so that nothing is sent to it."""


def endpoints_left_out(place: Place, why: str) -> Problem:
    """The Service has endpoints at addresses that cannot be served."""
    return place.warning(ErrorType.ServiceError, Own.EndpointsLeftOut, why)


# Problems of a tcpproxy.

tls_missing = error(ErrorType.TCPProxyError, Contour.TLSMustBeConfigured)
stream_not_defined = error(ErrorType.TCPProxyError, Contour.NothingDefined)
stream_ambiguous = error(ErrorType.TCPProxyError, Contour.NoServicesAndInclude)


def included_no_stream(place: Place, target: NamespacedName) -> Problem:
    """An include, by a tcpproxy, of an HTTPProxy that has none."""
    text = f"HTTPProxy {target} has no tcpproxy"
    return place.error(ErrorType.TCPProxyIncludeError, Contour.NothingDefined, text)


# Guards: what cannot be built closes what it stands on.

_CLOSED = "; what it guards is answered with 503"


def _guard(type_: ErrorType, reason: Contour | Own) -> Constructor:
    return closing(type_, reason, _CLOSED)


cors_not_valid = _guard(ErrorType.CORSError, Contour.PolicyDidNotParse)
ip_filters_incompatible = _guard(ErrorType.IPFilterError, Contour.IncompatibleIPAddressFilters)
cidr_not_valid = _guard(ErrorType.IPFilterError, Contour.InvalidCIDR)


def rate_limit_not_valid(place: Place, text: str) -> Problem:
    """A limit of a host or of a route."""
    return place.closing(_of_guard(place), Contour.RateLimitPolicyNotValid, text + _CLOSED)


def error_page_not_valid(place: Place, text: str) -> Problem:
    """An error page of a host or of a route."""
    return place.closing(_of_guard(place), Own.ErrorPagesInvalid, text + _CLOSED)


def _of_guard(place: Place) -> ErrorType:
    is_host = place.path.startswith("spec.virtualhost")
    return ErrorType.VirtualHostError if is_host else ErrorType.RouteError


extension_service_not_found = _guard(ErrorType.AuthError, Contour.ExtensionServiceNotFound)
AUTHORIZATION = OfAuthorization(
    not_found=extension_service_not_found,
    version=_guard(ErrorType.AuthError, Contour.AuthBadResourceVersion),
    context=_guard(ErrorType.AuthError, Contour.AuthContextForHTTP),
    timeout=_guard(ErrorType.AuthError, Contour.AuthResponseTimeoutInvalid),
    path_prefix=_guard(ErrorType.AuthError, Own.AuthBadPathPrefix),
    allowed_header=_guard(ErrorType.AuthError, Contour.AuthBadAllowedHeader),
)


def _token(reason: Contour | Own) -> Constructor:
    return _guard(ErrorType.JWTVerificationError, reason)


duplicate_provider = _token(Contour.DuplicateProviderName)
several_default_providers = _token(Contour.MultipleDefaultProvidersSpecified)
provider_not_defined = _token(Contour.JWTProviderNotDefined)
jwt_policy_not_valid = _token(Contour.InvalidJWTVerificationPolicy)
claims_not_valid = _token(Own.ClaimsToHeadersInvalid)
jwks_missing = _token(Contour.JWKSSourceMissing)
local_jwks_not_valid = _token(Contour.LocalJWKSInvalid)
jwks_uri_not_valid = _token(Contour.RemoteJWKSURIInvalid)
jwks_scheme_not_valid = _token(Contour.RemoteJWKSSchemeInvalid)
jwks_port_not_valid = _token(Contour.RemoteJWKSPortInvalid)
jwks_timeout_not_valid = _token(Contour.RemoteJWKSTimeoutInvalid)
jwks_cache_not_valid = _token(Contour.RemoteJWKSCacheDurationInvalid)
jwks_not_fetched = _token(Own.KeysNotFetched)


def jwks_timeout_too_long(place: Place, longest: float) -> Problem:
    """A timeout that is longer than the one for servers of keys."""
    text = f"a request for keys takes {longest:g}s at most, which is used instead"
    return place.warning(ErrorType.JWTVerificationError, Contour.RemoteJWKSTimeoutInvalid, text)


def jwks_not_renewed(place: Place, why: str) -> Problem:
    """A server whose keys are in use, but may be old."""
    text = f"the last key set that was fetched stays in use: {why}"
    return place.warning(ErrorType.JWTVerificationError, Own.KeysNotFetched, text)


JWKS_SERVER = OfSecrets(
    _token(Contour.RemoteJWKSUpstreamValidationInvalid),
    _token(Contour.RemoteJWKSCACertificateNotDelegated),
)
"""A server of keys whose certificate cannot be checked."""


# Guards of a host that cannot be applied to the connections of its tcpproxy.

_NO_CONNECTION = "; connections are closed"

stream_without_tokens = closing(
    ErrorType.JWTVerificationError, Contour.JWTVerificationNotPermitted, _NO_CONNECTION
)
stream_without_authorization = closing(
    ErrorType.AuthError, Contour.AuthNotPermitted, _NO_CONNECTION
)
stream_without_cors = closing(ErrorType.CORSError, Own.CORSNotPermitted, _NO_CONNECTION)
stream_without_size = closing(
    ErrorType.VirtualHostError, Own.MaxRequestBytesNotPermitted, _NO_CONNECTION
)
stream_without_headers = closing(
    ErrorType.VirtualHostError, Contour.RateLimitPolicyNotValid, _NO_CONNECTION
)


def not_enforced(place: Place, text: str) -> Problem:
    """A policy that Envoy does not enforce here."""
    return place.warning(ErrorType.SpecError, Contour.IgnoredField, text)

"""Everything that the author of an HTTPProxy can be told, with upstream's types and reasons.

One constructor per thing. Elsewhere: where in which object (`places`).
"""

from collections.abc import Iterable

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place

KIND = "HTTPProxy"


def spec(proxy: NamespacedName) -> Place:
    """The specification of an HTTPProxy."""
    return Place(ObjectRef(KIND, *proxy))


# The object as a whole.


def orphaned(place: Place) -> Problem:
    """No root reaches it; the message is what upstream's users look for."""
    return Problem(place.subject, "Orphaned", "Orphaned", _ORPHANED)


_ORPHANED = "this HTTPProxy is not part of a delegation chain from a root HTTPProxy"


def lost_with_its_roots(place: Place) -> Problem:
    """Those that reach it serve nothing."""
    message = f"{_ORPHANED} that is served: the hosts of those that include it belong to others"
    return Problem(place.subject, "Orphaned", "Orphaned", message)


def nothing_defined(place: Place) -> Problem:
    """A root without routes, includes and tcpproxy."""
    return place.error(
        "SpecError", "NothingDefined", "needs at least one of routes, includes and tcpproxy"
    )


def ignored_field(place: Place, why: str = "is not served yet and has no effect") -> Problem:
    """A field that changes nothing."""
    return place.warning("SpecError", "IgnoredField", why)


def unsupported_guard(place: Place) -> Problem:
    """A field that guards something and is not served: what it guards is closed."""
    return place.error(
        "SpecError", "UnsupportedField", "is not served yet; what it protects is answered with 503"
    )


def too_many_routes(place: Place, limit: int) -> Problem:
    """An expansion that was stopped."""
    return place.error(
        "IncludeError", "TooManyRoutes", f"the host has more than {limit} routes with this one's"
    )


# The virtual host.


def fqdn_not_valid(place: Place, fqdn: str, why: str) -> Problem:
    """A name that can be no host."""
    return place.error("VirtualHostError", "FQDNNotValid", f"{fqdn[:60]!r} {why}")


def duplicate_vhost(place: Place, fqdn: str, owner: NamespacedName) -> Problem:
    """A root whose host belongs to another one."""
    text = f"{fqdn} belongs to HTTPProxy {owner}, which takes precedence"
    return place.error("VirtualHostError", "DuplicateVhost", text)


def root_not_allowed(place: Place, namespaces: Iterable[str]) -> Problem:
    """A root outside the root namespaces."""
    text = f"hosts may only be claimed in the namespaces {', '.join(sorted(namespaces))}"
    return place.error("RootNamespaceError", "RootProxyNotAllowedInNamespace", text)


# TLS.


def tls_config_not_valid(place: Place, text: str) -> Problem:
    """Settings of TLS that contradict one another."""
    return place.error("TLSError", "TLSConfigNotValid", text)


def delegation_not_permitted(place: Place, secret: NamespacedName) -> Problem:
    """A Secret of another namespace that was not delegated to this one."""
    text = f"Secret {secret} is not delegated to namespace {place.subject.namespace}"
    return place.error("TLSError", "DelegationNotPermitted", text)


def secret_not_valid(place: Place, secret: NamespacedName, why: str) -> Problem:
    """A Secret that cannot serve."""
    text = f"Secret {secret} {why}; the host is not served over TLS"
    return place.error("TLSError", "SecretNotValid", text)


def secret_name_not_valid(place: Place, name: str) -> Problem:
    """A reference that names no Secret."""
    text = f"{name!r} is neither the name of a Secret nor namespace/name"
    return place.error("TLSError", "SecretNotValid", text)


# Includes.


def include_not_found(place: Place, target: NamespacedName) -> Problem:
    """An include of what is not there, or is not for this controller."""
    return place.error("IncludeError", "IncludeNotFound", f"HTTPProxy {target} not found")


def root_includes_root(place: Place, target: NamespacedName) -> Problem:
    """An include of an HTTPProxy that has a virtual host of its own."""
    return place.error("IncludeError", "RootIncludesRoot", f"HTTPProxy {target} is a root itself")


def include_creates_cycle(place: Place, trail: Iterable[NamespacedName]) -> Problem:
    """An include that leads back; the trail ends where it began."""
    text = f"include creates a cycle: {' -> '.join(map(str, trail))}"
    return place.error("IncludeError", "IncludeCreatesCycle", text)


def include_too_deep(place: Place, limit: int) -> Problem:
    """A chain of includes that was stopped."""
    text = f"includes are nested more than {limit} deep"
    return place.error("IncludeError", "IncludeTooDeep", text)


def duplicate_include(place: Place, first: int) -> Problem:
    """Two includes that take the same requests."""
    text = f"has the same conditions as includes[{first}] and is not used"
    return place.error("IncludeError", "DuplicateMatchConditions", text)


# Routes.


def conditions_not_valid(place: Place, type_: str, subject: str, text: str) -> Problem:
    """Conditions that no request can be matched by; the subject is what they are about."""
    return place.error(type_, f"{subject}MatchConditionsNotValid", text)


def duplicate_route(place: Place, winner: Place) -> Problem:
    """Two routes that take the same requests."""
    text = f"has the same conditions as {winner.path} of {winner.subject} and is not used"
    return place.warning("RouteError", "DuplicateMatchConditions", text)


def action_count_not_valid(place: Place) -> Problem:
    """A route that does nothing, or too much."""
    text = "needs exactly one of services, requestRedirectPolicy and directResponsePolicy"
    return place.error("RouteError", "RouteActionCountNotValid", text)


def route_not_valid(place: Place, reason: str, text: str) -> Problem:
    """A policy of a route that cannot be served; the reason names the policy."""
    return place.error("RouteError", reason, text)


def prefix_replace_not_valid(place: Place, reason: str, text: str) -> Problem:
    """Replacements of prefixes that are not clear."""
    return place.error("PrefixReplaceError", reason, text)


def service_unresolved(place: Place, why: str) -> Problem:
    """A Service that cannot take traffic."""
    return place.error("ServiceError", "ServiceUnresolvedReference", why)


def service_not_valid(place: Place, reason: str, text: str) -> Problem:
    """A policy of a Service that cannot be served; the reason names the policy."""
    return place.error("ServiceError", reason, text)


def endpoints_left_out(place: Place, why: str) -> Problem:
    """The Service has endpoints at addresses that cannot be served."""
    return place.warning("ServiceError", "EndpointsLeftOut", why)


def upstream_not_checked(place: Place, text: str, reason: str = "TLSUpstreamValidation") -> Problem:
    """A Service whose certificate cannot be checked, so that nothing is sent to it."""
    type_ = "TLSError" if reason == "CACertificateNotDelegated" else "ServiceError"
    return place.error(type_, reason, f"{text}; answered with 503")


def guard_not_valid(place: Place, type_: str, reason: str, text: str) -> Problem:
    """A guard that cannot be built, so that what it guards is closed."""
    return place.error(type_, reason, f"{text}; what it guards is answered with 503")


def stream_not_guarded(place: Place, type_: str, reason: str, text: str) -> Problem:
    """A guard of a host that cannot stand before the connections of its tcpproxy."""
    return place.error(type_, reason, f"{text}; connections are closed")


def tcp_proxy_not_valid(place: Place, reason: str, text: str) -> Problem:
    """A tcpproxy that cannot be served."""
    return place.error("TCPProxyError", reason, text)


def tcp_include_not_valid(place: Place, reason: str, text: str) -> Problem:
    """An include of a tcpproxy that leads nowhere."""
    return place.error("TCPProxyIncludeError", reason, text)


def tls_features_incompatible(place: Place, text: str) -> Problem:
    """Settings of TLS that cannot be together."""
    return place.error("TLSError", "TLSIncompatibleFeatures", text)


def fallback_not_served(place: Place, reason: str, text: str) -> Problem:
    """A fallback certificate that is wanted and is not there."""
    return place.error("TLSError", reason, text)


def not_enforced(place: Place, text: str) -> Problem:
    """A policy that Envoy does not look at here."""
    return place.warning("SpecError", "IgnoredField", text)


def slow_start_not_valid(place: Place, text: str) -> Problem:
    """A slow start that cannot be."""
    return place.error("ServiceError", "SlowStartInvalid", text)


def header_not_set(place: Place, name: str) -> Problem:
    """A header that tells of a Service, where there is none."""
    text = f"header {name} tells of a Service; the route has none, so it is removed instead"
    return place.warning("SpecError", "IgnoredField", text)

"""Problems of the listeners of Gateways and ListenerSets.

The type of a problem is the condition that reports it; the reasons are those of the Gateway API
(v1.6.1, "ListenerConditionReason"). Elsewhere: Gateways, routes and policies (`gateway`), guards
that are not served (`unguarded`).
"""

from collections.abc import Iterable

from crds.meta import NamespacedName
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Gateway
from dag.problems.shared import error


def protocol_not_supported(listener: Place, protocol: str) -> Problem:
    why = f"{protocol} is not supported; use HTTP, HTTPS, TLS, TCP or UDP"
    return listener.at("protocol").error(ConditionType.Accepted, Gateway.UnsupportedProtocol, why)


listener_value_not_supported = error(ConditionType.Accepted, Gateway.UnsupportedValue)


def protocol_conflict(listener: Place, port: int, others: Iterable[str]) -> Problem:
    why = f"port {port} is used with another protocol by {_others(others)}"
    return listener.at("protocol").error(ConditionType.Conflicted, Gateway.ProtocolConflict, why)


def port_of_settings(listener: Place, port: int) -> Problem:
    why = (
        f"port {port} is used with another protocol by Ingress and HTTPProxy"
        " (spec.envoy.externalPorts of the ContourConfiguration)"
    )
    return listener.at("protocol").error(ConditionType.Conflicted, Gateway.ProtocolConflict, why)


def hostname_conflict(listener: Place, others: Iterable[str]) -> Problem:
    why = f"has the same port and hostname as {_others(others)}"
    return listener.at("hostname").error(ConditionType.Conflicted, Gateway.HostnameConflict, why)


def kinds_not_supported(listener: Place, kinds: Iterable[str]) -> Problem:
    """Some kinds of routes are not supported; the others are served."""
    why = f"not supported by this protocol: {', '.join(kinds)}"
    place = listener.at("allowedRoutes").at("kinds")
    return place.error(ConditionType.ResolvedRefs, Gateway.InvalidRouteKinds, why)


certificate_not_valid = error(ConditionType.ResolvedRefs, Gateway.InvalidCertificateRef)


def certificate_not_permitted(reference: Place, secret: NamespacedName) -> Problem:
    why = f"no ReferenceGrant in namespace {secret.namespace} permits Secret {secret}"
    return reference.error(ConditionType.ResolvedRefs, Gateway.RefNotPermitted, why)


def hostnames_overlap(listener: Place, others: Iterable[str]) -> Problem:
    why = f"overlaps with {_others(others)}; clients may reuse connections across them"
    place = listener.at("hostname")
    return place.warning(ConditionType.OverlappingTLSConfig, Gateway.OverlappingHostnames, why)


def certificate_without_use(field: Place) -> Problem:
    why = "has no effect, because TLS is passed through"
    return field.warning(ConditionType.Accepted, Gateway.Accepted, why)


def option_not_known(field: Place, name: str) -> Problem:
    return field.warning(
        ConditionType.Accepted, Gateway.Accepted, f"{name} is not known and has no effect"
    )


def no_valid_authority(field: Place) -> Problem:
    return field.error(
        ConditionType.Accepted,
        Gateway.NoValidCACertificate,
        "there is no valid CA certificate",
    )


authority_kind_not_supported = error(ConditionType.ResolvedRefs, Gateway.InvalidCACertificateKind)


def authority_not_permitted(field: Place, kind: str, key: NamespacedName) -> Problem:
    why = f"no ReferenceGrant in namespace {key.namespace} permits {kind} {key}"
    return field.error(ConditionType.ResolvedRefs, Gateway.RefNotPermitted, why)


authority_not_valid = error(ConditionType.ResolvedRefs, Gateway.InvalidCACertificateRef)


def _others(names: Iterable[str]) -> str:
    """Names the other listeners of the same object; those of other objects are not disclosed."""
    return ", ".join(names) or "a listener of another object of the Gateway"

"""What owners of GatewayClasses, Gateways and HTTPRoutes can be told.

The type of a problem is the condition that it is told in; the reasons are those of the Gateway
API (v1.6.1), but for Contour's `OlderGatewayClassExists` and `OlderGatewayExists`. A warning
leaves its condition as it is and gives only reason and message. Elsewhere: where in which object
(`places`).
"""

from collections.abc import Iterable
from typing import Literal

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place


def gateway_class(key: NamespacedName) -> Place:
    """The specification of a GatewayClass."""
    return Place(ObjectRef("GatewayClass", *key))


def gateway(key: NamespacedName) -> Place:
    """The specification of a Gateway."""
    return Place(ObjectRef("Gateway", *key))


def route(kind: str, key: NamespacedName) -> Place:
    """The specification of a route."""
    return Place(ObjectRef(kind, *key))


def not_served_yet(field: Place) -> Problem:
    """A field that changes nothing."""
    return field.warning("Accepted", "Accepted", "is not served yet and has no effect")


# GatewayClasses and Gateways.


def older_class_exists(class_: Place, winner: NamespacedName) -> Problem:
    message = f"the older GatewayClass {winner} names the same controller and is served instead"
    return Problem(class_.subject, "Accepted", "OlderGatewayClassExists", message)


def older_gateway_exists(owner: Place, winner: NamespacedName) -> Problem:
    message = f"the older Gateway {winner} of the same class is served instead"
    return Problem(owner.subject, "Accepted", "OlderGatewayExists", message)


def parameters_not_known(field: Place, kind: str) -> Problem:
    return field.error("Accepted", "InvalidParameters", f"parameters of kind {kind} are not known")


def no_listener_valid(owner: Place) -> Problem:
    message = "no listener can be served"
    return Problem(owner.subject, "Accepted", "ListenersNotValid", message)


def some_listeners_not_valid(owner: Place, names: Iterable[str]) -> Problem:
    message = f"listeners that cannot be served: {_listed(names)}"
    return Problem(owner.subject, "Accepted", "ListenersNotValid", message, "warning")


def listeners_not_resolved(owner: Place, names: Iterable[str]) -> Problem:
    message = f"listeners with references that lead nowhere: {_listed(names)}"
    return Problem(owner.subject, "ResolvedRefs", "ListenersNotResolved", message)


def not_programmed(thing: Place) -> Problem:
    """A Gateway or listener of which Envoy is told nothing; why stands in its other conditions."""
    return Problem(thing.subject, "Programmed", "Invalid", "Envoy is not told of it")


# Listeners.


def protocol_not_supported(listener: Place, protocol: str) -> Problem:
    why = f"{protocol} is not served; HTTP and HTTPS are"
    return listener.at("protocol").error("Accepted", "UnsupportedProtocol", why)


def listener_value_not_supported(field: Place, why: str) -> Problem:
    return field.error("Accepted", "UnsupportedValue", why)


def protocol_conflict(listener: Place, port: int, others: Iterable[str]) -> Problem:
    why = f"port {port} cannot carry both TLS and plain HTTP; conflicts with {_listed(others)}"
    return listener.at("protocol").error("Conflicted", "ProtocolConflict", why)


def hostname_conflict(listener: Place, others: Iterable[str]) -> Problem:
    why = f"the same port and host as {_listed(others)}"
    return listener.at("hostname").error("Conflicted", "HostnameConflict", why)


def kinds_not_supported(listener: Place, kinds: Iterable[str]) -> Problem:
    """The kinds that are left over are served."""
    why = f"not served on this protocol: {_listed(kinds)}"
    place = listener.at("allowedRoutes").at("kinds")
    return place.error("ResolvedRefs", "InvalidRouteKinds", why)


def certificate_not_valid(reference: Place, why: str) -> Problem:
    return reference.error("ResolvedRefs", "InvalidCertificateRef", why)


def certificate_not_permitted(reference: Place, secret: NamespacedName) -> Problem:
    why = f"no ReferenceGrant in namespace {secret.namespace} permits Secret {secret}"
    return reference.error("ResolvedRefs", "RefNotPermitted", why)


def hostnames_overlap(listener: Place, others: Iterable[str]) -> Problem:
    why = f"has names in common with {_listed(others)}; clients may share connections for them"
    place = listener.at("hostname")
    return place.warning("OverlappingTLSConfig", "OverlappingHostnames", why)


def stops_a_listener(found: Problem) -> bool:
    """Whether a listener with this problem cannot be served at all."""
    return found.severity == "error" and found.reason != "InvalidRouteKinds"


# Routes.


def gateway_waits(owner: Place, gateway: NamespacedName) -> Problem:
    message = f"Gateway {gateway} is not served: an older one of its class is"
    return Problem(owner.subject, "Accepted", "NoMatchingParent", message)


def no_matching_parent(owner: Place, gateway: NamespacedName) -> Problem:
    message = f"no listener of Gateway {gateway} has this sectionName and port"
    return Problem(owner.subject, "Accepted", "NoMatchingParent", message)


def not_allowed_by_listeners(owner: Place, gateway: NamespacedName) -> Problem:
    kind, namespace, _ = owner.subject
    message = f"no listener of Gateway {gateway} takes a {kind} of namespace {namespace}"
    return Problem(owner.subject, "Accepted", "NotAllowedByListeners", message)


def no_matching_listener_hostname(owner: Place, gateway: NamespacedName) -> Problem:
    why = f"none is a host of a listener of Gateway {gateway}"
    return owner.at("hostnames").error("Accepted", "NoMatchingListenerHostname", why)


DROPPED = "PartiallyInvalid"
DROPPED_RULE = "Dropped Rule: "
"""How the message of this condition has to begin, since the API has one reason for two cases."""


def rule_dropped(field: Place, why: str) -> Problem:
    """A rule that cannot be served as it is written."""
    return field.error(DROPPED, "UnsupportedValue", why)


def drops_a_rule(found: object) -> bool:
    """Whether this is the news of a rule that is not served as it is written."""
    return isinstance(found, Problem) and found.type == DROPPED


def no_rule_left(dropped: Problem) -> Problem:
    """A reason why a rule is dropped, where that leaves none."""
    return Problem(dropped.subject, "Accepted", dropped.reason, dropped.message)


BackendReason = Literal["RefNotPermitted", "InvalidKind", "BackendNotFound", "UnsupportedProtocol"]


def backend_not_resolved(reference: Place, reason: BackendReason, why: str) -> Problem:
    return reference.error("ResolvedRefs", reason, why)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)

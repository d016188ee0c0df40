"""Problems of Gateways, routes and policies of the Gateway API.

The type of a problem is the condition that reports it; the reasons are those of the Gateway API
(v1.6.1), except for Contour's `OlderGatewayClassExists` and `OlderGatewayExists`. A warning leaves
the status of its condition as it is and gives only reason and message. Elsewhere: the places of
problems (`places`), problems of listeners (`listeners`).
"""

from collections.abc import Iterable, Sequence

from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Contour, Gateway, Own
from dag.problems.shared import error


def gateway_class(key: NamespacedName) -> Place:
    """The specification of a GatewayClass."""
    return Place(ObjectRef("GatewayClass", *key))


def gateway(key: NamespacedName) -> Place:
    """The specification of a Gateway."""
    return Place(ObjectRef("Gateway", *key))


def listener_set(key: NamespacedName) -> Place:
    """The specification of a ListenerSet."""
    return Place(ObjectRef("ListenerSet", *key))


def route(ref: ObjectRef) -> Place:
    """The specification of a route."""
    return Place(ref)


def annotation(ref: ObjectRef, name: str) -> Place:
    """An annotation of an object."""
    return Place(ref, f"metadata.annotations[{name}]")


def not_served_yet(field: Place) -> Problem:
    """A field without effect."""
    return field.warning(
        ConditionType.Accepted, Gateway.Accepted, "is not served yet and has no effect"
    )


def value_without_effect(field: Place, why: str) -> Problem:
    """A value of a later version of the API, in a field that opens nothing."""
    return field.warning(ConditionType.Accepted, Gateway.Accepted, f"{why}; it has no effect")


# GatewayClasses and Gateways.


def older_class_exists(owner: Place, winner: NamespacedName) -> Problem:
    message = f"the older GatewayClass {winner} names the same controller and is served instead"
    return Problem(owner.subject, ConditionType.Accepted, Contour.OlderGatewayClassExists, message)


def class_stays(class_: Place) -> Problem:
    message = "the GatewayClass is being deleted; it stays while Gateways use it"
    return Problem(class_.subject, ConditionType.Accepted, Gateway.Accepted, message, "warning")


def older_gateway_exists(owner: Place, winner: NamespacedName) -> Problem:
    message = f"the older Gateway {winner} of the same class is served instead"
    return Problem(owner.subject, ConditionType.Accepted, Contour.OlderGatewayExists, message)


def parameters_not_known(field: Place, kind: str) -> Problem:
    return field.error(
        ConditionType.Accepted,
        Gateway.InvalidParameters,
        f"kind {kind} is not supported; use ContourConfiguration or EnvoyProxy",
    )


def parameters_without_namespace(field: Place) -> Problem:
    why = "a ContourConfiguration is namespaced, so namespace must be set"
    return field.error(ConditionType.Accepted, Gateway.InvalidParameters, why)


def parameters_not_found(field: Place, ref: ObjectRef) -> Problem:
    why = f"{ref} not found"
    return field.error(ConditionType.Accepted, Gateway.InvalidParameters, why)


def parameters_not_valid(field: Place, ref: ObjectRef, why: Iterable[str]) -> Problem:
    text = f"{ref} cannot be used: {'; '.join(why)}"
    return field.error(ConditionType.Accepted, Gateway.InvalidParameters, text)


def parameters_of_class(owner: Place, key: NamespacedName) -> Problem:
    message = f"the parameters of GatewayClass {key} cannot be used; its status says why"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.InvalidParameters, message)


def parameters_not_taken(field: Place, ref: ObjectRef, why: str) -> Problem:
    """Parameters whose newest version is not valid; the last valid version stays in force."""
    text = f"the newest version of {ref} cannot be used, and the last valid one holds: {why}"
    return field.error(ConditionType.Accepted, Gateway.InvalidParameters, text)


def parameters_of_older_group(field: Place, group: str) -> Problem:
    why = f"{group} is the new name of this group"
    return field.at("group").warning(ConditionType.Accepted, Gateway.Accepted, why)


def parameters_share(field: Place) -> Problem:
    """An EnvoyProxy without effect, because Gateways have no Envoys of their own."""
    why = "has no effect in mode Single, where Gateways share the Envoys of the instance"
    return field.warning(ConditionType.Accepted, Gateway.Accepted, why)


def parameters_hold(field: Place, mode: str) -> Problem:
    """Which fields of a ContourConfiguration apply when it is used as parameters."""
    why = (
        "only envoy.networkPublishing and envoy.workload apply, to the Envoys of each Gateway"
        if mode == "PerGateway"
        else "has no effect in mode Single, where Gateways share the Envoys of the instance"
    )
    return field.warning(ConditionType.Accepted, Gateway.Accepted, why)


def infrastructure_not_made(field: Place) -> Problem:
    why = "has no effect: this instance does not create the Envoys"
    return field.warning(ConditionType.Accepted, Gateway.Accepted, why)


def version_not_supported(owner: Place, found: str, supported: Iterable[str]) -> Problem:
    message = f"the CRDs have bundle version {found}; supported: {listed(supported)}"
    return Problem(
        owner.subject, ConditionType.SupportedVersion, Gateway.UnsupportedVersion, message
    )


def client_certificate(found: Problem) -> Problem:
    """What is wrong with the certificate that is shown to backends."""
    if found.reason is Gateway.RefNotPermitted:
        return found
    return replace(found, reason=Gateway.InvalidClientCertificateRef)


def no_listener_valid(owner: Place) -> Problem:
    reason = Gateway.ListenersNotValid
    return Problem(owner.subject, ConditionType.Accepted, reason, _NO_LISTENER)


def some_listeners_not_valid(owner: Place, names: Iterable[str]) -> Problem:
    message = f"listeners that cannot be served: {listed(names)}"
    return Problem(
        owner.subject, ConditionType.Accepted, Gateway.ListenersNotValid, message, "warning"
    )


def listeners_not_resolved(owner: Place, names: Iterable[str]) -> Problem:
    message = f"{_UNRESOLVED}{listed(names)}"
    return Problem(owner.subject, ConditionType.ResolvedRefs, Gateway.ListenersNotResolved, message)


def not_programmed(thing: Place) -> Problem:
    """A Gateway or listener that Envoy does not get; its other conditions say why."""
    return Problem(thing.subject, ConditionType.Programmed, Gateway.Invalid, _NOT_PROGRAMMED)


_NO_LISTENER = "no listener can be served"
_UNRESOLVED = "listeners with unresolved references: "
_NOT_PROGRAMMED = "not configured in Envoy; the other conditions give the reason"


def is_consequence(message: str) -> bool:
    """Whether a message only says that other conditions are bad; not if it says more beside."""
    is_of_listeners = message.startswith(_UNRESOLVED) and ";" not in message
    return is_of_listeners or message in (_NO_LISTENER, _NOT_PROGRAMMED)


def no_envoy(owner: Place, why: str) -> Problem:
    """A Gateway without Envoys; `why` no fleet is made for it, if that is so."""
    message = "; ".join(it for it in ("no Envoy is connected", why) if it)
    return Problem(owner.subject, ConditionType.Programmed, Gateway.NoResources, message)


def not_accepted_yet(owner: Place, names: Iterable[str]) -> Problem:
    """A Gateway with listeners that some Envoy has not accepted yet."""
    message = f"Envoy has not accepted {listed(names)} yet"
    return Problem(owner.subject, ConditionType.Programmed, Gateway.Pending, message)


def listener_waits(holder: Place, why: str) -> Problem:
    """Listeners that could be served, and are not yet."""
    return Problem(holder.subject, ConditionType.Programmed, Gateway.Pending, why)


# ListenerSets.


def parent_not_accepted(owner: Place, gateway: NamespacedName) -> Problem:
    message = f"Gateway {gateway} is not served"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.ParentNotAccepted, message)


def set_not_allowed(owner: Place, gateway: NamespacedName) -> Problem:
    message = f"Gateway {gateway} allows no ListenerSets from namespace {owner.subject.namespace}"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.NotAllowed, message)


# Routes.


def gateway_waits(owner: Place, gateway: NamespacedName) -> Problem:
    message = f"Gateway {gateway} is not served, because an older Gateway of its class is"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.NoMatchingParent, message)


def listener_set_waits(owner: Place, key: NamespacedName) -> Problem:
    message = f"ListenerSet {key} is not served; its status says why"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.NoMatchingParent, message)


def no_matching_parent(owner: Place, holder: ObjectRef) -> Problem:
    message = f"no listener of {holder} has this sectionName and port"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.NoMatchingParent, message)


def not_allowed_by_listeners(owner: Place, holder: ObjectRef) -> Problem:
    kind, namespace, _ = owner.subject
    message = (
        f"no listener of {holder} allows routes of kind {kind} from namespace {namespace} "
        "(see allowedRoutes.namespaces of the listeners)"
    )
    return Problem(owner.subject, ConditionType.Accepted, Gateway.NotAllowedByListeners, message)


def kind_not_taken(owner: Place, holder: ObjectRef, taken: Sequence[str]) -> Problem:
    """`taken` are the kinds of routes that the listeners take."""
    what = f" of kind {owner.subject.kind}, only {listed(taken)}" if taken else ""
    message = (
        f"no listener of {holder} takes routes{what} "
        "(see protocol and allowedRoutes.kinds of the listeners)"
    )
    return Problem(owner.subject, ConditionType.Accepted, Gateway.NotAllowedByListeners, message)


def route_of_other_namespace(owner: Place, service: ObjectRef) -> Problem:
    """A route for calls to a Service, from elsewhere."""
    message = f"only routes in its own namespace shape calls to {service}"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.NotAllowedByListeners, message)


def no_matching_port(owner: Place, service: ObjectRef) -> Problem:
    message = f"{service} has no TCP port of this number and name"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.NoMatchingParent, message)


def no_matching_listener_hostname(
    owner: Place, holder: ObjectRef, served: Sequence[str], refused: str
) -> Problem:
    """`served` are the hostnames of the listeners that would take the route; `refused` says why one
    of the route is no host name."""
    shown = ", ".join(served[:_HOSTS]) + (", …" if len(served) > _HOSTS else "")
    why = f"none matches the hostname of a listener of {holder}, which has {shown}{refused}"
    return owner.at("hostnames").error(
        ConditionType.Accepted, Gateway.NoMatchingListenerHostname, why
    )


_HOSTS = 4
"""The most hostnames that are named in a message."""


DROPPED = ConditionType.PartiallyInvalid
DROPPED_RULE = "Dropped Rule: "
"""How the message of this condition has to begin, since the API has one reason for two cases."""


FALL_BACK = "Fall Back: "
"""The other beginning: the last accepted version is served."""


def fallen_back(found: Problem) -> Problem:
    """A route of which Envoy or the provider refuses the newest version."""
    return replace(found, type=DROPPED, reason=Gateway.UnsupportedValue)


rule_dropped = error(DROPPED, Gateway.UnsupportedValue)
"""A rule that cannot be served as it is written."""

filter_not_found = error(ConditionType.ResolvedRefs, Gateway.BackendNotFound)
filter_not_valid = error(ConditionType.ResolvedRefs, Gateway.UnsupportedValue)
"""A filter that is an object of its own, and cannot be built; its rule is dropped, too."""


def extension_object_not_found(reference: Place, ref: ObjectRef, fault: str | None) -> Problem:
    """An object of an extension's kind; the fault is why no object of the kind can be read."""
    return filter_not_found(reference, f"{ref} not found" + (f": {fault}" if fault else ""))


def filter_remark(reference: Place, text: str) -> Problem:
    """A remark on a filter that is served."""
    return reference.warning(ConditionType.ResolvedRefs, Gateway.ResolvedRefs, text)


def filter_kind_not_served(reference: Place, kind: tuple[str, str]) -> Problem:
    """A kind of filter, by group and name, that no module resolves."""
    why = f"{kind[1]} of {kind[0] or 'the core group'} is no kind of filter that is served"
    return rule_dropped(reference, why)


def dropped_by_filter(found: Problem) -> Problem:
    """The rule of a filter that cannot be resolved: to leave out the filter would open the rule."""
    return replace(found, type=DROPPED, reason=Gateway.UnsupportedValue)


def rule_never_reached(rule: Place) -> Problem:
    return rule.warning(
        ConditionType.Accepted,
        Gateway.Accepted,
        "never matches: the first rule matches every request",
    )


_MOST_WINNERS = 4
"""The most routes that are named in one message; of others it has the number."""


def matches_taken(own: ObjectRef, examples: Sequence[str], count: int | None) -> Problem:
    """Other routes take matches of a route; `examples` says for each of them which one.

    `count` is the number of lost matches (on each host they count again); None: all of them, so
    that no request reaches the route. The reasons are those of Contour.
    """
    told = list(examples[:_MOST_WINNERS])
    if len(examples) > len(told):
        told.append(f"{len(examples) - len(told)} more routes take others")
    if count is None:
        reason, what = Contour.RuleMatchConflict, "no request reaches this route"
    else:
        times = "1 match is" if count == 1 else f"{count} matches are"
        reason, what = (
            Contour.RuleMatchPartiallyConflict,
            f"{times} taken by routes that come first",
        )
    return Problem(own, DROPPED, reason, f"{what}: {'; '.join(told)}")


def certificate_not_wanted(field: Place) -> Problem:
    why = "has no effect: no listener of the route allows certificates of routes"
    return field.warning(ConditionType.Accepted, Gateway.Accepted, why)


def certificate_of_older_route(field: Place, host: str) -> Problem:
    why = f"an older route has another certificate for {host}"
    return field.warning(ConditionType.Accepted, Gateway.Accepted, why)


def certificate_missing(owner: Place, host: str) -> Problem:
    message = f"neither the listener nor a route has a certificate for {host}"
    return Problem(owner.subject, ConditionType.ResolvedRefs, Own.CertificateMissing, message)


def drops_a_rule(found: object) -> bool:
    """Whether the problem says that a rule is not served as it is written."""
    return isinstance(found, Problem) and found.type == DROPPED


def no_rule_left(dropped: Problem) -> Problem:
    """The same problem for a route of which no rule is left."""
    return Problem(dropped.subject, ConditionType.Accepted, dropped.reason, dropped.message)


def backend_not_trusted(reference: Place, why: str) -> Problem:
    """Its share is refused; that the policy is wrong is told on the policy. Where a TLSRoute passes
    the TLS of clients on, the policy does not apply."""
    if reference.subject.kind == "TLSRoute":
        why = f"{why}; where TLS ends at the listener, its connections are closed"
    return reference.warning(ConditionType.ResolvedRefs, Gateway.ResolvedRefs, why)


def endpoints_left_out(reference: Place, why: str) -> Problem:
    """The Service has endpoints at addresses that cannot be served."""
    return reference.warning(ConditionType.Accepted, Gateway.Accepted, why)


backend_kind_not_supported = error(ConditionType.ResolvedRefs, Gateway.InvalidKind)
backend_not_permitted = error(ConditionType.ResolvedRefs, Gateway.RefNotPermitted)
backend_not_found = error(ConditionType.ResolvedRefs, Gateway.BackendNotFound)
backend_protocol_not_supported = error(ConditionType.ResolvedRefs, Gateway.UnsupportedProtocol)


def listed(names: Iterable[str]) -> str:
    return ", ".join(names)

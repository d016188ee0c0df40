"""Problems of policies, and those reported elsewhere because a status has no room."""

from typing import Literal

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Gateway
from dag.problems.shared import error


def policy(key: NamespacedName) -> Place:
    """The specification of a BackendTLSPolicy."""
    return Place(ObjectRef("BackendTLSPolicy", *key))


def attached(kind: str, key: NamespacedName) -> Place:
    """The specification of a policy of any kind."""
    return Place(ObjectRef(kind, *key))


def policy_conflicts(owner: Place, winner: NamespacedName) -> Problem:
    message = f"the older BackendTLSPolicy {winner} holds for the same target"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.Conflicted, message)


policy_target_not_found = error(ConditionType.Accepted, Gateway.TargetNotFound)


def policy_target_lacks(field: Place, why: str) -> Problem:
    """An invalid target of a policy that has others."""
    return field.warning(ConditionType.Accepted, Gateway.TargetNotFound, why)


def attached_conflicts(
    owner: Place, winner: NamespacedName, target: str, *, is_error: bool
) -> Problem:
    """Another policy of the kind applies to a target."""
    message = f"the older {owner.subject.kind} {winner} applies to {target}"
    return Problem(
        owner.subject,
        ConditionType.Accepted,
        Gateway.Conflicted,
        message,
        "error" if is_error else "warning",
    )


def overridden(owner: Place, target: str, names: tuple[str, ...]) -> Problem:
    """More specific policies apply on parts of a target; without names, they are many."""
    who = ", ".join(names) if names else "many more specific ones"
    message = f"for parts of {target}, policies hold instead that are more specific: {who}"
    return Problem(owner.subject, ConditionType.Overridden, Gateway.Overridden, message, "warning")


def merged_with(owner: Place, names: tuple[str, ...]) -> Problem:
    """A policy of a route that is merged with those of its listeners."""
    message = f"merged with {', '.join(names)}"
    return Problem(owner.subject, ConditionType.Merged, Gateway.Merged, message, "warning")


def merged_into(owner: Place, target: str, names: tuple[str, ...]) -> Problem:
    """More specific policies are merged with it on parts of a target; no names: many are."""
    who = ", ".join(names) if names else "many more specific ones"
    message = f"for parts of {target}, policies are merged with it that are more specific: {who}"
    return Problem(owner.subject, ConditionType.Merged, Gateway.Merged, message, "warning")


def rule_not_served(owner: Place, rule: Place, *, is_error: bool) -> Problem:
    """A rule that a policy is for; it is an error if the policy is for nothing else."""
    message = (
        f"{rule.path} of {rule.subject} is not served as it is written, so the policy has no effect"
        " there; the status of the route says why"
    )
    return Problem(
        owner.subject,
        ConditionType.Accepted,
        Gateway.TargetNotFound,
        message,
        "error" if is_error else "warning",
    )


def no_effect_on_streams(owner: Place, fields: tuple[str, ...], kinds: str) -> Problem:
    """Fields about requests, of a policy that is for routes without requests, too."""
    paths = ", ".join(owner.at(it).path for it in fields)
    message = f"{paths}: has no effect on {kinds}, whose connections have no requests"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.Accepted, message, "warning")


def no_effect_on_datagrams(owner: Place, fields: tuple[str, ...]) -> Problem:
    """Fields about TCP, of a policy that is for UDPRoutes, too."""
    paths = ", ".join(owner.at(it).path for it in fields)
    message = f"{paths}: has no effect on UDPRoutes, whose backends get packets of UDP"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.Accepted, message, "warning")


def policy_closes_streams(owner: Place, kinds: str) -> Problem:
    """A policy that is to guard streams, for which no guard is served."""
    why = f"is not served for streams, so all connections of its {kinds} are closed"
    return owner.error(ConditionType.Accepted, Gateway.Invalid, why)


def authorization_closes_streams(field: Place, kinds: str) -> Problem:
    """A policy of a Gateway that says who may connect, which is not served for streams."""
    why = f"is not served for streams, so all connections of {kinds} are closed"
    return policy_remark(field, why)


def not_asked_by_grpc(field: Place, backends: str) -> Problem:
    """A check by gRPC of backends that do not speak HTTP/2."""
    why = f"has no effect on {backends}: only backends that speak HTTP/2 can be checked by gRPC"
    return policy_remark(field, why)


policy_closes = error(
    ConditionType.Accepted, Gateway.Invalid, ", so its routes answer 500, those for gRPC 503"
)
"""A guard of a policy cannot be built, and must not be left out."""


policy_closes_listeners = error(
    ConditionType.Accepted,
    Gateway.Invalid,
    ", so its listeners answer 503 for routes of the Gateway API, and close streams",
)
"""What a policy demands of clients cannot be served, and must not be left out."""


def port_is_shared(owner: Place, port: str, why: str, *, is_error: bool) -> Problem:
    """A port on which a policy does not hold for the settings that all hosts of the port share."""
    message = f"does not hold for what all hosts of port {port} share: {why}"
    severity: Literal["error", "warning"] = "error" if is_error else "warning"
    return Problem(owner.subject, ConditionType.Accepted, Gateway.Conflicted, message, severity)


def merging_has_no_effect(owner: Place, target: str) -> Problem:
    """`mergeType` of a policy whose target has no other policy above it."""
    why = f"has no effect on {target}: policies of routes and rules are merged, no others"
    at = owner.at("mergeType")
    return policy_remark(at, why)


def no_http3_for_unknown_names(field: Place, port: str) -> Problem:
    """HTTP/3 on a port with routes for the host `*`."""
    why = f"has no effect on port {port} for hosts that neither a listener nor a route names"
    return policy_remark(field, why)


def policy_unread(owner: Place) -> Problem:
    """A policy with errors, of which no good version was ever seen."""
    return policy_closes(owner, "cannot be read")


def policy_remark(field: Place, text: str) -> Problem:
    """A remark on a part of a policy or route that is served."""
    return field.warning(ConditionType.Accepted, Gateway.Accepted, text)


def closed_by_policy(route: Place, policy: ObjectRef) -> Problem:
    """A rule whose policy cannot be served; the policy says why."""
    why = f"answers an error, because {policy} cannot be served"
    return policy_remark(route, why)


def too_much_text(owner: Place, route: str, numbers: str) -> Problem:
    """A route that would have Envoy know too much, told to its owner or to that of a policy."""
    why = f"what it and its policies say is made for each match: {numbers}"
    return policy_remark(owner, f"{route} answers an error, because {why}")


def not_kept_by_clients(rule: Place, policy: ObjectRef, is_closed: bool) -> Problem:
    """A policy of a rule for gRPC clients without a proxy, which do not keep it."""
    then = "fails their calls" if is_closed else "is served to them without it"
    why = f"gRPC clients without a proxy do not do what {policy} asks for, so the rule {then}"
    return policy_remark(rule, why)


def not_for_clients(owner: Place) -> Problem:
    """A policy of routes whose calls gRPC clients without a proxy make."""
    why = (
        "gRPC clients without a proxy keep no policy: its rules fail their calls, or are served to"
        " them without it; the status of the route says which"
    )
    return owner.error(ConditionType.Accepted, Gateway.Invalid, why)


def tls_of_clients(owner: Place) -> Problem:
    """A BackendTLSPolicy for Services to which a route leads gRPC clients without a proxy."""
    why = (
        "gRPC clients without a proxy decide over TLS themselves, so they do not reach its targets"
    )
    return owner.error(ConditionType.Accepted, Gateway.Invalid, why)


def traffic_of_clients(owner: Place) -> Problem:
    """An XBackendTrafficPolicy for Services to which a route leads such clients."""
    why = "gRPC clients without a proxy call its targets without it"
    return owner.error(ConditionType.Accepted, Gateway.Invalid, why)


def not_counted(route: Place, policy: ObjectRef) -> Problem:
    """A rule that Envoy answers itself, whose requests a policy wants to be counted."""
    why = f"answers an error, because {policy} has global limits, for which requests that are"
    text = f"{why} answered without a backend are not counted"
    return policy_remark(route, text)


def closes_answers(field: Place, routes: str) -> Problem:
    """Global limits of a policy for rules that Envoy answers itself."""
    why = f"closes rules of {routes}: requests that are answered without a backend are not counted"
    return policy_remark(field, why)


def calls_read_whole(field: Place, routes: str) -> Problem:
    """A limit on bodies for which Envoy reads the requests of gRPC calls to their end."""
    why = f"has Envoy read each request whole, so calls to {routes} whose clients stream wait"
    text = f"{why} until these have sent everything"
    return policy_remark(field, text)


def calls_wait(route: Place, policy: ObjectRef) -> Problem:
    """A rule for gRPC calls whose bodies go to the authorization server of a policy."""
    why = "calls whose clients stream wait until these have sent everything, because"
    text = f"{why} {policy} sends bodies to a server (bodyToExtAuth)"
    return policy_remark(route, text)


def calls_without_origin(route: Place, policy: ObjectRef) -> Problem:
    """A rule for gRPC calls that have to come from pages."""
    why = f"calls without the header origin or referer are answered 403, because {policy} has csrf;"
    text = f"{why} only browsers send these"
    return policy_remark(route, text)


def calls_without_login(route: Place, policy: ObjectRef) -> Problem:
    """A rule for gRPC calls whose users have to log in."""
    why = f"calls without the cookies of a login are redirected or refused, because {policy} has"
    text = f"{why} oidc, and no header with a token passes instead; only browsers log in"
    return policy_remark(route, text)


def no_upgrades(field: Place, routes: str) -> Problem:
    """A limit on bodies for which Envoy reads requests to their end, before WebSockets."""
    why = f"has Envoy read each request whole, so {routes} takes no WebSockets, which have no end"
    return policy_remark(field, why)


def guarded_twice(route: Place, policy: ObjectRef, what: str) -> Problem:
    """A rule with the same guard by a filter and by a policy, of which only one is possible."""
    why = f"answers an error, because it has {what} by a filter and by {policy}"
    return policy_remark(route, why)


policy_value_not_known = error(ConditionType.Accepted, Gateway.Invalid)


policy_authority_kind = error(ConditionType.ResolvedRefs, Gateway.InvalidKind)


def no_room_in_status(owner: Place, ref: ObjectRef) -> Problem:
    is_served = ref.kind != "XTelemetryPolicy"
    then = "is in force as far as it is valid" if is_served else "is not in force for the Gateway"
    message = (
        f"the status of {ref} is full of what other controllers say, so nothing is written there;"
        f" what it says {then}"
    )
    return Problem(owner.subject, ConditionType.Accepted, Gateway.Accepted, message, "warning")

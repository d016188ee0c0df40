"""Refusals by Envoy and by providers, in the statuses of the objects that caused them, and of
those that use a certificate that is refused.

The fleets write Envoy's messages into a table, by object, and remove them once Envoy accepts what
it refused; the reason why a version of an object was not taken at all is in another table. Here
they are joined with the status that the rules of each kind answer. What was accepted last is still
served, so a route falls back (GEP-1364, "Fall Back") and a host is not down. Elsewhere: finding the
part that is refused (`contour.xds`); when a version is not taken (`contour.intake`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag import (
    contourstatus,
    exports,
    filterchains,
    fleets,
    hookservers,
    proxyfleets,
    ratelimitclient,
    releases,
    statuses,
    tables,
)
from dag.engine.view import Kept, Query, Table, View, query
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import (
    attachment,
    conditions,
    filterlimits,
    listeners,
    listenersets,
    listenerspecs,
    selection,
)
from dag.gateway.envoypolicies import trafficlimits
from dag.problems import Problem, anywhere, patches, ratelimits, unguarded
from dag.problems import envoyproxy as envoyproxies
from dag.problems import gateway as problems
from dag.problems.places import Place, sub_conditions
from dag.problems.reasons import ConditionType
from dag.statuses import Condition
from dag.warnings import anykind, uses

REFUSALS: Table[ObjectRef, tuple[str, ...]] = Table("refusals", tables.TOLD_OF_OBJECTS)
"""By object: Envoy's messages about its parts, sorted."""


Application = Literal["gRPC clients", "gRPC servers"]
"""The side of a gRPC call without a proxy."""


class Declined(NamedTuple):
    """What gRPC applications without a proxy refuse."""

    who: Application
    words: str
    """The message of one of them."""


DECLINED: Table[ObjectRef, tuple[Declined, ...]] = Table(
    "refusals by gRPC applications", tables.TOLD_OF_OBJECTS
)
"""By object: who refuses its resources, sorted; each application keeps what it had."""

REFUSERS: Table[ObjectRef, tuple[releases.Counted, int]] = Table("refusers")
"""The Envoys that refuse something of an object, and how many there are in all; no row if all of
them do, or go without it."""

ENVOYS: Table[str, int] = Table("Envoys")
"""How many Envoys of a fleet are connected; no row where none is expected (offline)."""

PENDING: Table[str, tuple[str, ...]] = Table("pending listeners")
"""The listeners of a fleet, sorted, that some Envoy is yet to accept; no row if there is none."""

UNTAKEN: Table[ObjectRef, bool] = Table("limits that are not taken")
"""The RateLimitFilters and BackendTrafficPolicies of which some rate limit service is yet to accept
the newest limits."""


def with_refusals(
    kind: str, status: Query[NamespacedName, statuses.Status | None]
) -> Query[NamespacedName, statuses.Status | None]:
    """The status of a kind, with what Envoy refused, and problems that any object may have."""

    def with_refusals(view: View, key: NamespacedName) -> statuses.Status | None:
        found, subject = view.ask(status, key), ObjectRef(kind, *key)
        if found is None:
            return None
        found = _with_what_is_missing(view, subject, anykind.completed(view, subject, found))
        told = tuple(_refusals(view, subject))
        return _refused(found, told) if told else found

    with_refusals.__name__ = f"status_of_{kind}"
    return query(with_refusals)


def _refusals(view: View, subject: ObjectRef) -> Iterator[Problem]:
    """What Envoys, gRPC applications, extensions and providers refuse of an object."""
    if words := view.read(REFUSALS, subject):
        yield _by_envoys(view, subject, "; ".join(words))
    yield from _of_certificates(view, subject)
    if declined := view.read(DECLINED, subject):
        every = "; ".join(it.words for it in declined)
        yield anywhere.declined(subject, declined[0].who, every)
    if unfinished := view.read(hookservers.UNFINISHED, subject):
        yield anywhere.unfinished(subject, "; ".join(unfinished))
    if fault := view.read(tables.NOT_TAKEN, subject):
        yield anywhere.version_refused(subject, fault)


def _by_envoys(view: View, subject: ObjectRef, words: str) -> Problem:
    if subject.kind == patches.KIND:
        return patches.refused(subject, words)
    return anywhere.refused(subject, _refusers(view, subject), words)


def _of_certificates(view: View, subject: ObjectRef) -> Iterator[Problem]:
    """What Envoys refuse of the certificates that an object uses, and of their filter chains; these
    have no status of their own. Only a refusal wakes the users: a renewal that is accepted writes
    no row."""
    for path, held in uses.certificates(view, subject):
        yield from _of_certificate(view, Place(subject, path), held.ref, held.ref)
    for path, chain, secret in filterchains.used(view, subject):
        yield from _of_certificate(view, Place(subject, path), secret, chain)


def _of_certificate(view: View, place: Place, ref: ObjectRef, told: ObjectRef) -> Iterator[Problem]:
    """What Envoys refuse of a certificate, or of a chain with it (`told`)."""
    if words := view.read(REFUSALS, told):
        yield anywhere.certificate_refused(place, ref, _refusers(view, told), "; ".join(words))


def _refusers(view: View, subject: ObjectRef) -> str:
    """The Envoys that refuse something of an object, for users; empty if all of them do."""
    who = view.read(REFUSERS, subject)
    return releases.those(*who) if who is not None else ""


@query
def of_service(view: View, key: NamespacedName) -> statuses.Status | None:
    """What gRPC applications refuse of an exported Service; None if nothing."""
    subject = ObjectRef("Service", *key)
    found = view.read(DECLINED, subject) or ()
    problems = sub_conditions(anywhere.declined(subject, it.who, it.words) for it in found)
    return statuses.EventStatus(problems) if problems else None


SERVICES = Kept(of_service, exports.EXPORTED_SERVICES)


def _with_what_is_missing(
    view: View, subject: ObjectRef, found: statuses.Status
) -> statuses.Status:
    """The status, with what Envoys and rate limit services lack of the object."""
    match found:
        case statuses.GatewayStatus():
            return _gateway(view, subject.key, found)
        case statuses.ListenerSetStatus():
            return _listener_set(view, subject.key, found)
        case statuses.PolicyStatus() if subject.kind in _COUNTED:
            return _with_who_counts(view, subject, found)
        case statuses.PolicyStatus() if subject.kind == envoyproxies.KIND:
            return proxyfleets.completed(view, subject.key, found)
        case _:
            return found


def _gateway(
    view: View, key: NamespacedName, found: statuses.GatewayStatus
) -> statuses.GatewayStatus:
    """The status of a Gateway, with what Envoys lack of it; problems of the Gateway itself come
    first.

    Problems of its fleet are only added to the message: Envoys may serve nevertheless, for example
    while a rollout is waited for.
    """
    fleet = view.ask(selection.fleet, key) or DEFAULT_FLEET
    programmed = next((it for it in found.conditions if it.type == _PROGRAMMED), None)
    if programmed is None:
        return found
    told, missing = programmed, _missing(view, key, fleet)
    if told.status == "True" and missing is not None:
        told = conditions.condition(_PROGRAMMED, (missing,), "")
    told = replace(told, message="; ".join((told.message, *fleets.messages_of(view, fleet))))
    own = listenersets.gateway_ref(key)
    lacking = _not_accepted(view, own, fleet) | _uncertified(view, own)
    lacking |= _unserved(view, own, fleet)
    found = replace(found, listeners=_listeners(found.listeners, lacking))
    return found if told == programmed else replace(found, conditions=_with(found.conditions, told))


def _listener_set(
    view: View, key: NamespacedName, found: statuses.ListenerSetStatus
) -> statuses.ListenerSetStatus:
    """The status of a ListenerSet; what is yet to be accepted is told on its Gateway alone, for
    each change on a port would write the statuses of all sets there twice."""
    own = listenersets.ref(key)
    gateway = view.ask(listenersets.gateway_of, own)
    fleet = view.ask(selection.fleet, gateway) if gateway is not None else None
    unserved = _unserved(view, own, fleet) if fleet is not None else {}
    lacking = _uncertified(view, own) | unserved
    if not lacking:
        return found
    found = replace(found, listeners=_listeners(found.listeners, lacking))
    if not unserved:
        return found
    waits = problems.listener_waits(Place(own), NO_ENVOY)
    return replace(found, conditions=_lowered(found.conditions, waits))


NO_ENVOY = "no Envoy is connected"


def _unserved(view: View, holder: ObjectRef, fleet: str) -> dict[str, Problem]:
    """Why no Envoy serves the listeners of a Gateway or ListenerSet, by their names."""
    if view.read(ENVOYS, fleet) != 0:
        return {}
    problem = problems.listener_waits(Place(holder), NO_ENVOY)
    return {it.section.name: problem for it in view.ask(listenerspecs.specs, holder)}


def _uncertified(view: View, holder: ObjectRef) -> dict[str, Problem]:
    """Why listeners of a Gateway or ListenerSet lack a certificate, by their names: Envoy refuses
    it, or the filter chain with it."""
    found: dict[str, Problem] = {}
    chains = tuple(filterchains.used(view, holder))
    states = view.ask(listeners.states, holder)
    for index, state in enumerate(states):
        at = Place(holder).at("listeners", index).at("tls")
        told = [(it, it) for it in uses.of_listener(state)]
        told += [(it.secret, it.chain) for it in chains if it.path == at.path]
        for it in told:
            for problem in _of_certificate(view, at, *it):
                found[state.spec.section.name] = unguarded.listener_is_closed(problem)
    return found


def _not_accepted(view: View, holder: ObjectRef, fleet: str) -> dict[str, Problem]:
    """The listeners that some Envoy has not accepted yet, by their names."""
    pending = view.read(PENDING, fleet) or ()
    specs = view.ask(listenerspecs.specs, holder) if pending else ()
    problem = problems.listener_waits(Place(holder), "Envoy has not accepted it yet")
    return {it.section.name: problem for it in specs if it.listener in pending}


def _listeners(
    found: Iterable[statuses.ListenerStatus], lacking: Mapping[str, Problem]
) -> tuple[statuses.ListenerStatus, ...]:
    return tuple(
        replace(it, conditions=_lowered(it.conditions, lacking[it.name]))
        if it.name in lacking
        else it
        for it in found
    )


def _lowered(found: tuple[Condition, ...], problem: Problem) -> tuple[Condition, ...]:
    """The conditions; what would be programmed is not, for the reason given."""
    if not any(it.type == _PROGRAMMED and it.status == "True" for it in found):
        return found
    return _with(found, conditions.condition(_PROGRAMMED, (problem,), ""))


def _with_who_counts(
    view: View, subject: ObjectRef, found: statuses.PolicyStatus
) -> statuses.PolicyStatus:
    """The status of limits: programmed when Envoys and the rate limit service have them."""
    return statuses.PolicyStatus(tuple(_counted(view, subject, it) for it in found.ancestors))


def _counted(
    view: View, subject: ObjectRef, found: statuses.AncestorStatus
) -> statuses.AncestorStatus:
    """The entry of a route or Gateway; other ancestors have no limits."""
    programmed = next((it for it in found.conditions if it.type == _PROGRAMMED), None)
    if programmed is None or programmed.status != "True":
        return found
    lacking = tuple(_uncounted(view, subject, found))
    if not lacking:
        return found
    condition = conditions.condition(_PROGRAMMED, lacking, "")
    return replace(found, conditions=_with(found.conditions, condition))


def _uncounted(view: View, subject: ObjectRef, found: statuses.AncestorStatus) -> Iterator[Problem]:
    """Why the limits of a route or Gateway are not in force."""
    own, at = Place(subject), found.ancestor
    if view.read(ENVOYS, ratelimitclient.FLEET) == 0:
        yield ratelimits.limits_not_counted(
            own, "no rate limit service is connected", is_pending=False
        )
    elif view.read(UNTAKEN, subject):
        why = "the rate limit service has not taken its newest limits yet"
        yield ratelimits.limits_not_counted(own, why, is_pending=True)
    ref = ObjectRef(at.kind, at.namespace or "", at.name)
    served = (ref.key,) if ref.kind == "Gateway" else _parents(view, ref)
    if ref.kind != "Gateway" and (words := view.read(REFUSALS, ref)):
        yield ratelimits.limits_not_counted(own, f"Envoy: {'; '.join(words)}", is_pending=False)
    names = {view.ask(selection.fleet, it) or DEFAULT_FLEET for it in served}
    if any(view.read(ENVOYS, it) == 0 for it in names):
        yield ratelimits.limits_not_counted(own, NO_ENVOY, is_pending=False)


def _parents(view: View, route: ObjectRef) -> Iterator[NamespacedName]:
    """The Gateways to which a route is attached."""
    attached = view.ask(attachment.attachment, route)
    parents = attached.parents if attached is not None else ()
    return (it.gateway for it in parents if it.refusal is None)


_COUNTED = (filterlimits.KIND, trafficlimits.KIND)

_PROGRAMMED = ConditionType.Programmed


def _missing(view: View, key: NamespacedName, fleet: str) -> Problem | None:
    """What keeps a Gateway from being programmed; None if nothing."""
    if view.read(ENVOYS, fleet) == 0:
        return problems.no_envoy(problems.gateway(key), fleets.unmade(view, fleet))
    pending = view.read(PENDING, fleet)
    return problems.not_accepted_yet(problems.gateway(key), pending) if pending else None


def _refused(found: statuses.Status, told: tuple[Problem, ...]) -> statuses.Status:
    match found:
        case statuses.ContourStatus():
            return contourstatus.joined(found, told)
        case statuses.EventStatus():
            return replace(found, problems=(*found.problems, *sub_conditions(told)))
        case statuses.RouteStatus():
            fallen = tuple(map(problems.fallen_back, told))
            (fell_back,) = conditions.alarm(problems.DROPPED, fallen, problems.FALL_BACK)
            return statuses.RouteStatus(
                tuple(
                    replace(it, conditions=_with(it.conditions, fell_back)) for it in found.parents
                )
            )
        case statuses.GatewayStatus() | statuses.ListenerSetStatus():
            idle = tuple(map(unguarded.listener_is_closed, told))
            programmed = conditions.condition(_PROGRAMMED, idle, "")
            return replace(found, conditions=_with(found.conditions, programmed))
        case statuses.EnvoyConfigStatus():
            valid, message = found.conditions[0], conditions.listed(told)
            invalid = replace(valid, status="False", reason=told[-1].reason, message=message)
            return replace(found, conditions=(invalid, *found.conditions[1:]))
        case statuses.BackendStatus():
            refused = (replace(it, type=ConditionType.Accepted) for it in told)
            accepted = conditions.condition(ConditionType.Accepted, refused, "")
            return statuses.BackendStatus(_with(found.conditions, accepted))
        case statuses.PolicyStatus():
            return statuses.PolicyStatus(tuple(_unprogrammed(it, told) for it in found.ancestors))
        case statuses.GatewayClassStatus():
            return found


def _unprogrammed(
    found: statuses.AncestorStatus, told: tuple[Problem, ...]
) -> statuses.AncestorStatus:
    """The entry of a policy with Programmed false; if it has no such condition, with an alarm."""
    if any(it.type == _PROGRAMMED for it in found.conditions):
        unserved = tuple(replace(it, type=_PROGRAMMED) for it in told)
        condition = conditions.condition(_PROGRAMMED, unserved, "")
        return replace(found, conditions=_with(found.conditions, condition))
    if any(it.type == ConditionType.Accepted and it.status == "False" for it in found.conditions):
        return found  # it says why nothing of it is served
    alarmed = anykind.joined(statuses.PolicyStatus((found,)), told)
    assert isinstance(alarmed, statuses.PolicyStatus)
    return alarmed.ancestors[0]


def _with(found: tuple[Condition, ...], condition: Condition) -> tuple[Condition, ...]:
    return (*(it for it in found if it.type != condition.type), condition)

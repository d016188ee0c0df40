"""Problems of objects of any kind, and how they join the status.

They are: fields that this release does not know (the API server stores them if the CRDs of a newer
one are installed), annotations without effect here (`dag.foreign.ignored`), certificates in use
that are not valid (`validity`), and features for which some Envoys are too old (`releases`). They
join the status in the form that its kind has; those of an Ingress become Events. Objects that are
not for this controller get none. Elsewhere: the words (`problems.anywhere`), what Envoy and the
providers refuse (`refusals`).
"""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from crds.meta import ObjectRef
from crds.records import replace
from dag import contourstatus, limits, localbackends, releases, services, statuses, tables
from dag.engine.view import View
from dag.foreign import ignored, own
from dag.gateway import conditions
from dag.problems import Problem, anywhere
from dag.problems.places import Place, sub_conditions
from dag.problems.reasons import ConditionType
from dag.statuses import Condition
from dag.warnings import uses, validity


def completed(view: View, subject: ObjectRef, found: statuses.Status) -> statuses.Status:
    """The status of an object, with the problems that an object of any kind may have."""
    more = tuple(_found(view, subject))
    return joined(found, more) if more else found


def _found(view: View, subject: ObjectRef) -> Iterator[Problem]:
    for path, held in uses.certificates(view, subject):
        if remark := view.ask(validity.remark, held):
            phase, moment = remark
            place = Place(subject, path)
            yield anywhere.certificate(place, held.ref, phase, validity.shown(moment))
    for text in view.read(tables.UNKNOWN_FIELDS, subject) or ():
        yield anywhere.unknown_field(subject, text)
    yield from releases.problems_of(view, subject)
    if subject.kind in own.OURS:
        yield from _of_annotations(view, subject)


def _of_annotations(view: View, subject: ObjectRef) -> Iterator[Problem]:
    """Problems of annotations of the object, and of its Services, which have no status."""
    found = view.read(tables.BY_KIND[subject.kind], subject.key)
    if found is not None:
        yield from ignored.problems_of(view, subject.kind, found.metadata, subject)
    for name in uses.services(view, subject):
        service = view.read(tables.SERVICES, name)
        if service is not None:
            yield from ignored.problems_of(view, "Service", service.metadata, subject, name)
            yield from localbackends.problems_of(view, subject, name, service.metadata)
            for annotation, why in (*limits.unread(service.metadata), *services.unread(service)):
                yield anywhere.ignored(anywhere.annotation(subject, annotation, name), why)


def joined(found: statuses.Status, told: Sequence[Problem]) -> statuses.Status:
    """The status with more problems, in the form that its kind has."""
    match found:
        case statuses.ContourStatus():
            return contourstatus.joined(found, told)
        case statuses.EventStatus():
            errors, warnings = _parted(told)
            return statuses.EventStatus(
                (*found.problems, *sub_conditions(errors)),
                (*found.warnings, *sub_conditions(warnings)),
            )
        case statuses.RouteStatus():
            return statuses.RouteStatus(tuple(_with(it, told) for it in found.parents))
        case statuses.PolicyStatus():
            return statuses.PolicyStatus(tuple(_with(it, told) for it in found.ancestors))
        case statuses.GatewayClassStatus():
            return _with(found, told)
        case statuses.BackendStatus():
            return _with(found, told)
        case statuses.EnvoyConfigStatus():
            _, warnings = _parted(told)
            valid, *others = found.conditions
            return replace(found, conditions=(_warned(valid, warnings), *others))
        case statuses.GatewayStatus():
            return _with(found, told)
        case statuses.ListenerSetStatus():
            return _with(found, told)


Holder = TypeVar(
    "Holder",
    statuses.ParentStatus,
    statuses.AncestorStatus,
    statuses.GatewayClassStatus,
    statuses.BackendStatus,
    statuses.GatewayStatus,
    statuses.ListenerSetStatus,
)


def _with(holder: Holder, told: Sequence[Problem]) -> Holder:
    """Gateway API conditions with more problems: warnings join the message of `Accepted`."""
    errors, warnings = _parted(told)
    found = [
        _warned(it, warnings) if it.type == ConditionType.Accepted else it
        for it in holder.conditions
    ]
    found += conditions.alarm(anywhere.GUARD, [replace(it, type=anywhere.GUARD) for it in errors])
    return replace(holder, conditions=tuple(found))


def _warned(condition: Condition, warnings: Sequence[Problem]) -> Condition:
    if not warnings:
        return condition
    texts = (*condition.warnings, *conditions.texts(warnings))
    message = "; ".join((condition.message, *conditions.texts(warnings)))
    return replace(condition, message=message, warnings=texts)


def _parted(told: Sequence[Problem]) -> tuple[list[Problem], list[Problem]]:
    """The errors, and the warnings."""
    return (
        [it for it in told if it.severity == "error"],
        [it for it in told if it.severity == "warning"],
    )

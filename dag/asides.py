"""What an object is told whatever its kind, beside what the rules of the kind find.

Fields that this release does not know: where the CRDs of a newer one are installed, the API server
stores them. They join the status in the form that its kind has; of an Ingress they become Events.
What is told of an object that is not ours to serve: nothing. Elsewhere: the words
(`problems.anywhere`), what Envoy and the providers refuse (`refusals`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from crds.meta import NamespacedName, ObjectRef
from dag import contourstatus, statuses
from dag.gateway import conditions
from dag.problems import Problem, anywhere
from dag.problems.places import sub_conditions
from dag.statuses import Condition
from dag.view import Query, Table, View, query

UNKNOWN_FIELDS: Table[ObjectRef, tuple[str, ...]] = Table("unknown fields")
"""The fields of an object that were left out as it was read, sorted, as users are told; no row if
there are none."""


def told(
    kind: str, status: Query[NamespacedName, statuses.Status | None]
) -> Query[NamespacedName, statuses.Status | None]:
    """The status of a kind, with what is told of objects of any kind."""

    def with_asides(view: View, key: NamespacedName) -> statuses.Status | None:
        found = view.ask(status, key)
        if found is None:
            return None
        more = tuple(_found(view, ObjectRef(kind, *key)))
        return joined(found, more) if more else found

    with_asides.__name__ = f"whole_status_of_{kind}"
    return query(with_asides)


def _found(view: View, subject: ObjectRef) -> Iterator[Problem]:
    for text in view.read(UNKNOWN_FIELDS, subject) or ():
        yield anywhere.unknown_field(subject, text)


def joined(found: statuses.Status, told: Sequence[Problem]) -> statuses.Status:
    """The status with more problems, in the form that its kind has."""
    match found:
        case statuses.ContourStatus():
            return contourstatus.joined(found, told)
        case statuses.IngressStatus():
            errors, warnings = _parted(told)
            return statuses.IngressStatus(
                (*found.problems, *sub_conditions(errors)),
                (*found.warnings, *sub_conditions(warnings)),
            )
        case statuses.RouteStatus():
            return statuses.RouteStatus(tuple(_with(it, told) for it in found.parents))
        case statuses.PolicyStatus():
            return statuses.PolicyStatus(tuple(_with(it, told) for it in found.ancestors))
        case statuses.GatewayClassStatus():
            return _with(found, told)
        case statuses.GatewayStatus():
            return _with(found, told)
        case statuses.ListenerSetStatus():
            return _with(found, told)


Holder = TypeVar(
    "Holder",
    statuses.ParentStatus,
    statuses.AncestorStatus,
    statuses.GatewayClassStatus,
    statuses.GatewayStatus,
    statuses.ListenerSetStatus,
)


def _with(holder: Holder, told: Sequence[Problem]) -> Holder:
    """What has conditions of the Gateway API: warnings stand in the message of `Accepted`."""
    errors, warnings = _parted(told)
    found = [_warned(it, warnings) if it.type == "Accepted" else it for it in holder.conditions]
    for type_ in sorted({it.type for it in errors}):
        found += conditions.alarm(type_, errors)
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

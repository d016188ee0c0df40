"""The status of an EnvoyPatchPolicy, as Envoy Gateway writes it: whether the policy is accepted,
and whether its patches are in force.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from crds.meta import NamespacedName
from dag import tables
from dag.configuration import settings
from dag.engine.view import OpenQuery, Query, View, query
from dag.gateway import conditions
from dag.patches.naming import PatchPlace
from dag.patches.policies import Patch, patching
from dag.problems import Problem
from dag.problems import patches as problems
from dag.problems.reasons import ConditionType
from dag.statuses import AncestorStatus, PolicyStatus


class Failure(NamedTuple):
    """An operation that could not be applied to a place, so none of its policy was."""

    policy: NamespacedName
    number: int
    """The number of the operation in the policy."""
    field: str
    """The field below the operation, such as `operation.path`."""
    why: str


class Outcome(NamedTuple):
    """What became of the patches of a place."""

    failures: tuple[Failure, ...] = ()
    missing: str = ""
    """Why there is nothing to patch; empty if there is."""


outcome: OpenQuery[PatchPlace, Outcome] = OpenQuery("outcome of patches")
"""Answered by `contour.envoy.patching`."""


@query
def envoy_patch_policy(view: View, key: NamespacedName) -> PolicyStatus | None:
    """The status of a policy; None if it is not for this controller."""
    found = view.ask(patching, key)
    if found is None:
        return None
    told = (
        *found.problems,
        *(it for place, patch in found.patches for it in _failed(view, place, patch)),
    )
    accepted = conditions.condition(ConditionType.Accepted, told, "the policy is accepted")
    every = [accepted]
    if accepted.status == "True":
        every.append(conditions.programmed(view, told))
    name = view.ask(settings.controller_name, ())
    return PolicyStatus((AncestorStatus(found.ancestor, name, tuple(every)),))


def _failed(view: View, place: PatchPlace, patch: Patch) -> Iterator[Problem]:
    if not view.read(tables.TRANSLATED, ()):
        return
    found = view.ask(outcome, place)
    own = problems.policy(patch.policy)
    if found.missing:
        first = patch.operations[0].number
        yield problems.not_found(own.at("jsonPatches", first).at("name"), found.missing)
    for it in found.failures:
        if it.policy == patch.policy:
            at = own.at("jsonPatches", it.number).at(it.field)
            yield problems.not_applied(at, it.why)


STATUSES: Mapping[str, Query[NamespacedName, PolicyStatus | None]] = {
    problems.KIND: envoy_patch_policy
}

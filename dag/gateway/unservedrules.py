"""Problems of policies with rules that are not served as they are written.

Such a rule is dropped or answers an error, so no policy has an effect there. Each route yields the
policies that are concerned, so one that comes or goes wakes only its own.
"""

from collections.abc import Iterator

from crds.envoygateway.policytargets import PolicyTargets
from crds.meta import NamespacedName, ObjectRef
from dag.engine.view import Index, View
from dag.gateway import grpcroute, httproute
from dag.gateway.envoypolicies import policytargets
from dag.gateway.rules import Rules, UnservedRule
from dag.problems import Problem
from dag.problems import policies as complaints


def problems_of(view: View, policy: ObjectRef, spec: PolicyTargets) -> Iterator[Problem]:
    """A problem for each such rule of a policy; an error if the policy is for nothing else."""
    found = sorted({it for index in INDEXES for it in view.bucket(index, policy)})
    own, is_error = complaints.attached(policy.kind, policy.key), _are_all(spec, policy, found)
    for it in found:
        yield complaints.rule_not_served(own, it.at, is_error=is_error)


def _are_all(spec: PolicyTargets, policy: ObjectRef, found: list[UnservedRule]) -> bool:
    """Whether a policy is for these rules alone."""
    rules = {(it.at.subject, it.name) for it in found if it.name}
    named = [
        (ObjectRef(it.kind, policy.namespace, it.name), it.section_name)
        for _, it in policytargets.references(spec)
    ]
    return not spec.target_selectors and rules.issuperset(named)


def _by_policy(_: NamespacedName, found: Rules) -> Iterator[tuple[ObjectRef, UnservedRule]]:
    return ((it.policy, it) for it in found.unserved)


INDEXES: tuple[Index[ObjectRef, UnservedRule], ...] = (
    Index("rules of HTTPRoutes that are not served, by policy", httproute.rules, _by_policy),
    Index("rules of GRPCRoutes that are not served, by policy", grpcroute.rules, _by_policy),
)

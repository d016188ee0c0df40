"""The status of an XBackendTrafficPolicy, if Gateways or gRPC clients are led to its targets."""

from collections.abc import Iterator

from crds.gateway.references import LocalObjectReference
from crds.gateway.xbackendtrafficpolicy import XBackendTrafficPolicy
from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag import hints, tables
from dag.engine.view import View, query
from dag.gateway import backendtraffic, conditions, policystatus
from dag.problems import Problem
from dag.problems import policies as problems
from dag.problems.places import Place
from dag.problems.reasons import ConditionType
from dag.statuses import PolicyStatus


@query
def xbackend_traffic_policy(view: View, key: NamespacedName) -> PolicyStatus | None:
    """The status of a policy; None if neither a Gateway of ours nor gRPC clients are led to its
    targets."""
    found = view.read(tables.XBACKEND_TRAFFIC_POLICIES, key)
    if found is None:
        return None
    targets = tuple(backendtraffic.targets(found))
    gateways, status = policystatus.gateways_to(view, targets), policystatus.FOR_NOBODY
    if gateways:
        told = tuple(_told(view, key, found))
        accepted = conditions.condition(ConditionType.Accepted, told, "the policy holds")
        status = policystatus.policy_status(view, gateways, [accepted], backendtraffic.KIND)
    why = problems.traffic_of_clients(problems.attached(backendtraffic.KIND, key))
    return policystatus.with_clients(view, status, targets, why)


def _told(view: View, key: NamespacedName, found: XBackendTrafficPolicy) -> Iterator[Problem]:
    """What is wrong with a policy; problems with targets are errors only if it holds for none."""
    own = problems.attached(backendtraffic.KIND, key)
    yield from view.ask(backendtraffic.wanted, key).problems
    wrong = [
        _wrong(view, target, own.at("targetRefs", index))
        for index, target in enumerate(found.spec.target_refs)
    ]
    found_wrong = [it for it in wrong if it is not None]
    if len(found_wrong) == len(wrong):
        yield from found_wrong
    else:
        yield from (replace(it, severity="warning") for it in found_wrong)


def _wrong(view: View, target: LocalObjectReference, at: Place) -> Problem | None:
    """Why the policy does not hold for a target; None if it does."""
    if not backendtraffic.is_backend(target):
        kind = f"{target.group}/{target.kind}".lstrip("/")
        why = f"kind {kind} is not supported; use Service, XBackend or Backend"
        return problems.policy_target_not_found(at, why)
    ref = ObjectRef(target.kind, at.subject.namespace, target.name)
    if view.read(tables.BY_KIND[ref.kind], ref.key) is None:
        return problems.policy_target_not_found(at, f"{ref} not found{hints.hint(view, ref)}")
    winner = backendtraffic.winner(view, ref)
    if winner is None or winner == at.subject.key:
        return None
    own = problems.attached(backendtraffic.KIND, at.subject.key)
    return problems.attached_conflicts(own, winner, str(ref), is_error=True)

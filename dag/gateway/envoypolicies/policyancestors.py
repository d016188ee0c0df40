"""The status of a policy, with an entry for each Gateway that it is for (GEP-713).

These are the Gateways of ours among its targets, and those to which its target routes are attached.
A Service whose gRPC clients follow a target route has an entry, too: they keep no policy.
All are indexed by target, so a route that comes or goes affects only its own policies. The status
of a policy that does not apply names the one that does. Elsewhere: what a policy means.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from crds.envoygateway.policytargets import PolicyTargetReference
from crds.gateway.references import GROUP, ParentReference
from crds.meta import NamespacedName, ObjectRef
from crds.unserved import unserved
from dag import tables
from dag.configuration import settings
from dag.engine.view import Index, Kept, Query, View, query
from dag.gateway import conditions
from dag.gateway.envoypolicies import policyparents, policytargets
from dag.gateway.envoypolicies.policyoverrides import IsMerging, Overrides
from dag.gateway.envoypolicies.policytargets import Claim, Policy, PolicyKind
from dag.problems import Problem, shared
from dag.problems import policies as complaints
from dag.problems.places import Place
from dag.problems.reasons import ConditionType
from dag.statuses import AncestorStatus, Condition, PolicyStatus

MOST_ANCESTORS = 16
"""The most ancestors that the API stores in a status."""


class Ancestor(NamedTuple):
    """A Gateway that a policy is for, through one of its targets."""

    gateway: NamespacedName
    holder: ObjectRef | None = None
    """The target, if it is a Gateway or ListenerSet."""
    lost: ObjectRef | None = None
    """The target, if another policy applies to it."""
    section: str = ""
    winner: NamespacedName | None = None


Ancestors: TypeAlias = frozenset[tuple[NamespacedName, Ancestor]]
"""By policy."""
Calls: TypeAlias = frozenset[tuple[NamespacedName, NamespacedName]]
"""Policies, each with a Service whose gRPC clients follow a route that the policy is for."""
Told: TypeAlias = Mapping[NamespacedName, Iterable[Problem]]
"""By Gateway."""
NOTHING: Told = MappingProxyType({})


def never(_view: View, _policy: NamespacedName) -> bool:
    """For kinds whose policies are not merged."""
    return False


class Ancestry:
    """Which Gateways the policies of a kind are for, and the statuses of these policies."""

    def __init__(self, kind: PolicyKind, is_merging: IsMerging = never) -> None:
        self.kind = kind
        self.by_target = self._by_target()
        self.by_policy: Index[NamespacedName, Ancestor] = Index(
            f"Gateways of each {kind.name}", self.by_target, _by_policy
        )
        self.in_use: Index[NamespacedName, None] = Index(
            f"{kind.name} in use", self.by_target, _used
        )
        self.targeted: Index[ObjectRef, None] = Index(
            f"targets of {kind.name}", self.by_target, _targeted
        )
        self.overrides = Overrides(kind, is_merging)
        self.calls = self._calls()
        self.called: Index[NamespacedName, NamespacedName] = Index(
            f"Services of each {kind.name}", self.calls, _pairs
        )
        own = (self.by_policy, self.in_use, self.targeted, self.overrides.at, self.called)
        self.indexes = (*kind.indexes, *own)
        by_target = tuple(
            Kept(self.by_target, tables.BY_KIND[it], _named(it)) for it in kind.targets
        )
        self.kept = (*by_target, Kept(self.overrides.others, self.targeted))
        if policyparents.CALLED in kind.targets:
            self.kept += (Kept(self.calls, tables.GRPCROUTES, _named(policyparents.CALLED)),)

    def _by_target(self) -> Query[ObjectRef, Ancestors]:
        def ancestors(view: View, ref: ObjectRef) -> Ancestors:
            claims = view.ask(self.kind.claims, ref)
            if not claims:
                return frozenset()
            return frozenset(_ancestors(claims, ref, view.ask(policyparents.gateways, ref)))

        ancestors.__name__ = f"ancestors_by_target_of_{self.kind.name}"
        return query(ancestors)

    def _calls(self) -> Query[ObjectRef, Calls]:
        def calls(view: View, ref: ObjectRef) -> Calls:
            claims = view.ask(self.kind.claims, ref)
            if not claims:
                return frozenset()
            services = view.ask(policyparents.services, ref)
            return frozenset((it.senior.key, service) for it in claims for service in services)

        calls.__name__ = f"calls_of_{self.kind.name}"
        return query(calls)

    def holders(
        self, view: View, key: NamespacedName
    ) -> frozenset[tuple[NamespacedName, ObjectRef]]:
        """The Gateways and ListenerSets of ours to which a policy applies itself."""
        return frozenset(
            (it.gateway, it.holder)
            for it in view.bucket(self.by_policy, key)
            if it.holder is not None
        )

    def status(
        self, view: View, key: NamespacedName, meant: Iterable[Problem], merged: Told = NOTHING
    ) -> PolicyStatus | None:
        """The status of a policy; None if it is for no Gateway of ours, and no exported Service.

        `merged` has the problems for single Gateways, beside those for all of them (`meant`). A
        policy that has no target left, or at a Gateway loses all of them to others, does nothing
        there, so what it means is not told.
        """
        found = view.read(self.kind.table, key)
        if found is None:
            return None
        own = complaints.attached(self.kind.name, key)
        all_ancestors = view.bucket(self.by_policy, key)
        unfit = tuple(_of_targets(view, self.kind, found, own, is_used=bool(all_ancestors)))
        means = _in_force(meant, unfit)
        told = (*_of_fields(found, own), *unfit)
        told += tuple(self.overrides.problems_of(view, found, own))
        name = settings.controller_in_statuses(view.ask(settings.controller_name, ()))
        of_gateways = sorted({it.gateway for it in all_ancestors})[:MOST_ANCESTORS]
        lost_at = {it: tuple(_lost(own, all_ancestors, it)) for it in of_gateways}
        ancestors = [
            AncestorStatus(
                _gateway(it),
                name,
                _conditions((*_in_force((*merged.get(it, ()), *means), lost), *told, *lost)),
            )
            for it, lost in lost_at.items()
        ]
        if not ancestors:
            ancestors = [
                AncestorStatus(it, name, _conditions((*means, *told)))
                for it in islice(_missing(view, found, key), MOST_ANCESTORS)
            ]
        at_services = _conditions([complaints.not_for_clients(own)])
        ancestors += (
            AncestorStatus(_service(it), name, at_services)
            for it in sorted(view.bucket(self.called, key))
        )
        return PolicyStatus(tuple(ancestors[:MOST_ANCESTORS])) if ancestors else None


def _ancestors(
    claims: frozenset[Claim], ref: ObjectRef, found: tuple[NamespacedName, ...]
) -> Iterator[tuple[NamespacedName, Ancestor]]:
    winners = policytargets.winners(claims)
    for gateway in found:
        for it in claims:
            winner = winners[it.section]
            own = it.senior.key
            holder = ref if ref.kind in policyparents.HOLDERS else None
            lost = Ancestor(gateway, holder, ref, it.section, winner)
            yield own, Ancestor(gateway, holder) if winner == own else lost


def _of_fields(found: Policy, own: Place) -> Iterator[Problem]:
    """Unserved fields without effect; those that close routes are in the policy's meaning."""
    for field in unserved(found):
        if not field.guards:
            yield shared.no_effect(Place(own.subject, field.path), field.why)


def _of_targets(
    view: View, kind: PolicyKind, found: Policy, own: Place, *, is_used: bool
) -> Iterator[Problem]:
    """The targets that a policy names and cannot have. It is not accepted if no other is left;
    `is_used` says whether it is for a Gateway of ours."""
    named = policytargets.references(found.spec)
    unfit = [(path, _unfit(view, kind, it, own.subject.namespace)) for path, it in named]
    is_left = is_used and (found.spec.target_selectors or not all(why for _, why in unfit))
    tell = complaints.policy_target_lacks if is_left else complaints.policy_target_not_found
    for path, why in unfit:
        if why:
            yield tell(Place(own.subject, f"{own.path}.{path}"), why)


def _unfit(view: View, kind: PolicyKind, it: PolicyTargetReference, namespace: str) -> str:
    """Why an object cannot be a target; empty if it can."""
    if it.group != GROUP or it.kind not in kind.targets:
        known = ", ".join(kind.targets)
        return f"{it.group}/{it.kind} is no kind that policies are for; use {known}"
    ref = ObjectRef(it.kind, namespace, it.name)
    found = view.ask(policyparents.sections, ref)
    if found is None:
        return f"{ref} not found"
    if it.section_name is not None and it.section_name not in found:
        part = "listener" if it.kind in ("Gateway", "ListenerSet") else "rule"
        return f"{ref} has no {part} {it.section_name}"
    return ""


def _missing(view: View, found: Policy, key: NamespacedName) -> Iterator[ParentReference]:
    """The targets that do not exist or are none, of a policy that is for no Gateway."""
    for _, it in policytargets.references(found.spec):
        if it.group != GROUP or not _is_elsewhere(view, ObjectRef(it.kind, key.namespace, it.name)):
            yield ParentReference(
                group=it.group, kind=it.kind, namespace=key.namespace, name=it.name
            )


def _is_elsewhere(view: View, ref: ObjectRef) -> bool:
    """Whether an object is there, but for Gateways of other controllers: these speak of it."""
    if ref.kind not in policytargets.ALL_TARGETS or view.ask(policyparents.sections, ref) is None:
        return False
    return not view.ask(policyparents.gateways, ref)


def _lost(own: Place, found: frozenset[Ancestor], gateway: NamespacedName) -> Iterator[Problem]:
    """Which other policies apply to targets of a policy."""
    here = sorted((it for it in found if it.gateway == gateway), key=repr)
    is_overridden = all(it.lost is not None for it in here)
    for it in here:
        if it.lost is not None and it.winner is not None:
            target = f"{it.lost} ({it.section})" if it.section else str(it.lost)
            yield complaints.attached_conflicts(own, it.winner, target, is_error=is_overridden)


def _in_force(means: Iterable[Problem], lost: Iterable[Problem]) -> tuple[Problem, ...]:
    """What a policy means where it has targets; nothing, if it has lost all of them."""
    return () if any(it.severity == "error" for it in lost) else tuple(means)


def _conditions(told: Iterable[Problem]) -> tuple[Condition, ...]:
    found = tuple(told)
    return (
        conditions.condition(ConditionType.Accepted, found, "the policy applies"),
        *conditions.alarm(ConditionType.Merged, found),
        *conditions.alarm(ConditionType.Overridden, found),
    )


def _gateway(key: NamespacedName) -> ParentReference:
    return ParentReference(name=key.name, namespace=key.namespace)


def _service(key: NamespacedName) -> ParentReference:
    return ParentReference(group="", kind="Service", name=key.name, namespace=key.namespace)


def _pairs(_: ObjectRef, found: Calls) -> Iterator[tuple[NamespacedName, NamespacedName]]:
    return iter(found)


def _by_policy(_: ObjectRef, found: Ancestors) -> Iterator[tuple[NamespacedName, Ancestor]]:
    return iter(found)


def _used(_: ObjectRef, found: Ancestors) -> Iterator[tuple[NamespacedName, None]]:
    return ((policy, None) for policy in {it for it, _ in found})


def _targeted(ref: ObjectRef, found: Ancestors) -> Iterator[tuple[ObjectRef, None]]:
    return iter([(ref, None)] if found else [])


def _named(kind: str) -> Callable[[NamespacedName], Hashable]:
    def ref(key: NamespacedName) -> Hashable:
        return ObjectRef(kind, *key)

    return ref

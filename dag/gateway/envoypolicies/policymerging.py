"""Policies of routes that are merged with those of listeners (`mergeType` of Envoy Gateway 1.9).

The policy of a route or a rule is a patch of the one that would apply to its listener. So one
policy may have another effect at each listener that its route is attached to: each pair of policies
has a meaning of its own, under a key that names both (`joined`). References of either policy are
resolved in its own namespace, by its own grants. Where a listener has no policy, that of the route
applies as it is. Elsewhere: what a policy means, merged or not (`policyeffects`).
"""

from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar, cast

from crds import merging
from crds.complaints import Complaint
from crds.envoygateway.backendtrafficpolicy import BackendTrafficPolicy, BackendTrafficPolicySpec
from crds.envoygateway.policytargets import PolicyTargets, UnreadPolicy
from crds.envoygateway.securitypolicy import SecurityPolicy, SecurityPolicySpec
from crds.meta import NamespacedName, ObjectRef
from crds.raw import Raw
from crds.records import dataclass, replace
from dag import tables
from dag.engine.view import Index, Query, View, query
from dag.gateway.envoypolicies import policyparents, policytargets
from dag.gateway.envoypolicies.policytargets import Policy, PolicyKind
from dag.problems import Problem
from dag.problems import policies as complaints
from dag.problems.places import Place

S = TypeVar("S")

TYPES = ("StrategicMerge", "JSONMerge")
_MARK = "+"
"""Separates the names of two policies; no name contains it."""
_OF_EACH = ("targetRef", "targetRefs", "targetSelectors", "mergeType")
"""Fields that are not merged."""


def joined(own: NamespacedName, parent: NamespacedName) -> NamespacedName:
    """The key of a policy of a route together with that of its listener."""
    return NamespacedName(own.namespace, f"{own.name}{_MARK}{parent}")


def together(own: NamespacedName, parent: NamespacedName | None) -> NamespacedName:
    """The key of a route's policy at a listener whose policy is `parent`; None: at one without."""
    return own if parent is None else joined(own, parent)


def parts(key: NamespacedName) -> tuple[NamespacedName, NamespacedName | None]:
    """The policy of the route, and that of the listener if the key names two."""
    own, _, parent = key.name.partition(_MARK)
    if not parent:
        return key, None
    return NamespacedName(key.namespace, own), NamespacedName(*parent.split("/", 1))


def objects(ref: ObjectRef) -> tuple[ObjectRef, ...]:
    """The one or two objects that a reference stands for."""
    own, parent = parts(ref.key)
    both = (own,) if parent is None else (own, parent)
    return tuple(ObjectRef(ref.kind, *it) for it in both)


def source(own: Place, *fields: str) -> NamespacedName:
    """The key under which these fields, which are set, are read: that of the one policy that sets
    them, or of both."""
    mine = own.subject.key
    paths = {own.at(it).path for it in fields}
    lent = {path: it for path, it in own.lent if path.startswith(tuple(paths))}
    if not lent:
        return mine
    parent = own.lent[0][1].key
    return parent if paths <= lent.keys() else joined(mine, parent)


@dataclass(frozen=True, slots=True)
class Written(Generic[S]):
    """A policy, or two merged ones, as read."""

    policy: Policy
    """The policy; its specification is the merged one if there are two."""
    own: Place
    """The place of the route's policy; fields that the other policy sets are `lent` by it."""
    spec: S | None
    """None if it cannot be read."""
    refusals: tuple[Problem, ...] = ()
    """Why the merge itself closes the targets, whatever the merged policy says."""


def alone(view: View, kind: PolicyKind, key: NamespacedName) -> Written[S] | None:
    """One policy, as read; None if there is no such object."""
    found = view.read(kind.table, key)
    if found is None:
        return None
    spec = None if isinstance(found, UnreadPolicy) else cast("S", found.spec)
    return Written(found, complaints.attached(kind.name, key), spec)


class Merge(NamedTuple):
    """Where a policy of a route is merged."""

    gateway: NamespacedName
    parent: NamespacedName | None
    """The policy of the listener; None if it has none."""


Merges = frozenset[tuple[NamespacedName, Merge]]
"""By policy."""


class Merging(Generic[S]):
    """The policies of a kind that are merged."""

    def __init__(self, kind: PolicyKind, model: type[S], terms: merging.Terms) -> None:
        self.kind = kind
        self.model = model
        self.terms = terms
        self.merging: Index[NamespacedName, str] = Index(
            f"{kind.name} that are merged", kind.table, _merging
        )
        self.written = self._written()
        self.merges = self._merges()
        self.of_policy: Index[NamespacedName, Merge] = Index(
            f"policies that {kind.name} are merged with", self.merges, _by_policy
        )
        self.in_use: Index[NamespacedName, None] = Index(
            f"merged {kind.name} in use", self.merges, _in_use
        )
        self.indexes = (self.merging, self.of_policy, self.in_use)

    def is_merging(self, view: View, policy: NamespacedName) -> bool:
        """Whether a policy is merged with those of listeners."""
        return view.count(self.merging, policy) > 0

    def read(self, view: View, key: NamespacedName) -> Written[S] | None:
        """A policy, or two merged ones, by their key; None if there is no such object."""
        if parts(key)[1] is not None:
            return view.ask(self.written, key)
        return alone(view, self.kind, key)

    def _written(self) -> Query[NamespacedName, Written[S] | None]:
        def written(view: View, key: NamespacedName) -> Written[S] | None:
            own, parent = parts(key)
            found = view.read(self.kind.table, own)
            base = view.read(self.kind.table, parent) if parent is not None else None
            if found is None or base is None:
                return None
            at = complaints.attached(self.kind.name, own)
            if isinstance(found, UnreadPolicy):
                return Written(found, at, None)
            other = complaints.attached(self.kind.name, base.metadata.key)
            if isinstance(base, UnreadPolicy):
                why = f"{other.subject}, with which it is merged, cannot be read"
                return Written(found, at, None, (complaints.policy_closes(at, why),))
            return self._merged(view, found, base, at, other)

        written.__name__ = f"merged_{self.kind.name}"
        return query(written)

    def _merged(
        self, view: View, found: Policy, base: Policy, at: Place, other: Place
    ) -> Written[S]:
        patch, target = _document(found.spec), _document(base.spec)
        type_ = getattr(found.spec, "merge_type", "")
        terms = self.terms if type_ == "StrategicMerge" else self.terms.whole_lists()
        result = merging.patched(target, patch, terms)
        targets = {it: v for it, v in merging.document(found.spec).items() if it in _OF_EACH[:3]}
        unknown = view.read(tables.UNKNOWN_FIELDS, other.subject)
        refusals = (complaints.policy_closes(other, "has a field that is not known here"),)
        spec, faults = merging.read(self.model, result | targets)
        if spec is None:
            return Written(found, at, None, tuple(_unfit(it, at, other) for it in faults))
        lent = tuple((it, other.subject) for it in merging.untouched(result, patch))
        together = _with(found, spec)
        return Written(together, at._replace(lent=lent), spec, refusals if unknown else ())

    def _merges(self) -> Query[ObjectRef, Merges]:
        def merges(view: View, ref: ObjectRef) -> Merges:
            claims = view.ask(self.kind.claims, ref)
            if ref.kind in policyparents.HOLDERS or not claims:
                return frozenset()
            named = {it.section for it in claims}
            parts = [it for it in named if policyparents.has_section(view, ref, it)]
            winners = {policytargets.winner(claims, it) for it in parts}
            mine = [it for it in winners if it is not None and self.is_merging(view, it)]
            if not mine:
                return frozenset()
            found = tuple(self._parents(view, ref))
            return frozenset((policy, it) for policy in mine for it in found)

        merges.__name__ = f"merges_of_{self.kind.name}"
        return query(merges)

    def _parents(self, view: View, route: ObjectRef) -> Iterator[Merge]:
        """The policies of the listeners that a route names as parents, accepted there or not."""
        for gateway, holder, listener in policyparents.listeners(view, route):
            found = policytargets.of_listener(view, self.kind, holder, listener, gateway)
            yield Merge(gateway, found)


def _with(found: Policy, spec: object) -> Policy:
    """The policy with another specification."""
    if isinstance(found, SecurityPolicy) and isinstance(spec, SecurityPolicySpec):
        return replace(found, spec=spec)
    if isinstance(found, BackendTrafficPolicy) and isinstance(spec, BackendTrafficPolicySpec):
        return replace(found, spec=spec)
    return found


def _document(spec: PolicyTargets) -> Raw:
    return {it: v for it, v in merging.document(spec).items() if it not in _OF_EACH}


def _unfit(fault: Complaint, at: Place, other: Place) -> Problem:
    path = "".join(f"[{it}]" if isinstance(it, int) else f".{it}" for it in fault.path)
    why = f"merged with {other.subject}, {fault.message}"
    return complaints.policy_closes(Place(at.subject, f"{at.path}{path}"), why)


def _merging(key: NamespacedName, found: Policy) -> Iterator[tuple[NamespacedName, str]]:
    if isinstance(found, SecurityPolicy | BackendTrafficPolicy):
        type_ = found.spec.merge_type
        if type_ in TYPES:
            yield key, type_ or ""


def _by_policy(_: ObjectRef, found: Merges) -> Iterator[tuple[NamespacedName, Merge]]:
    return iter(found)


def _in_use(_: ObjectRef, found: Merges) -> Iterator[tuple[NamespacedName, None]]:
    for policy, it in found:
        if it.parent is not None:
            yield joined(policy, it.parent), None

"""Which policies are for a Gateway, a listener, a route or a rule of one (GEP-713).

A policy names its targets, or selects them by their labels; in another namespace it needs a
ReferenceGrant there. The policy for a part beats the one for the whole; of policies for the same
target the oldest applies. Objects find their policies through indexes, by name and by each of their
labels, so a policy that comes or goes wakes only what it may be for. Elsewhere: the statuses of
policies (`policyancestors`).
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias, cast

from crds.envoygateway.backendtrafficpolicy import BackendTrafficPolicy
from crds.envoygateway.clienttrafficpolicy import ClientTrafficPolicy
from crds.envoygateway.extensionpolicy import EnvoyExtensionPolicy
from crds.envoygateway.policytargets import (
    PolicyTargetReference,
    PolicyTargets,
    TargetSelector,
    UnreadPolicy,
)
from crds.envoygateway.securitypolicy import SecurityPolicy
from crds.gateway.references import GROUP
from crds.kinds import ENVOY_GATEWAY
from crds.meta import NamespacedName, ObjectMeta, ObjectRef
from dag import tables
from dag.engine.view import Index, Query, Table, View, query
from dag.gateway import namespaces
from dag.references import grants
from dag.seniority import Senior, senior
from dag.values import selectors

TARGETS = ("Gateway", "ListenerSet", "HTTPRoute", "GRPCRoute", "TCPRoute")
"""The kinds of objects that policies are for, of a kind that does not say otherwise."""
ALL_TARGETS = (*TARGETS, "TLSRoute", "UDPRoute")
"""The kinds of objects that policies of some kinds are for: all routes, too."""


Policy: TypeAlias = (
    SecurityPolicy
    | BackendTrafficPolicy
    | ClientTrafficPolicy
    | EnvoyExtensionPolicy
    | UnreadPolicy
)
"""A policy of any kind that is attached to targets."""
PolicyTable: TypeAlias = (
    Table[NamespacedName, SecurityPolicy | UnreadPolicy]
    | Table[NamespacedName, BackendTrafficPolicy | UnreadPolicy]
    | Table[NamespacedName, ClientTrafficPolicy | UnreadPolicy]
    | Table[NamespacedName, EnvoyExtensionPolicy | UnreadPolicy]
)


class Claim(NamedTuple):
    """A policy that is for an object, or for a part of it; the oldest is first."""

    section: str
    """The name of a listener or rule; the whole object, if empty."""
    senior: Senior


class Label(NamedTuple):
    """A label by which objects find the policies whose selectors may select them."""

    kind: str
    namespace: str
    """The namespace of the policies; empty for those that select in other namespaces, too."""
    name: str = ""
    """The name of the label; empty for policies that ask for no label by its value."""
    value: str = ""


class PolicyKind:
    """A kind of policy: the indexes by which objects find theirs."""

    def __init__(
        self,
        name: str,
        table: PolicyTable,
        targets: tuple[str, ...] = TARGETS,
    ) -> None:
        self.name = name
        self.targets = targets
        self.table = cast("Table[NamespacedName, Policy]", table)
        self.naming: Index[ObjectRef, Claim] = Index(f"{name} by target", table, _by_target)
        self.selecting: Index[Label, Senior] = Index(f"{name} by label", table, _by_label)
        self.indexes = (self.naming, self.selecting)
        self.claims = self._claims()

    def _claims(self) -> Query[ObjectRef, frozenset[Claim]]:
        def claims(view: View, ref: ObjectRef) -> frozenset[Claim]:
            return view.bucket(self.naming, ref) | set(_selected(view, self, ref))

        claims.__name__ = f"claims_of_{self.name}"
        return query(claims)


@lru_cache(maxsize=1024)
def winners(claims: frozenset[Claim]) -> Mapping[str, NamespacedName]:
    """The policy that applies to each section that has any: the oldest. One policy may name
    thousands of sections, and each listener and route asks for its own."""
    return {it.section: it.senior.key for it in sorted(claims, reverse=True)}


def winner(claims: frozenset[Claim], *sections: str) -> NamespacedName | None:
    """The policy that applies: of the first section that has any, the oldest."""
    found = winners(claims)
    return next((found[it] for it in sections if it in found), None)


def of_rule(view: View, kind: PolicyKind, route: ObjectRef, rule: str) -> NamespacedName | None:
    """The policy of a rule of a route, by its name, or of the whole route."""
    claims = view.ask(kind.claims, route)
    return winner(claims, rule, "") if claims else None


def of_parts(view: View, kind: PolicyKind, route: ObjectRef) -> NamespacedName | None:
    """A policy of a route, or of any part of it, whether or not that is there."""
    if route.kind not in kind.targets:
        return None
    claims = view.ask(kind.claims, route)
    return winner(claims, *sorted({it.section for it in claims})) if claims else None


def of_listener(
    view: View, kind: PolicyKind, holder: ObjectRef, listener: str, gateway: NamespacedName
) -> NamespacedName | None:
    """The policy of a listener, of the Gateway or ListenerSet that has it, or of its Gateway."""
    own = winner(view.ask(kind.claims, holder), listener, "")
    whole = ObjectRef("Gateway", *gateway)
    if own is not None or holder == whole:
        return own
    return winner(view.ask(kind.claims, whole), "")


def undecided(view: View, kind: PolicyKind, ref: ObjectRef) -> Iterator[NamespacedName]:
    """The policies of which it is not known whether they are for an object: they select namespaces
    by labels, and those of its namespace have not been read."""
    if ref.kind not in kind.targets or not view.ask(namespaces.is_unknown, ref.namespace):
        return
    for it, wanted in _asking(view, kind, ref):
        allowed = wanted.namespaces
        selector = allowed.selector if allowed and allowed.from_ == "Selector" else None
        if selector is not None and namespaces.may_select(selector, ref.namespace):
            yield it.key


def references(spec: PolicyTargets) -> tuple[tuple[str, PolicyTargetReference], ...]:
    """The targets that a policy names, each with the path of its field."""
    first = (("targetRef", spec.target_ref),) if spec.target_ref is not None else ()
    return (*first, *((f"targetRefs[{n}]", it) for n, it in enumerate(spec.target_refs)))


def _by_target(key: NamespacedName, found: Policy) -> Iterator[tuple[ObjectRef, Claim]]:
    for _, it in references(found.spec):
        if it.group == GROUP:
            target = ObjectRef(it.kind, key.namespace, it.name)
            yield target, Claim(it.section_name or "", senior(found.metadata))


def _by_label(key: NamespacedName, found: Policy) -> Iterator[tuple[Label, Senior]]:
    for it in found.spec.target_selectors:
        if it.group == GROUP:
            is_wide = it.namespaces is not None and it.namespaces.from_ != "Same"
            namespace = "" if is_wide else key.namespace
            name, value = min((it.match_labels or {"": ""}).items())
            yield Label(it.kind, namespace, name, value), senior(found.metadata)


def _selected(view: View, kind: PolicyKind, ref: ObjectRef) -> Iterator[Claim]:
    for it, wanted in _asking(view, kind, ref):
        if _admits(view, wanted, it.key.namespace, ref.namespace):
            yield Claim("", it)


def _asking(
    view: View, kind: PolicyKind, ref: ObjectRef
) -> Iterator[tuple[Senior, TargetSelector]]:
    """The selectors of policies that select an object if they admit its namespace."""
    found = view.read(tables.BY_KIND[ref.kind], ref.key)
    if found is None:
        return
    metadata: ObjectMeta = found.metadata
    selecting = {
        it
        for namespace in (ref.namespace, "")
        for name, value in (("", ""), *metadata.labels.items())
        for it in view.bucket(kind.selecting, Label(ref.kind, namespace, name, value))
    }
    for it in sorted(selecting):
        yield from ((it, wanted) for wanted in _asked(view, kind, it.key, ref, metadata))


def _asked(
    view: View, kind: PolicyKind, own: NamespacedName, ref: ObjectRef, metadata: ObjectMeta
) -> Iterator[TargetSelector]:
    """The selectors of a policy that ask for the labels of an object, if a grant permits it. That
    is looked at first: what a policy of somebody else selects in vain costs nothing, and an edit of
    it wakes no object."""
    referrer = grants.Referrer(ENVOY_GATEWAY, kind.name, own.namespace)
    target = grants.Target(GROUP, ref.kind, ref.namespace, ref.name)
    if not grants.is_granted(view, referrer, target):
        return
    policy = view.read(kind.table, own)
    for it in policy.spec.target_selectors if policy is not None else ():
        is_of_kind = it.kind == ref.kind and it.group == GROUP
        if is_of_kind and selectors.selects(it, metadata.labels):
            yield it


def _admits(view: View, wanted: TargetSelector, own: str, namespace: str) -> bool:
    allowed = wanted.namespaces
    if allowed is None or allowed.from_ == "Same":
        return namespace == own
    if allowed.from_ == "Selector" and allowed.selector is not None:
        return selectors.selects(allowed.selector, view.ask(namespaces.labels, namespace))
    return allowed.from_ == "All"

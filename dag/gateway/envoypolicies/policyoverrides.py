"""Overrides: which more specific policies apply instead of a policy, on parts of its targets.

The policy of a listener or a route applies there instead of that of the Gateway; that of a rule
instead of that of its route. The overridden policy gets the condition `Overridden`, with the names
of the others while these are few. Only the parent references of routes are read, not whether a
listener accepts them: the condition may name a policy of a route that none accepts.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from crds.gateway.references import GROUP, ParentReference
from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.engine.view import Index, Query, View, query
from dag.gateway import routeparents
from dag.gateway.envoypolicies import policyparents, policytargets
from dag.gateway.envoypolicies.policyparents import HOLDERS
from dag.gateway.envoypolicies.policytargets import Policy, PolicyKind
from dag.problems import Problem
from dag.problems import policies as complaints
from dag.problems.places import Place

MOST_NAMED = 16
"""The most policies that are named; of more, the message says only that there are some."""


class Scope(NamedTuple):
    """A scope in which policies apply that are more specific than the one for the whole target."""

    target: ObjectRef
    """A Gateway, a ListenerSet or a route."""
    section: str = ""
    """The listener that routes name as a parent; empty: routes that name none."""
    is_part: bool = False
    """The policies are for listeners or rules of the target, not for routes attached to it."""
    is_merged: bool = False
    """The policies are merged with the one for the whole target, and do not replace it."""


Others: TypeAlias = frozenset[tuple[Scope, NamespacedName]]
IsMerging: TypeAlias = Callable[[View, NamespacedName], bool]
"""Whether a policy of a route is merged with others."""


class Overrides:
    """The policies of a kind that override others."""

    def __init__(self, kind: PolicyKind, is_merging: IsMerging) -> None:
        self.kind = kind
        self.is_merging = is_merging
        self.others = self._others()
        self.at: Index[Scope, NamespacedName] = Index(
            f"{kind.name} that hold instead of others", self.others, _by_scope
        )

    def _others(self) -> Query[ObjectRef, Others]:
        def others(view: View, ref: ObjectRef) -> Others:
            claims = view.ask(self.kind.claims, ref)
            found = view.read(tables.BY_KIND[ref.kind], ref.key) if claims else None
            if found is None:
                return frozenset()
            winners = policytargets.winners(claims)
            named = winners.keys() - {""}
            parts = [it for it in named if policyparents.has_section(view, ref, it)]
            holding = {it: winners.get(it) for it in ("", *parts)}
            scopes = {(Scope(ref, is_part=True), holding[it]) for it in parts}
            if ref.kind not in HOLDERS:
                at = [*_asked(ref, routeparents.of(view, found.spec, ref.namespace))]
                mine = [it for it in holding.values() if it is not None]
                scopes |= {
                    (scope._replace(is_merged=self.is_merging(view, it)), it)
                    for scope in at
                    for it in mine
                }
            return frozenset((scope, it) for scope, it in scopes if it is not None)

        others.__name__ = f"others_of_{self.kind.name}"
        return query(others)

    def problems_of(self, view: View, found: Policy, own: Place) -> Iterator[Problem]:
        """The policies that apply on parts of the targets that a policy names and applies to."""
        for _, it in policytargets.references(found.spec):
            if it.group != GROUP or it.kind not in self.kind.targets:
                continue
            ref, section = ObjectRef(it.kind, own.subject.namespace, it.name), it.section_name or ""
            claims = view.ask(self.kind.claims, ref)
            is_there = policyparents.has_section(view, ref, section)
            if not is_there or policytargets.winner(claims, section) != own.subject.key:
                continue
            target = f"{ref} ({section})" if section else str(ref)
            scopes = tuple(_scopes(view, ref, section))
            merged = tuple(it._replace(is_merged=True) for it in scopes)
            for at, tell in ((scopes, complaints.overridden), (merged, complaints.merged_into)):
                is_many = sum(view.count(self.at, it) for it in at) > MOST_NAMED
                names = () if is_many else self._named(view, at, own)
                if is_many or names:
                    yield tell(own, target, names)

    def _named(self, view: View, scopes: Iterable[Scope], own: Place) -> tuple[str, ...]:
        found = {it for scope in scopes for it in view.bucket(self.at, scope)}
        return tuple(str(it) for it in sorted(found - {own.subject.key}))


def _asked(ref: ObjectRef, parents: Iterable[ParentReference]) -> Iterator[Scope]:
    """The parents of a route."""
    for it in parents:
        holder = ObjectRef(it.kind, it.namespace or ref.namespace, it.name)
        yield Scope(holder, it.section_name or "")


def _scopes(view: View, ref: ObjectRef, section: str) -> Iterator[Scope]:
    if ref.kind not in HOLDERS:
        if not section:
            yield Scope(ref, is_part=True)
        return
    yield Scope(ref)
    if section:
        yield Scope(ref, section)
        return
    yield Scope(ref, is_part=True)
    found = view.read(tables.BY_KIND[ref.kind], ref.key)
    for it in found.spec.listeners if found is not None else ():
        yield Scope(ref, it.name)


def _by_scope(_: ObjectRef, found: Others) -> Iterator[tuple[Scope, NamespacedName]]:
    return iter(found)

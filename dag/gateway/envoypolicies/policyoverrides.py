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
from dag.gateway.envoypolicies import policytargets
from dag.gateway.envoypolicies.policyparents import HOLDERS
from dag.gateway.envoypolicies.policytargets import Policy, PolicyKind
from dag.problems import Problem
from dag.problems import policies as complaints
from dag.problems.places import Place

MOST_NAMED = 16
"""The most policies that are named; of more, the message says only that there are some."""


class Spot(NamedTuple):
    """A place where policies apply that are more specific than the one for the whole target."""

    target: ObjectRef
    """A Gateway, a ListenerSet or a route."""
    section: str = ""
    """The listener that routes name as a parent; empty: routes that name none."""
    is_part: bool = False
    """The policies are for listeners or rules of the target, not for routes attached to it."""
    is_merged: bool = False
    """The policies are merged with the one for the whole target, and do not replace it."""


Others: TypeAlias = frozenset[tuple[Spot, NamespacedName]]
IsMerging: TypeAlias = Callable[[View, NamespacedName], bool]
"""Whether a policy of a route is merged with others."""


class Overrides:
    """The policies of a kind that override others."""

    def __init__(self, kind: PolicyKind, is_merging: IsMerging) -> None:
        self.kind = kind
        self.is_merging = is_merging
        self.others = self._others()
        self.at: Index[Spot, NamespacedName] = Index(
            f"{kind.name} that hold instead of others", self.others, _by_spot
        )

    def _others(self) -> Query[ObjectRef, Others]:
        def others(view: View, ref: ObjectRef) -> Others:
            claims = view.ask(self.kind.claims, ref)
            found = view.read(tables.BY_KIND[ref.kind], ref.key) if claims else None
            if found is None:
                return frozenset()
            parts = {it.section for it in claims} - {""}
            holding = {it: policytargets.winner(claims, it) for it in ("", *parts)}
            spots = {(Spot(ref, is_part=True), holding[it]) for it in parts}
            if ref.kind not in HOLDERS:
                at = [*_asked(ref, found.spec.parent_refs)]
                mine = [it for it in holding.values() if it is not None]
                spots |= {
                    (spot._replace(is_merged=self.is_merging(view, it)), it)
                    for spot in at
                    for it in mine
                }
            return frozenset((spot, it) for spot, it in spots if it is not None)

        others.__name__ = f"others_of_{self.kind.name}"
        return query(others)

    def problems_of(self, view: View, found: Policy, own: Place) -> Iterator[Problem]:
        """The policies that apply on parts of the targets that a policy names and applies to."""
        for _, it in policytargets.references(found.spec):
            if it.group != GROUP or it.kind not in self.kind.targets:
                continue
            ref, section = ObjectRef(it.kind, own.subject.namespace, it.name), it.section_name or ""
            claims = view.ask(self.kind.claims, ref)
            if policytargets.winner(claims, section) != own.subject.key:
                continue
            target = f"{ref} ({section})" if section else str(ref)
            spots = tuple(_spots(view, ref, section))
            merged = tuple(it._replace(is_merged=True) for it in spots)
            for at, tell in ((spots, complaints.overridden), (merged, complaints.merged_into)):
                number = sum(view.count(self.at, it) for it in at)
                if number:
                    names = self._named(view, at, own) if number <= MOST_NAMED else ()
                    yield tell(own, target, names)

    def _named(self, view: View, spots: Iterable[Spot], own: Place) -> tuple[str, ...]:
        found = {it for spot in spots for it in view.bucket(self.at, spot)}
        return tuple(str(it) for it in sorted(found - {own.subject.key}))


def _asked(ref: ObjectRef, parents: Iterable[ParentReference]) -> Iterator[Spot]:
    """The parents that a route names."""
    for it in parents:
        holder = ObjectRef(it.kind, it.namespace or ref.namespace, it.name)
        yield Spot(holder, it.section_name or "")


def _spots(view: View, ref: ObjectRef, section: str) -> Iterator[Spot]:
    if ref.kind not in HOLDERS:
        if not section:
            yield Spot(ref, is_part=True)
        return
    yield Spot(ref)
    if section:
        yield Spot(ref, section)
        return
    yield Spot(ref, is_part=True)
    found = view.read(tables.BY_KIND[ref.kind], ref.key)
    for it in found.spec.listeners if found is not None else ():
        yield Spot(ref, it.name)


def _by_spot(_: ObjectRef, found: Others) -> Iterator[tuple[Spot, NamespacedName]]:
    return iter(found)

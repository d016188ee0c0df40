"""The effects of policies: what the policies of a kind do to routes, apart from their statuses.

The effect of a policy in use is settled before the routes that read it: an edit that does not
change the effect ends there, however many routes the policy is for.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeAlias, TypeVar

from crds.envoygateway.policytargets import UnreadPolicy
from crds.gateway.known import unknown_values
from crds.meta import NamespacedName
from crds.records import dataclass, replace
from crds.unserved import unserved
from dag import sizes, tables
from dag.engine.view import Index, Kept, Query, View, query
from dag.gateway.envoypolicies import policymerging
from dag.gateway.envoypolicies.policyancestors import Ancestry
from dag.gateway.envoypolicies.policymerging import Merging, Written, together
from dag.gateway.envoypolicies.policytargets import Policy
from dag.problems import Problem
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place, gathered
from dag.statuses import PolicyStatus

S = TypeVar("S")
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Meaning(Generic[E]):
    """What a policy does, and what is wrong with it."""

    effect: E
    problems: tuple[Problem, ...] = ()
    size: int = 0
    """How much text the effect has, which each route entry gets."""


Means: TypeAlias = Callable[[View, S, Place], Findings[E | None]]
"""What a policy that can be read does, by its specification; None if that cannot be built."""
Closing: TypeAlias = Callable[[View, Policy, Place], Iterator[Problem]]
"""Why a policy closes what it is for, whatever else it says."""


class Effects(Generic[S, E]):
    """The effects of a kind's policies; `closed` if one cannot be built, or is closed."""

    def __init__(
        self,
        ancestry: Ancestry,
        means: Means[S, E],
        closed: E,
        closing: Closing | None = None,
        merging: Merging[S] | None = None,
    ) -> None:
        self.ancestry = ancestry
        self.merging = merging
        self.means = means
        self.closed = closed
        self.closing = closing or unserved_guards
        name = ancestry.kind.name
        self.meaning = self._meaning()
        self.found: Index[NamespacedName, E] = Index(f"effects of {name}", self.meaning, _effect)
        self.sizes: Index[NamespacedName, int] = Index(f"sizes of {name}", self.meaning, _size)
        more = merging.indexes if merging is not None else ()
        self.indexes = (*ancestry.indexes, self.found, self.sizes, *more)
        self.kept = (*ancestry.kept, Kept(self.meaning, ancestry.in_use))
        if merging is not None:
            together = Kept(self.meaning, merging.in_use)
            self.kept += (Kept(merging.merges, ancestry.targeted), together)
        self.status = self._status()

    def of(self, view: View, policy: NamespacedName) -> E:
        """The effect of a policy that applies."""
        return next(iter(view.bucket(self.found, policy)), self.closed)

    def size(self, view: View, policy: NamespacedName) -> int:
        """How much text the effect of a policy that applies has."""
        return next(iter(view.bucket(self.sizes, policy)), 0)

    def is_merging(self, view: View, policy: NamespacedName) -> bool:
        """Whether the effect of a route's policy depends on the listener (`merged`)."""
        return self.merging is not None and self.merging.is_merging(view, policy)

    def merged(self, view: View, policy: NamespacedName, parent: NamespacedName | None) -> E:
        """The effect of a merged policy at a listener with this policy, or (None) without one."""
        return self.of(view, together(policy, parent))

    def _meaning(self) -> Query[NamespacedName, Meaning[E] | None]:
        def meaning(view: View, key: NamespacedName) -> Meaning[E] | None:
            found = self._read(view, key)
            if found is None:
                return None
            closing = (*found.refusals, *self.closing(view, found.policy, found.own))
            if found.spec is None:
                return Meaning(self.closed, closing)
            effect, told = gathered(self.means(view, found.spec, found.own))
            if effect is None or closing:
                effect = self.closed
            told = tuple(_retold(found.own, (*closing, *told)))
            return Meaning(effect, told, sizes.size(effect))

        meaning.__name__ = f"meaning_of_{self.ancestry.kind.name}"
        return query(meaning)

    def _read(self, view: View, key: NamespacedName) -> Written[S] | None:
        if self.merging is not None:
            return self.merging.read(view, key)
        return policymerging.alone(view, self.ancestry.kind, key)

    def _status(self) -> Query[NamespacedName, PolicyStatus | None]:
        def status(view: View, key: NamespacedName) -> PolicyStatus | None:
            return self.status_with(view, key, ())

        status.__name__ = f"status_of_{self.ancestry.kind.name}"
        return query(status)

    def status_with(
        self, view: View, key: NamespacedName, more: Iterable[Problem]
    ) -> PolicyStatus | None:
        """The status of a policy, with more problems that only its targets know."""
        is_used = view.count(self.ancestry.in_use, key) > 0
        if is_used and self.is_merging(view, key):
            return self._status_of_merged(view, key, more)
        meant = view.ask(self.meaning, key) if is_used else None
        told: Iterable[Problem] = meant.problems if meant is not None else ()
        return self.ancestry.status(view, key, (*told, *more))

    def _status_of_merged(
        self, view: View, key: NamespacedName, more: Iterable[Problem]
    ) -> PolicyStatus | None:
        assert self.merging is not None
        own = complaints.attached(self.ancestry.kind.name, key)
        places: defaultdict[NamespacedName, set[NamespacedName | None]] = defaultdict(set)
        for it in view.bucket(self.merging.of_policy, key):
            places[it.gateway].add(it.parent)
        targets = self.ancestry.holders(view, key)
        for gateway, _ in targets:
            places[gateway].add(None)
        told: dict[NamespacedName, tuple[Problem, ...]] = {}
        for gateway, parents in places.items():
            found = tuple(self._told(view, key, sorted(parents, key=repr)))
            with_ = tuple(str(it) for it in sorted(it for it in parents if it is not None))
            is_good = all(it.severity != "error" for it in found)
            merged = (complaints.merged_with(own, with_),) if with_ and is_good else ()
            told[gateway] = (*found, *merged)
        idle = (complaints.merging_has_no_effect(own, str(it)) for _, it in sorted(targets))
        return self.ancestry.status(view, key, (*idle, *more), told)

    def _told(
        self, view: View, key: NamespacedName, parents: Iterable[NamespacedName | None]
    ) -> Iterator[Problem]:
        for parent in parents:
            meant = view.ask(self.meaning, together(key, parent))
            yield from meant.problems if meant is not None else ()


def _retold(own: Place, found: Iterable[Problem]) -> Iterator[Problem]:
    """The problems of two merged policies, all reported on the first one."""
    for it in found:
        if it.subject == own.subject:
            yield it
        else:
            yield replace(it, subject=own.subject, message=f"{it.message} (of {it.subject})")


def unserved_guards(view: View, found: Policy, own: Place) -> Iterator[Problem]:
    """Fields and values of a policy that are not served or not known, and may guard something."""
    if isinstance(found, UnreadPolicy):
        yield complaints.policy_unread(own)
        return
    for field in unserved(found):
        if field.guards:
            yield complaints.policy_closes(Place(own.subject, field.path), f"is {field.why}")
    for value in unknown_values(found):
        yield complaints.policy_closes(Place(own.subject, value.path), value.message)
    if view.read(tables.UNKNOWN_FIELDS, own.subject):
        yield complaints.policy_closes(own, "has a field that is not known here")


def _effect(key: NamespacedName, found: Meaning[E]) -> Iterator[tuple[NamespacedName, E]]:
    yield key, found.effect


def _size(key: NamespacedName, found: Meaning[E]) -> Iterator[tuple[NamespacedName, int]]:
    if found.size:
        yield key, found.size

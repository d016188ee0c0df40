"""What the policies of a kind do to routes, beside what their owners are told.

The effect of a policy in use is settled before the routes that read it: an edit that changes none
ends there, however many routes the policy is for.
"""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from crds.envoygateway.policytargets import UnreadPolicy
from crds.gateway.known import unknown_values
from crds.meta import NamespacedName
from crds.records import dataclass
from crds.unserved import unserved
from dag import tables
from dag.engine.view import Index, Kept, Query, View, query
from dag.gateway.envoypolicies.policyancestors import Ancestry
from dag.gateway.envoypolicies.policytargets import Policy
from dag.problems import Problem
from dag.problems import policies as complaints
from dag.problems.places import Place
from dag.statuses import PolicyStatus

E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Meaning(Generic[E]):
    """What a policy does, and what is wrong with it."""

    effect: E
    problems: tuple[Problem, ...] = ()


class Effects(Generic[E]):
    """What the policies of a kind do."""

    def __init__(
        self, ancestry: Ancestry, meaning: Query[NamespacedName, Meaning[E] | None], closed: E
    ) -> None:
        self.ancestry = ancestry
        self.meaning = meaning
        self.closed = closed
        name = ancestry.kind.name
        self.found: Index[NamespacedName, E] = Index(f"effects of {name}", meaning, _effect)
        self.indexes = (*ancestry.indexes, self.found)
        self.kept = (*ancestry.kept, Kept(meaning, ancestry.in_use))
        self.status = self._status()

    def of(self, view: View, policy: NamespacedName) -> E:
        """What a policy that applies does."""
        return next(iter(view.bucket(self.found, policy)), self.closed)

    def _status(self) -> Query[NamespacedName, PolicyStatus | None]:
        def status(view: View, key: NamespacedName) -> PolicyStatus | None:
            is_used = view.count(self.ancestry.in_use, key) > 0
            meant = view.ask(self.meaning, key) if is_used else None
            told: Iterable[Problem] = meant.problems if meant is not None else ()
            return self.ancestry.status(view, key, told)

        status.__name__ = f"status_of_{self.ancestry.kind.name}"
        return query(status)


def closing(view: View, found: Policy, own: Place) -> Iterator[Problem]:
    """What a policy says that is not served, or not known, and may guard something."""
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

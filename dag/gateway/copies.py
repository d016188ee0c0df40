"""How much text a route makes: what it and its policies say, for each of its matches on each host.

Envoy has all of this in each route entry, so two small objects could become gigabytes. A route that
makes too much answers an error instead, with its own matches: no wider route may take its requests
past its guards. Others with the same policy stay, so no route can close another one. What is
compared is a product of numbers that are known before any entry is made.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag import nodes
from dag.engine.view import Index, View, query
from dag.gateway import actions, attachment, routes
from dag.gateway.envoypolicies import policytargets, securitypolicies, trafficpolicies
from dag.gateway.envoypolicies.policymerging import together
from dag.gateway.envoypolicies.policytargets import PolicyKind
from dag.gateway.rules import Rules
from dag.gateway.servedlisteners import ServedListener
from dag.problems import Problem
from dag.problems import policies as complaints
from dag.problems.places import Place

MAX_MEBIBYTES = 32
"""The most text of a route, with all its hosts: 16 KiB for each of 2,048 entries, as 128 matches on
16 hosts are, which is what the API allows. It takes up to five times as much memory, and about a
second to be made."""

MOST_NAMED = 3
"""The most routes that are told to a policy."""

_SMALL = 16 << 10
"""The text for one host that is not worth counting hosts: that would take 2,048 of them."""


class _Effects(Protocol):
    """The effects of the policies of a kind (`policyeffects.Effects`)."""

    def is_merging(self, view: View, policy: NamespacedName) -> bool: ...
    def size(self, view: View, policy: NamespacedName) -> int: ...


_KINDS: tuple[tuple[str, _Effects, PolicyKind], ...] = (
    (securitypolicies.KIND, securitypolicies.EFFECTS, securitypolicies.POLICIES),
    (trafficpolicies.KIND, trafficpolicies.EFFECTS, trafficpolicies.POLICIES),
)
"""The kinds of policies with text that routes get."""


class Spread(NamedTuple):
    """A route at a listener, with the policies of that listener, of each of the kinds."""

    route: ObjectRef
    listener: ObjectRef
    section: str
    inherited: tuple[NamespacedName | None, ...]


class Excess(NamedTuple):
    """A route that makes too much text."""

    route: ObjectRef
    entries: int
    """On each host."""
    hosts: int
    text: int
    """Of all entries of a host, in characters."""
    policies: tuple[ObjectRef, ...]

    @property
    def numbers(self) -> str:
        """The product, for messages."""
        total = self.text * self.hosts / (1 << 20)
        of = f"{self.text // 1024} KiB for its {self.entries} matches on each of {self.hosts} hosts"
        return f"{of} are {total:.3g} MiB, and {MAX_MEBIBYTES} MiB are the most"


def inherited(view: View, owner: ServedListener) -> tuple[NamespacedName | None, ...]:
    """The policies of a listener whose text its routes may get."""
    section, gateway = owner.section, owner.gateway
    return tuple(policytargets.of_listener(view, it, *section, gateway) for _, _, it in _KINDS)


def closes(view: View, key: Spread, rules: Rules) -> bool:
    """Whether a route makes too much text at a listener."""
    is_small = rules.text + sum(it for _, it in _added(view, key, rules)) <= _SMALL
    return not is_small and view.ask(excess, key) is not None


@query
def excess(view: View, key: Spread) -> Excess | None:
    """What is told of a route that makes too much text at a listener; None if it does not."""
    rules, found = routes.rules(view, key.route), view.ask(attachment.attachment, key.route)
    if found is None:
        return None
    hosts = len({point for parent in found.parents for point in parent.points})
    added = tuple(_added(view, key, rules))
    text = rules.text + sum(it for _, it in added)
    if text * hosts <= MAX_MEBIBYTES << 20:
        return None
    made = _entries(rules)
    policies = {it for it, _ in added}.union(*(it.attached for it in made))
    return Excess(key.route, len(made), hosts, text, tuple(sorted(policies)))


def _entries(rules: Rules) -> tuple[nodes.Route, ...]:
    return (*rules.routes, *rules.if_guarded)


def _added(view: View, key: Spread, rules: Rules) -> Iterator[tuple[ObjectRef, int]]:
    """What each entry of a route gets by a policy of the listener, or by one that is merged there:
    the policy, and how much text."""
    for (kind, effects, _), parent in zip(_KINDS, key.inherited, strict=True):
        for route in _entries(rules):
            own = next((it for it in route.attached if it.kind == kind), None)
            if own is not None and effects.is_merging(view, own.key):
                yield own, effects.size(view, together(own.key, parent))
            if own is None and parent is not None:
                yield ObjectRef(kind, *parent), effects.size(view, parent)


def closed(route: nodes.Route) -> nodes.Route:
    """The entry of a route that makes too much text."""
    answer = actions.nowhere(route.origin.kind)
    bare = replace(route, request_headers=None, response_headers=None, policies=None)
    return replace(bare, action=answer)


def problems_of(view: View, ref: ObjectRef, own: Place) -> Iterator[Problem]:
    """What is told of a route, or of a policy, by which routes make too much text."""
    found = sorted(view.bucket(CLOSED, ref))
    more = f" (and {len(found) - MOST_NAMED} more do so)" if len(found) > MOST_NAMED else ""
    for it in found[:MOST_NAMED]:
        whose = "the route" if it.route == ref else str(it.route)
        yield complaints.too_much_text(own, f"{whose}{more}", it.numbers)


def _closed(_: Spread, found: Excess) -> Iterator[tuple[ObjectRef, Excess]]:
    yield from ((it, found) for it in (found.route, *found.policies))


CLOSED: Index[ObjectRef, Excess] = Index("routes with too much text", excess, _closed)

INDEXES = (CLOSED,)

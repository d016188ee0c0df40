"""The rates of requests that a BackendTrafficPolicy allows, by each Envoy and for all together.

Rules of global limits and their numbers are separate, as those of RateLimitFilters are: routes have
the rules, and the rate limit service gets the numbers, so an edit of a number affects no route. A
rule has no name, so its conditions and its unit identify it. A limit that cannot be kept closes the
routes. Source: Envoy Gateway 1.9. Elsewhere: which requests are counted (`limitselectors`), who
counts (`dag.ratelimitclient`).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from crds.envoygateway import policyratelimits as crd
from crds.envoygateway.policytargets import UnreadPolicy
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
from dag import nodes, ratelimitclient, tables
from dag.engine.view import Index, View, query
from dag.gateway.envoypolicies import limitselectors
from dag.gateway.identities import named
from dag.problems import Problem, Refused, shared
from dag.problems import policies as complaints
from dag.problems.places import Findings, Place

KIND = "BackendTrafficPolicy"

MOST_COST = 1_000_000_000
"""The highest cost that Envoy counts for one request."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The global limits of a policy."""

    limits: tuple[nodes.Limit, ...] | Problem
    """The limits of its routes; a problem if they cannot be built."""
    counted: tuple[nodes.CountedRule, ...] = ()
    """The rules with their numbers, for the rate limit service."""


@query
def meaning(view: View, key: NamespacedName) -> Meaning | None:
    """The global limits of a policy; None if it has none, or does not exist."""
    found = view.read(tables.TRAFFIC_POLICIES, key)
    if found is None or isinstance(found, UnreadPolicy) or found.spec.rate_limit is None:
        return None
    asked = found.spec.rate_limit.global_
    if asked is None or not asked.rules:
        return None
    own = complaints.attached(KIND, key)
    try:
        return _meaning(asked.rules, own.at("rateLimit").at("global"))
    except Refused as refused:
        return Meaning(refused.problem)


def counted(view: View, key: NamespacedName) -> tuple[nodes.CountedRule, ...]:
    """The rules of a policy with their numbers, for the rate limit service."""
    found = view.ask(meaning, key)
    return found.counted if found is not None else ()


def of_all(
    view: View, found: crd.PolicyRateLimit | None, own: Place
) -> tuple[nodes.Limit, ...] | None:
    """The global limits of a policy, or of two that are merged, each under its own name; None if
    there are none, Refused if they cannot be kept."""
    asked = found.global_ if found is not None else None
    if asked is None or not asked.rules:
        return None
    at = own.at("rateLimit").at("global")
    subjects = [at.at("rules", index).subject for index in range(len(asked.rules))]
    for it in dict.fromkeys(subjects):
        view.ask(meaning, it.key)  # it is in use, so somebody is to count
    limits = _meaning(asked.rules, at).limits
    if obstacle := view.ask(ratelimitclient.obstacle, ()):
        raise Refused(complaints.policy_closes(at, f"cannot be counted: {obstacle}"))
    return limits if isinstance(limits, tuple) else None


def _meaning(rules: tuple[crd.GlobalRule, ...], at: Place) -> Meaning:
    places = [at.at("rules", index) for index in range(len(rules))]
    conditions = _conditions(rules, places, at)
    for place, entries in zip(places, conditions, strict=True):
        if why := ratelimitclient.refusal(len(entries)):
            raise Refused(complaints.policy_closes(place.at("clientSelectors"), why))
    units: list[nodes.LimitUnit] = [it.limit.unit for it in rules]
    names = _names(zip(conditions, units, strict=True), [it.subject for it in places])
    made = zip(names, rules, places, conditions, strict=True)
    return Meaning(
        tuple(
            nodes.Limit(
                place.subject,
                name,
                entries,
                is_shared=bool(it.shared),
                cost=_cost(it.cost.request, place, "request") if it.cost else None,
                late_cost=_cost(it.cost.response, place, "response") if it.cost else None,
                tells=_tells(it),
                tells_by_itself=it.x_rate_limit_headers is None,
            )
            for name, it, place, entries in made
        ),
        tuple(
            nodes.CountedRule(name, it.limit.unit, entries, it.limit.requests, bool(it.shadow_mode))
            for name, it, entries in zip(names, rules, conditions, strict=True)
        ),
    )


def _names(
    rules: Iterable[tuple[tuple[nodes.CountedEntry, ...], nodes.LimitUnit]],
    owners: list[ObjectRef],
) -> list[str]:
    """The name of each rule: the one that it has in the policy that it comes from."""
    of_each: defaultdict[ObjectRef, list[object]] = defaultdict(list)
    for owner, it in zip(owners, rules, strict=True):
        of_each[owner].append(it)
    names = {owner: iter(named(found)) for owner, found in of_each.items()}
    return [next(names[it]) for it in owners]


def local(found: crd.PolicyRateLimit | None, own: Place) -> Findings[nodes.LocalLimits | None]:
    """The limits that each Envoy enforces by itself; Refused if one cannot be enforced. Those whose
    requests cost nothing are left out: Envoy would refuse each of their requests."""
    if found is None or found.local is None or not found.local.rules:
        return None
    at, rules = own.at("rateLimit").at("local"), found.local.rules
    places = [at.at("rules", index) for index in range(len(rules))]
    conditions = _conditions(rules, places, at)
    made = [_local(*it) for it in zip(rules, places, conditions, strict=True)]
    for place, it in zip(places, made, strict=True):
        if it.cost == 0:
            field = place.at("cost").at("request").at("number")
            yield shared.no_effect(place, f"{field.path} is 0, so no request counts")
    kept = tuple(it for it in made if it.cost != 0)
    return nodes.LocalLimits(kept) if kept else None


def _local(
    found: crd.LocalRule, at: Place, entries: tuple[nodes.CountedEntry, ...]
) -> nodes.LocalLimit:
    limit = found.limit
    if not limit.requests:
        raise Refused(complaints.policy_closes(at.at("limit").at("requests"), "must be at least 1"))
    return nodes.LocalLimit(
        limit.requests,
        limit.unit,
        entries,
        cost=_cost(found.cost.request, at, "request") if found.cost else None,
        is_shadow=bool(found.shadow_mode),
        tells=_tells(found),
        tells_by_itself=found.x_rate_limit_headers is None,
    )


def _conditions(
    rules: tuple[crd.LimitRule, ...], places: list[Place], at: Place
) -> list[tuple[nodes.CountedEntry, ...]]:
    """The conditions of each rule; Refused if there are too many of them together."""
    found = [limitselectors.entries(it, place) for it, place in zip(rules, places, strict=True)]
    number = sum(len(it) for it in found)
    if number > limitselectors.MOST_CONDITIONS:
        most = limitselectors.MOST_CONDITIONS
        why = f"has {number} conditions on requests, more than {most}"
        raise Refused(complaints.policy_closes(at.at("rules"), why))
    return found


def _cost(found: crd.CostSource | None, at: Place, field: str) -> int | None:
    """The cost of a request; None if it is not set. A cost from metadata is not served: Refused."""
    if found is None:
        return None
    place = at.at("cost").at(field).at("number")
    if found.number is None:
        raise Refused(complaints.policy_closes(place, "must be set"))
    if not 0 <= found.number <= MOST_COST:
        raise Refused(complaints.policy_closes(place, f"is not between 0 and {MOST_COST}"))
    return found.number


def _tells(found: crd.LimitRule) -> bool:
    return found.x_rate_limit_headers != "Off"


def _used(key: NamespacedName, found: Meaning) -> Iterator[tuple[tuple[()], ObjectRef]]:
    if not isinstance(found.limits, Problem):
        yield (), ObjectRef(KIND, *key)


USED: Index[tuple[()], ObjectRef] = Index(
    "BackendTrafficPolicies with global limits", meaning, _used
)
"""The BackendTrafficPolicies with global limits that are in use."""

INDEXES = (USED,)

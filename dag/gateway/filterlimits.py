"""What a RateLimitFilter says: its rules, and how many requests each lets pass.

The two are separate: routes read the rules (`RULES`), and the rate limit service gets the numbers,
so an edit of a number affects no route, however many name the filter. A rule has no name, so its
conditions and its unit identify it. The fields are those of Envoy Gateway 0.3 to 0.5. Elsewhere:
what is counted on a route that names the filter (`ratelimitfilters`).
"""

from collections.abc import Iterator

from crds.envoygateway import ratelimitfilter as crd
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
from dag import nodes, ratelimitclient, tables
from dag.engine.view import Index, Kept, View, query
from dag.gateway.identities import named
from dag.problems import Problem, Refused
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.values import addresses, headers, regexes

KIND = "RateLimitFilter"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a filter without its number."""

    name: str
    """Unique in the filter."""
    unit: nodes.LimitUnit
    entries: tuple[nodes.CountedEntry, ...]
    """All have to hold, or the request is not counted."""


Rules = tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a filter says."""

    rules: Rules | Problem
    """A problem, with its place in the filter, if it cannot be served."""
    requests: tuple[int, ...] = ()
    """The number of requests of each rule, for the rate limit service."""


@query
def meaning(view: View, key: NamespacedName) -> Meaning | None:
    """What a filter says; None if there is no such filter."""
    written = view.read(tables.RATE_LIMIT_FILTERS, key)
    if written is None:
        return None
    own = Place(ObjectRef(KIND, *key))
    if written.spec.global_ is None:
        return Meaning(problems.filter_not_valid(own.at("global"), "must be set for type Global"))
    found = written.spec.global_.rules
    try:
        rules = tuple(_rules(own.at("global"), found))
    except Refused as refused:
        return Meaning(refused.problem)
    return Meaning(rules, tuple(it.limit.requests for it in found))


def counted(view: View, key: NamespacedName) -> tuple[nodes.CountedRule, ...]:
    """The rules of a filter with their numbers, for the rate limit service."""
    found = view.ask(meaning, key)
    if found is None or isinstance(found.rules, Problem):
        return ()
    told = zip(found.rules, found.requests, strict=True)
    return tuple(nodes.CountedRule(it.name, it.unit, it.entries, number) for it, number in told)


def _rules(at: Place, written: tuple[crd.RateLimitRule, ...]) -> Iterator[Rule]:
    places = [at.at("rules", index) for index in range(len(written))]
    conditions = [tuple(_conditions(*it)) for it in zip(places, written, strict=True)]
    for place, entries in zip(places, conditions, strict=True):
        if why := ratelimitclient.refusal(len(entries)):
            raise Refused(problems.filter_not_valid(place.at("clientSelectors"), why))
    units: list[nodes.LimitUnit] = [it.limit.unit for it in written]
    names = named(zip(conditions, units, strict=True))
    for name, unit, entries in zip(names, units, conditions, strict=True):
        yield Rule(name, unit, entries)


def _conditions(at: Place, rule: crd.RateLimitRule) -> Iterator[nodes.CountedEntry]:
    for index, selector in enumerate(rule.client_selectors):
        place = at.at("clientSelectors", index)
        names = [it.name.lower() for it in selector.headers]
        for number, header in enumerate(selector.headers):
            if names.index(header.name.lower()) != number:
                text = f"header {header.name[:60]!r} is there twice"
                raise Refused(problems.filter_not_valid(place.at("headers", number), text))
            yield _header(place.at("headers", number), header)
        if selector.source_ip is not None:
            yield _range(place.at("sourceIP"), selector.source_ip)
        if (cidr := selector.source_cidr) is not None:
            yield from _source(place.at("sourceCIDR"), cidr)


def _header(at: Place, header: crd.RateLimitHeader) -> nodes.CountedEntry:
    name = header.name.lower()
    if refusal := headers.name_refusal(name):
        raise Refused(problems.filter_not_valid(at.at("name"), f"{name[:60]!r} {refusal}"))
    if header.type == "Distinct":
        if header.value is not None:
            text = "must be absent for type Distinct"
            raise Refused(problems.filter_not_valid(at.at("value"), text))
        return nodes.RequestHeader(name, name)
    if header.value is None:
        text = f"must be set for type {header.type}"
        raise Refused(problems.filter_not_valid(at.at("value"), text))
    if header.type == "Exact":
        value = nodes.ValueMatch("exact", header.value)
    elif refusal := regexes.refusal(header.value):
        text = f"{header.value[:60]!r} {refusal}"
        raise Refused(problems.filter_not_valid(at.at("value"), text))
    else:
        value = nodes.ValueMatch("regex", header.value)
    return nodes.HeaderValueMatch((nodes.HeaderMatch(name, value),), "yes")


def _source(at: Place, cidr: crd.SourceCIDR) -> Iterator[nodes.CountedEntry]:
    if cidr.type not in ("Exact", "Distinct"):
        text = f"{cidr.type[:60]!r} is neither Exact nor Distinct"
        raise Refused(problems.filter_not_valid(at.at("type"), text))
    yield _range(at.at("value"), cidr.value)
    if cidr.type == "Distinct":
        yield nodes.RemoteAddress()


def _range(at: Place, text: str) -> nodes.ClientRange:
    network = addresses.network(text)
    if network is None:
        told = f"{text[:60]!r} is not a range in CIDR notation"
        raise Refused(problems.filter_not_valid(at, told))
    return nodes.ClientRange(network)


def _entries(
    key: NamespacedName, found: Meaning
) -> Iterator[tuple[NamespacedName, Rules | Problem]]:
    yield key, found.rules


RULES: Index[NamespacedName, Rules | Problem] = Index(
    "rules of RateLimitFilters", meaning, _entries
)
"""By filter: one member, its rules or why it cannot be served, if the filter exists."""

INDEXES = (RULES,)
KEPT = (Kept(meaning, tables.RATE_LIMIT_FILTERS),)
"""Settled before the routes that read `RULES`."""

"""RateLimitFilters of a rule: which of its requests are counted together, and how many may pass.

The fields are those of Envoy Gateway 0.3 to 0.5. Each rule of each filter counts on its own; the
conditions of a rule all have to hold. What counts is known by identity, so an edit of another rule
or filter begins no count anew: the route and its rule (by its name, else by its matches), the
filter and its rule (by its conditions and unit, for these have no names). Elsewhere: who counts
(`dag.counting`), what the owner of a filter is told (`ratelimitstatus`).
"""

import ipaddress
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b

from crds.envoygateway import ratelimitfilter as crd
from crds.meta import NamespacedName, ObjectRef
from dag import counting, nodes, tables
from dag.engine.view import View
from dag.gateway.resolving import Reference
from dag.problems import Refused
from dag.problems import gateway as problems
from dag.problems.places import Findings, Place
from dag.values import headers, regexes


def policies(
    view: View, references: Sequence[Reference], made: nodes.Policies
) -> Findings[nodes.Policies]:
    """The limits of all filters of a rule, each of which counts on its own."""
    found = [it for reference in dict.fromkeys(references) for it in _limits(view, reference)]
    yield from ()
    return replace(made, limits=tuple(found) or None)


def _limits(view: View, reference: Reference) -> Iterator[nodes.Limit]:
    target, at = reference
    found = view.read(tables.RATE_LIMIT_FILTERS, target)
    if found is None:
        raise Refused(problems.filter_not_found(at, f"RateLimitFilter {target} not found"))
    if obstacle := view.ask(counting.obstacle, ()):
        raise Refused(problems.filter_not_found(at, f"RateLimitFilter {target}: {obstacle}"))
    try:
        yield from _read(target, found, at)
    except Refused as refused:
        text = f"RateLimitFilter {target}: {refused.problem.message}"
        raise Refused(problems.filter_not_valid(at, text)) from refused


def _read(target: NamespacedName, found: crd.RateLimitFilter, at: Place) -> Iterator[nodes.Limit]:
    """Raises Refused, with the place in the filter."""
    own = Place(ObjectRef("RateLimitFilter", *target))
    if found.spec.global_ is None:
        raise Refused(problems.filter_not_valid(own.at("global"), "must be set for type Global"))
    rules = found.spec.global_.rules
    conditions = [
        tuple(_conditions(own.at("global").at("rules", index), it))
        for index, it in enumerate(rules)
    ]
    named = _named((it, rule.limit.unit) for it, rule in zip(conditions, rules, strict=True))
    route = "/".join(at.subject)
    for rule, entries, name in zip(rules, conditions, named, strict=True):
        yield nodes.Limit(
            bucket=(route, str(target), name),
            requests=rule.limit.requests,
            unit=rule.limit.unit,
            entries=entries,
            origins=(own.subject, at.subject),
        )


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
    try:
        return nodes.ClientRange(str(ipaddress.ip_network(text, strict=False)))
    except ValueError as error:
        told = f"{text[:60]!r} is not a range in CIDR notation"
        raise Refused(problems.filter_not_valid(at, told)) from error


def of_rules(
    asked: Iterable[tuple[str, Sequence[Hashable]]],
) -> tuple[str, ...]:
    """The identities of the rules of a route: by their names, else by their matches."""
    return _named(name or matches for name, matches in asked)


def of_rule(route: nodes.Route, rule: str) -> nodes.Route:
    """A route whose limits are those of this rule of its object, and of no other."""
    found = route.policies
    if found is None or found.limits is None:
        return route
    limits = (replace(it, bucket=(it.bucket[0], rule, *it.bucket[1:])) for it in found.limits)
    return replace(route, policies=replace(found, limits=tuple(limits)))


def _named(found: Iterable[object]) -> tuple[str, ...]:
    """A name for each, by its content; equal ones are numbered."""
    seen: Counter[str] = Counter()
    names: list[str] = []
    for it in found:
        name = it if isinstance(it, str) else blake2b(repr(it).encode(), digest_size=8).hexdigest()
        names.append(f"{name}/{seen[name]}")
        seen[name] += 1
    return tuple(names)

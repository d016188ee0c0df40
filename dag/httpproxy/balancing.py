"""How requests or connections are spread over the endpoints of a Service.

An ambiguous source of a hash is left out with a warning; without any source, the default strategy
is used. Source: HTTPProxy reference, "LoadBalancerPolicy", "RequestHashPolicy".
"""

from typing import NamedTuple

from crds import policies as crd
from dag import nodes
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place
from dag.values import headers, strategies

AFFINITY = nodes.HashPolicy("Cookie", "X-Contour-Session-Affinity", ttl=0.0, path="/")
"""The cookie that keeps a client with its endpoint, as upstream Contour names it."""


class Spread(NamedTuple):
    """A strategy, and what it hashes."""

    balancing: nodes.Balancing = "RoundRobin"
    hash_policies: tuple[nodes.HashPolicy, ...] = ()


def of_requests(place: Place, policy: crd.LoadBalancerPolicy | None) -> Findings[Spread]:
    """How requests are spread."""
    if policy is None:
        return Spread()
    match policy.strategy:
        case "Cookie":
            return Spread("RingHash", (AFFINITY,))
        case "RequestHash":
            found = yield from _sources(place.at("loadBalancerPolicy"), policy)
            return Spread("RingHash", found) if found else Spread()
        case _:
            return (yield from of_connections(place, policy))


def of_connections(place: Place, policy: crd.LoadBalancerPolicy | None) -> Findings[Spread]:
    """How connections are spread; strategies that hash need requests."""
    strategy = policy.strategy if policy is not None else ""
    if strategy not in strategies.PLAIN:
        at = place.at("loadBalancerPolicy").at("strategy")
        why = f"{strategy[:60]!r} is no strategy here, so RoundRobin is used"
        yield problems.ignored_field(at, why)
    return Spread(strategies.PLAIN.get(strategy, "RoundRobin"))


def _sources(
    place: Place, policy: crd.LoadBalancerPolicy
) -> Findings[tuple[nodes.HashPolicy, ...]]:
    found: dict[tuple[str, str], nodes.HashPolicy] = {}
    for index, written in enumerate(policy.request_hash_policies):
        at = place.at("requestHashPolicies", index)
        source = _source(written)
        if isinstance(source, str):
            yield problems.ignored_field(at, source)
        elif found.setdefault((source.source, source.name), source) is not source:
            yield problems.ignored_field(at, "hashes what another one hashes already")
    if not found:
        yield problems.ignored_field(place, "nothing is hashed, so RoundRobin is used")
    return tuple(found.values())


def _source(written: crd.RequestHashPolicy) -> nodes.HashPolicy | str:
    """What is hashed, or why this policy hashes nothing."""
    header, query = written.header_hash_options, written.query_parameter_hash_options
    if [header is not None, query is not None, written.hash_source_ip].count(True) != 1:
        return "needs exactly one of headerHashOptions, queryParameterHashOptions and hashSourceIP"
    if header is not None:
        if refusal := headers.name_refusal(header.header_name):
            return f"header {header.header_name[:60]!r} {refusal}"
        name = header.header_name.lower()
        return nodes.HashPolicy("Header", name, is_terminal=written.terminal)
    if query is not None:
        return nodes.HashPolicy("Query", query.parameter_name, is_terminal=written.terminal)
    return nodes.HashPolicy("SourceIp", is_terminal=written.terminal)

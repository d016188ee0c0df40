"""Backends of a rule that share a cluster: fallbacks with others, and those of a session.

Envoy fails over between the priorities of one cluster (`fallback: true`, Envoy Gateway 1.9), and
keeps a session among the endpoints of one cluster (`sessionPersistence`, GEP-1619: a session stays
with its backend, even if the weight of that is 0 by now). So backends of such a rule become one
cluster: fallbacks get the second priority, all others the first, each with its weight. They must
agree in what a cluster has only once: protocol, TLS, and whether DNS resolves them; with a session
also in their limits. A fallback that differs gets no requests, and sessions do not hold for a
backend that differs; both are reported. The same holds for all backends of a rule with filters on
its backends, which Envoy has for each cluster.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from crds.gateway.httproute import HTTPRouteRule
from crds.gateway.references import BackendObjectReference
from crds.gateway.routes import BackendRef
from crds.kinds import ENVOY_GATEWAY
from crds.meta import NamespacedName
from crds.records import replace
from dag import backendaddresses, nodes
from dag.engine.view import View
from dag.gateway import backends, envoybackends
from dag.problems import backends as problems
from dag.problems.places import Findings, Place


class Share(NamedTuple):
    """The cluster and weight of a reference of a rule; with weight 0 it gets no new requests."""

    cluster: nodes.Cluster | None
    weight: int


def prepared(view: View, rule: HTTPRouteRule, at: Place) -> Findings[HTTPRouteRule]:
    """The rule; if its backends have filters of their own, its fallbacks get weight 0."""
    why = "backends of the rule have filters of their own"
    if rule.session_persistence is not None and not shares_sessions(rule):
        yield problems.session_parted(at.at("sessionPersistence"), why)
    live = [it for it in rule.backend_refs if it.weight > 0]
    if not any(it.filters for it in live):
        return rule
    standing_by = [it.weight > 0 and _is_fallback(view, it, at) for it in rule.backend_refs]
    if not any(standing_by) or sum(standing_by) == len(live):
        return rule
    for index, is_fallback in enumerate(standing_by):
        if is_fallback:
            yield problems.fallback_left_out(at.at("backendRefs", index), why)
    kept = (
        replace(it, weight=0) if is_fallback else it
        for it, is_fallback in zip(rule.backend_refs, standing_by, strict=True)
    )
    return replace(rule, backend_refs=tuple(kept))


def shares_sessions(rule: HTTPRouteRule) -> bool:
    """Whether a rule with sessions has backends that may share a cluster."""
    are_plain = len(rule.backend_refs) < 2 or not any(it.filters for it in rule.backend_refs)
    return rule.session_persistence is not None and are_plain


def shares(
    view: View,
    references: Sequence[BackendRef],
    found: Sequence[nodes.Cluster | None],
    at: Place,
    *,
    with_sessions: bool = False,
) -> Findings[tuple[Share, ...]]:
    """The share of each reference of a rule; yields why some of them do not share a cluster."""
    made = [Share(it, ref.weight) for ref, it in zip(references, found, strict=True)]
    known = [index for index, it in enumerate(made) if it.cluster is not None]
    live = [index for index in known if made[index].weight]
    spare = [index for index in live if _is_fallback(view, references[index], at)]
    if len(spare) == len(live):
        spare = []
    first = next((index for index in live if index not in spare), None)
    if first is None or not (spare or with_sessions):
        return tuple(made)
    alike = [first]
    for index in (it for it in (known if with_sessions else live) if it != first):
        why = _difference(view, _clusters(made, [*alike, index]))
        if with_sessions and index not in spare:
            why = why or _other_limits(_clusters(made, [first, index]))
        if not why:
            alike.append(index)
        elif index in spare:
            made[index] = made[index]._replace(weight=0)
            yield problems.fallback_left_out(at.at("backendRefs", index), why)
        elif with_sessions:
            yield problems.session_parted(at.at("backendRefs", index), why)
    if len(alike) == 1 or not (with_sessions or any(index in spare for index in alike)):
        return tuple(made)
    members = [_Part(made[index], index in spare) for index in alike]
    weight = sum(it.share.weight for it in members if not it.is_fallback)
    for index in alike:
        made[index] = Share(None, 0)
    made[first] = Share(_joined(view, members), weight)
    return tuple(made)


class _Part(NamedTuple):
    share: Share
    is_fallback: bool


def _is_fallback(view: View, reference: BackendObjectReference, at: Place) -> bool:
    if (reference.group, reference.kind) != (ENVOY_GATEWAY, envoybackends.KIND):
        return False
    key = NamespacedName(reference.namespace or at.subject.namespace, reference.name)
    return view.ask(envoybackends.is_fallback, key)


def _clusters(made: Sequence[Share], indexes: Iterable[int]) -> list[nodes.Cluster]:
    return [it for it in (made[index].cluster for index in indexes) if it is not None]


def _difference(view: View, found: Sequence[nodes.Cluster]) -> str:
    """Why backends cannot share a cluster; empty if they can."""
    first, last = found[0], found[-1]
    if _terms(first) != _terms(last) or _shown(view, first) != _shown(view, last):
        return f"{last.port.owner} is not spoken to as {first.port.owner}"
    if any(it.dns for it in found):
        for it in found:
            if not _names(view, it):
                return f"DNS does not find both {first.port.owner} and {last.port.owner}"
    return ""


def _other_limits(found: Sequence[nodes.Cluster]) -> str:
    """That limits of backends differ (circuit breakers, retry budgets); empty if not."""
    first, last = found
    if (first.limits, first.retry_budget) == (last.limits, last.retry_budget):
        return ""
    return f"{last.port.owner} has other limits than {first.port.owner}"


def _shown(view: View, found: nodes.Cluster) -> bool:
    """Whether Envoy shows the client certificate of a Gateway to a backend."""
    return found.tls is not None and backends.has_tls_policy(view, found.port)


def _terms(found: nodes.Cluster) -> nodes.Cluster:
    """A cluster, reduced to the settings that its backends have to share."""
    tls = found.tls
    if tls is not None and tls.sni_of == "endpoint":
        tls = replace(tls, names=())
    nobody = nodes.ServicePort(NamespacedName("", ""), 0)
    return replace(
        found, port=nobody, dns=None, members=(), tls=tls, limits=None, retry_budget=None
    )


def _names(view: View, found: nodes.Cluster) -> tuple[nodes.Endpoint, ...]:
    """The endpoints of a backend for a cluster that resolves names; empty without such."""
    if found.members:
        return found.members[0].names
    if found.dns is not None:
        return (nodes.Endpoint(found.dns.host, found.dns.port),)
    if found.port.kind != envoybackends.KIND:
        return ()
    named = view.ask(backendaddresses.located, found.port.service).endpoints
    return named if all(it.port for it in named) else ()


def _joined(view: View, parts: Sequence[_Part]) -> nodes.Cluster:
    clusters = _clusters([it.share for it in parts], range(len(parts)))
    first, by_dns = clusters[0], next((it.dns for it in clusters if it.dns is not None), None)
    members: dict[tuple[nodes.ServicePort, bool], nodes.Member] = {}
    for part, cluster in zip(parts, clusters, strict=True):
        key = (cluster.port, part.is_fallback)
        names = _names(view, cluster) if by_dns is not None else ()
        weight = part.share.weight + (members[key].weight if key in members else 0)
        members[key] = nodes.Member(cluster.port, names, weight, part.is_fallback)
    return replace(first, dns=by_dns, members=tuple(members.values()), tls=_tls(clusters))


def _tls(clusters: Sequence[nodes.Cluster]) -> nodes.UpstreamTls | None:
    """TLS of a joined cluster; if endpoints use their own server names, with all names of all."""
    first = clusters[0].tls
    if first is None or first.sni_of != "endpoint":
        return first
    return replace(first, names=tuple(sorted(set(_alternatives(clusters)))))


def _alternatives(clusters: Iterable[nodes.Cluster]) -> Iterator[nodes.AlternativeName]:
    for it in clusters:
        yield from it.tls.names if it.tls is not None else ()

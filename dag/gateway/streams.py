"""TLSRoutes, TCPRoutes and UDPRoutes: where the bytes or packets of a listener go.

Version v1 has one rule. Of several in an older version the first takes everything, so the others
are reported. Connections of a share that leads nowhere are closed.
"""

from collections.abc import Iterator

from crds.gateway.streams import StreamRule
from crds.meta import NamespacedName, ObjectRef
from crds.unserved import unserved
from dag import nodes, tables
from dag.engine.view import View, query
from dag.gateway import backends, failover, unknownguards
from dag.gateway.envoypolicies import (
    extensionpolicies,
    policytargets,
    securitypolicies,
    trafficpolicies,
)
from dag.gateway.rules import Rules
from dag.problems import Problem, unguarded
from dag.problems import gateway as problems
from dag.problems.backends import none_has_weight
from dag.problems.places import Place, gathered


@query
def rules(view: View, ref: ObjectRef) -> Rules:
    """Where a route sends its connections or packets."""
    route = view.read(tables.BY_KIND[ref.kind], ref.key)
    if route is None:
        return Rules()
    own = problems.route(ref)
    rule, at = route.spec.rules[0], own.at("rules", 0)
    shares, told = _shares(view, rule, at)
    passed = None
    if ref.kind == "TLSRoute":
        passed, more = _shares(view, rule, at, is_passed=True)
        told.extend(it for it in more if it not in told)
    told.extend(
        problems.rule_never_reached(own.at("rules", index))
        for index in range(1, len(route.spec.rules))
    )
    told.extend(problems.not_served_yet(Place(ref, it.path)) for it in unserved(route))
    closing = unknownguards.of_route(view, ref, route.metadata)
    told.extend(closing)
    section = rule.name or ""
    guards = tuple(_guards(view, ref, section))
    told.extend(unguarded.stream_guard_not_served(own, it) for it in guards)
    is_open = not closing and not guards
    return Rules(
        stream=_stream(shares if is_open else ()),
        passed=_stream(passed if is_open else ()) if passed is not None else None,
        section=section,
        problems=tuple(told),
        is_accepted=not closing,
        leads_to=backends.named(view, ref, rule.backend_refs),
    )


def _stream(shares: tuple[nodes.WeightedCluster, ...]) -> nodes.Stream:
    """It is closed without any share."""
    return nodes.Stream(shares or (nodes.WeightedCluster(None),))


def _guards(view: View, ref: ObjectRef, rule: str) -> Iterator[ObjectRef]:
    """The policies that are to guard a route: none is served for streams. A SecurityPolicy closes
    them whatever it says, and for whichever part."""
    found = policytargets.of_parts(view, securitypolicies.POLICIES, ref)
    if found is not None:
        yield securitypolicies.ref(found)
    found = policytargets.of_rule(view, extensionpolicies.POLICIES, ref, rule)
    if found is not None and extensionpolicies.EFFECTS.of(view, found):
        yield ObjectRef(extensionpolicies.KIND, *found)
    found = policytargets.of_rule(view, trafficpolicies.POLICIES, ref, rule)
    if found is not None and _closes(view, found):
        yield ObjectRef(trafficpolicies.KIND, *found)


def _closes(view: View, policy: NamespacedName) -> bool:
    """Whether a BackendTrafficPolicy closes its routes; merged ones are left to listeners."""
    effects = trafficpolicies.EFFECTS
    return not effects.is_merging(view, policy) and effects.of(view, policy).is_closed


def _shares(
    view: View, rule: StreamRule, at: Place, *, is_passed: bool = False
) -> tuple[tuple[nodes.WeightedCluster, ...], list[Problem]]:
    found = list(backends.clusters(view, rule.backend_refs, at, is_passed=is_passed))
    told = [it for it in found if isinstance(it, Problem)]
    clusters = [it for it in found if not isinstance(it, Problem)]
    shares, more = gathered(failover.shares(view, rule.backend_refs, clusters, at))
    weighted = tuple(nodes.WeightedCluster(*it) for it in shares if it.weight > 0)
    if not any(it.weight for it in rule.backend_refs):
        answer = "its connections are closed"
        told.append(none_has_weight(at, has_some=bool(rule.backend_refs), answer=answer))
    return weighted, [*told, *more]

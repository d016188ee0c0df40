"""What policies other than SecurityPolicies do to routes and streams, each kind on its own.

Of each kind, the nearest policy applies to a rule of a route: its own, else that of its listener.
Elsewhere: SecurityPolicies, which are joined with the filters of a rule (`securityguards`).
"""

from collections.abc import Iterable, Iterator

from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass, replace
from dag import nodes
from dag.engine.view import View
from dag.gateway import actions
from dag.gateway.envoypolicies import extensionpolicies, policytargets, trafficpolicies
from dag.gateway.envoypolicies.trafficpolicies import Traffic
from dag.problems import Problem
from dag.problems import policies as complaints
from dag.problems.places import Place


@dataclass(frozen=True, slots=True)
class Shape:
    """What one policy does to a rule, a listener or a stream."""

    policy: ObjectRef
    is_closed: bool = False
    """Requests get an error: something guards them that is not served."""
    traffic: Traffic | None = None
    """How requests reach backends; None if the policy is of another kind."""


KINDS = (trafficpolicies.POLICIES, extensionpolicies.POLICIES)


def of_rule(view: View, route: ObjectRef, rule: str) -> tuple[Shape, ...]:
    """What policies do to a rule of a route; `rule` is its name."""
    return tuple(
        _shapes(
            view,
            {it.name: policytargets.of_rule(view, it, route, rule) for it in KINDS},
            is_of_route=True,
        )
    )


def of_listener(
    view: View, holder: ObjectRef, listener: str, gateway: NamespacedName
) -> tuple[Shape, ...]:
    """What policies do to the routes of a listener that have none of their own."""
    return tuple(
        _shapes(
            view,
            {
                it.name: policytargets.of_listener(view, it, holder, listener, gateway)
                for it in KINDS
            },
            is_of_route=False,
        )
    )


def guards(found: Iterable[Shape]) -> bool:
    """Whether policies limit requests, or may: the effect of a merged one is not known here."""
    return any(it.is_closed or it.traffic is None or _limits(it.traffic) for it in found)


def _limits(found: Traffic) -> bool:
    wanted = found.policies
    limits = (wanted.local_rate_limit, wanted.limits, wanted.body_limit)
    return any(it is not None for it in limits)


def shaped(view: View, route: nodes.Route, of_listener: Iterable[Shape]) -> nodes.Route:
    """A route as the policies of its listener make it, and those of its own that are merged.

    The route is closed if limits of any of them cannot be enforced.
    """
    theirs = {it.policy.kind: it for it in of_listener}
    own = {it.kind: it for it in route.attached}
    merging = own.get(trafficpolicies.KIND)
    if merging is not None and trafficpolicies.EFFECTS.is_merging(view, merging.key):
        parent = theirs.get(trafficpolicies.KIND)
        attached = route.attached if parent is None else (*route.attached, parent.policy)
        together = _merged(view, merging, parent)
        route = _shaped(route, together, attached)
    for kind, it in theirs.items():
        if kind not in own:
            route = _with(route, (it,))
    limits = route.policies.limits if route.policies is not None else None
    if trafficpolicies.is_uncounted(route.action, limits):
        return replace(route, action=actions.nowhere(route.origin.kind))
    return route


def _merged(view: View, own: ObjectRef, parent: Shape | None) -> Shape:
    key = parent.policy.key if parent is not None else None
    traffic = trafficpolicies.EFFECTS.merged(view, own.key, key)
    return Shape(own, traffic.is_closed, traffic)


def _shaped(route: nodes.Route, found: Shape, attached: tuple[ObjectRef, ...]) -> nodes.Route:
    if found.is_closed:
        return replace(route, action=actions.nowhere(route.origin.kind), attached=attached)
    if found.traffic is None:
        return replace(route, attached=attached)
    return trafficpolicies.applied(route, found.traffic, attached)


def rule(
    made: Iterable[nodes.Route | Problem], found: tuple[Shape, ...], at: Place
) -> Iterator[nodes.Route | Problem]:
    """The routes of a rule, shaped by its policies; a problem for each policy that closes it."""
    yield from (complaints.closed_by_policy(at, it.policy) for it in found if it.is_closed)
    every = tuple(made)
    routes = [it for it in every if isinstance(it, nodes.Route)]
    for it in found:
        if any(_is_uncounted(route, it) for route in routes):
            yield complaints.not_counted(at, it.policy)
    for each in every:
        yield _with(each, found) if isinstance(each, nodes.Route) else each


def _is_uncounted(route: nodes.Route, found: Shape) -> bool:
    limits = found.traffic.policies.limits if found.traffic is not None else None
    return trafficpolicies.is_uncounted(route.action, limits)


def _with(route: nodes.Route, found: Iterable[Shape]) -> nodes.Route:
    for it in found:
        route = _shaped(route, it, (*route.attached, it.policy))
    return route


def stream(
    view: View, found: nodes.Stream, route: ObjectRef, rule: str, of_listener: Iterable[Shape]
) -> nodes.Stream:
    """A stream as the BackendTrafficPolicy of its rule or route makes it, or that of its listener.

    Policies of the route that close it are handled in `streams`. A policy that closes the listener
    closes the routes without a policy of the same kind.
    """
    is_udp = route.kind == "UDPRoute"
    own = {it.name: policytargets.of_rule(view, it, route, rule) for it in KINDS}
    inherited = [it for it in of_listener if own[it.policy.kind] is None]
    if any(it.is_closed for it in inherited):
        return replace(found, shares=(nodes.WeightedCluster(None),))
    shaping = own[trafficpolicies.KIND]
    if shaping is not None:
        parent = next((it for it in of_listener if it.policy.kind == trafficpolicies.KIND), None)
        together = _of_stream(view, ObjectRef(trafficpolicies.KIND, *shaping), parent)
        if together.is_closed:
            return replace(found, shares=(nodes.WeightedCluster(None),))
        return trafficpolicies.stream(found, together, is_of_datagrams=is_udp)
    for it in inherited:
        if it.traffic is not None:
            return trafficpolicies.stream(found, it.traffic, is_of_datagrams=is_udp)
    return found


def _of_stream(view: View, own: ObjectRef, parent: Shape | None) -> Traffic:
    effects = trafficpolicies.EFFECTS
    if not effects.is_merging(view, own.key):
        return effects.of(view, own.key)
    return effects.merged(view, own.key, parent.policy.key if parent is not None else None)


def _shapes(
    view: View, found: dict[str, NamespacedName | None], *, is_of_route: bool
) -> Iterator[Shape]:
    shaping = found[trafficpolicies.KIND]
    if shaping is not None:
        ref = ObjectRef(trafficpolicies.KIND, *shaping)
        if is_of_route and trafficpolicies.EFFECTS.is_merging(view, shaping):
            yield Shape(ref)
        else:
            traffic = trafficpolicies.EFFECTS.of(view, shaping)
            yield Shape(ref, traffic.is_closed, traffic)
    extending = found[extensionpolicies.KIND]
    if extending is not None:
        is_closed = extensionpolicies.EFFECTS.of(view, extending)
        yield Shape(ObjectRef(extensionpolicies.KIND, *extending), is_closed)

"""What policies beside SecurityPolicies do to routes and streams, each kind on its own.

Of each kind the nearest policy applies to a rule of a route; what has none of its own has that of
its listener. Elsewhere: SecurityPolicies, which are joined with the filters of a rule
(`securityguards`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass
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
    """What a policy does to what it is for."""

    policy: ObjectRef
    is_closed: bool = False
    """It answers an error: something guards it that is not served."""
    traffic: Traffic | None = None
    """How requests reach backends; None if the policy is of another kind."""


KINDS = (trafficpolicies.POLICIES, extensionpolicies.POLICIES)


def of_rule(view: View, route: ObjectRef, rule: str) -> tuple[Shape, ...]:
    """What policies do to a rule of a route, by its name."""
    return tuple(
        _shapes(view, {it.name: policytargets.of_rule(view, it, route, rule) for it in KINDS})
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
        )
    )


def shaped(route: nodes.Route, found: Iterable[Shape]) -> nodes.Route:
    """A route as these policies make it, of which it has some kinds already."""
    for it in found:
        if any(own.kind == it.policy.kind for own in route.attached):
            continue
        route = replace(route, attached=(*route.attached, it.policy))
        if it.is_closed:
            route = replace(route, action=actions.nowhere(route.origin.kind))
        elif it.traffic is not None:
            route = trafficpolicies.applied(route, it.traffic)
    return route


def rule(
    made: Iterable[nodes.Route | Problem], found: tuple[Shape, ...], at: Place
) -> Iterator[nodes.Route | Problem]:
    """The routes of a rule as its policies make them, and that some of these close it."""
    yield from (complaints.closed_by_policy(at, it.policy) for it in found if it.is_closed)
    for it in made:
        yield shaped(it, found) if isinstance(it, nodes.Route) else it


def stream(
    view: View, found: nodes.Stream, route: ObjectRef, of_listener: Iterable[Shape]
) -> nodes.Stream:
    """A stream as the BackendTrafficPolicy of its route makes it, or that of its listener."""
    own = policytargets.of_parts(view, trafficpolicies.POLICIES, route)
    if own is not None:
        return trafficpolicies.stream(found, trafficpolicies.EFFECTS.of(view, own))
    for it in of_listener:
        if it.traffic is not None:
            return trafficpolicies.stream(found, it.traffic)
    return found


def _shapes(view: View, found: dict[str, NamespacedName | None]) -> Iterator[Shape]:
    shaping = found[trafficpolicies.KIND]
    if shaping is not None:
        traffic = trafficpolicies.EFFECTS.of(view, shaping)
        yield Shape(ObjectRef(trafficpolicies.KIND, *shaping), traffic.is_closed, traffic)
    extending = found[extensionpolicies.KIND]
    if extending is not None:
        is_closed = extensionpolicies.EFFECTS.of(view, extending)
        yield Shape(ObjectRef(extensionpolicies.KIND, *extending), is_closed)

"""How the SecurityPolicy of a listener, or of its Gateway, is applied to the routes there.

It is added to each route without a policy of its own, and not to the host, which may be shared with
routes of other APIs that have guards of their own. A route whose own policy is merged gets the
merge of both.
"""

from collections.abc import Iterator

from crds.meta import ObjectRef
from crds.records import replace
from dag import nodes
from dag.engine.view import View
from dag.gateway import actions, servedlisteners
from dag.gateway.attachment import Parent
from dag.gateway.envoypolicies import policytargets, securityguards, securitypolicies
from dag.gateway.envoypolicies.securityguards import Guard
from dag.gateway.envoypolicies.securitypolicies import Effect
from dag.gateway.rules import Rules
from dag.gateway.servedlisteners import ServedListener
from dag.problems import Problem
from dag.problems import policies as complaints
from dag.problems.places import Place


def of_listener(view: View, owner: ServedListener) -> Guard | None:
    """The policy of the routes of a listener that have none of their own."""
    holder, name = owner.section
    found = policytargets.of_listener(view, securitypolicies.POLICIES, holder, name, owner.gateway)
    if found is None:
        return None
    return Guard(securitypolicies.ref(found), securitypolicies.EFFECTS.of(view, found))


def is_target(view: View, owner: ServedListener) -> bool:
    """Whether a policy targets the listener itself, not its whole Gateway or ListenerSet."""
    holder, name = owner.section
    claims = view.ask(securitypolicies.POLICIES.claims, holder)
    return any(it.section == name for it in claims)


def closes_streams(view: View, owner: ServedListener) -> bool:
    """Whether a listener for streams closes every connection.

    No guard is served for streams. A policy that targets the listener closes it, whatever it says;
    a policy of the Gateway does if it says who may connect (`authorization`), or if that is not
    known. The other guards of a Gateway look at requests, which streams do not have: Envoy Gateway
    1.9 does not apply them to streams, and closing these would leave no way to have both on a
    Gateway.
    """
    guard = of_listener(view, owner) if not owner.is_http else None
    if guard is None:
        return False
    return is_target(view, owner) or says_who_connects(guard.effect)


def says_who_connects(found: Effect) -> bool:
    """Whether a policy says who may connect, or may say so as far as is known here."""
    if found.is_closed:
        return not found.spares_streams
    return found.policies.access is not None


def guarded(view: View, route: nodes.Route, guard: Guard | None) -> nodes.Route:
    """A route as its listener guards it, unless it has a policy of its own that is not merged."""
    holding = _holding(view, route, guard)
    if holding is None:
        return route
    attached = (*route.attached, *(() if guard is None else (guard.policy,)))
    if holding.effect.is_closed or securityguards.twice(holding, route.policies):
        return replace(route, action=actions.nowhere(route.origin.kind), attached=attached)
    joined = securityguards.joined(holding, route.policies)
    return replace(route, policies=joined, attached=attached)


def _holding(view: View, route: nodes.Route, guard: Guard | None) -> Guard | None:
    """The guard that a route gets at a listener: the listener's policy, or the route's own merged
    with it; None if there is none to add."""
    own = next((it for it in route.attached if it.kind == securitypolicies.KIND), None)
    if own is None:
        return guard
    if not securitypolicies.EFFECTS.is_merging(view, own.key):
        return None
    parent = guard.policy.key if guard is not None else None
    return Guard(own, securitypolicies.EFFECTS.merged(view, own.key, parent))


def problems_of(view: View, ref: ObjectRef, parent: Parent, rules: Rules) -> Iterator[Problem]:
    """The rules of a route that their policies close at listeners of a parent, because a filter has
    the same guard and only one is possible; and those for calls that it refuses or delays."""
    owners = {view.ask(servedlisteners.owner, it.host) for it in parent.points}
    guards = {of_listener(view, it) for it in owners if it and it.section in parent.sections}
    found = {
        problem
        for route in rules.routes
        for guard in guards
        for problem in _problems(view, rules.place(ref, route), route, guard)
    }
    yield from sorted(found, key=str)


def _problems(view: View, at: Place, route: nodes.Route, guard: Guard | None) -> Iterator[Problem]:
    """What is told of a rule of a route at one listener."""
    holding = _holding(view, route, guard)
    if holding is not None and (both := securityguards.twice(holding, route.policies)):
        yield complaints.guarded_twice(at, holding.policy, both)
    if route.origin.kind == "GRPCRoute":
        yield from _of_calls(at, guarded(view, route, guard))


def _of_calls(at: Place, route: nodes.Route) -> Iterator[Problem]:
    """The guards of a route by a policy that refuse gRPC calls, or let them wait."""
    policy = next((it for it in route.attached if it.kind == securitypolicies.KIND), None)
    found = route.policies
    if policy is None or found is None or not isinstance(route.action, nodes.Forward):
        return
    if isinstance(found.csrf, nodes.Csrf) and found.csrf.enforced:
        yield complaints.calls_without_origin(at, policy)
    if found.login is not None and not found.login.passed:
        yield complaints.calls_without_login(at, policy)
    if isinstance(found.authorization, nodes.Authorization) and found.authorization.body:
        yield complaints.calls_wait(at, policy)

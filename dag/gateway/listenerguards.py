"""How the SecurityPolicy of a listener, or of its Gateway, becomes part of the routes there.

Each route that has none of its own gets it, for the host of a listener may be shared with routes of
other APIs, which are guarded by what is theirs.
"""

from dataclasses import replace

from dag import nodes
from dag.engine.view import View
from dag.gateway import actions
from dag.gateway.envoypolicies import policytargets, securityguards, securitypolicies
from dag.gateway.envoypolicies.securityguards import Guard
from dag.gateway.servedlisteners import ServedListener


def of_listener(view: View, owner: ServedListener) -> Guard | None:
    """The policy of the routes of a listener that have none of their own."""
    holder, name = owner.section
    found = policytargets.of_listener(view, securitypolicies.POLICIES, holder, name, owner.gateway)
    if found is None:
        return None
    return Guard(securitypolicies.ref(found), securitypolicies.EFFECTS.of(view, found))


def closes_streams(view: View, owner: ServedListener) -> bool:
    """Whether no connection of a listener for TCP passes: its policy cannot be served, or says who
    may ask, which is not served for streams."""
    guard = of_listener(view, owner) if owner.protocol == "TCP" else None
    if guard is None:
        return False
    return guard.effect.is_closed or guard.effect.policies.access is not None


def guarded(route: nodes.Route, guard: Guard | None) -> nodes.Route:
    """A route as its listener guards it, unless it has a policy of its own."""
    if guard is None or any(it.kind == securitypolicies.KIND for it in route.attached):
        return route
    attached = (*route.attached, guard.policy)
    if guard.effect.is_closed or securityguards.twice(guard, route.policies):
        return replace(route, action=actions.nowhere(route.origin.kind), attached=attached)
    return replace(route, policies=securityguards.joined(guard, route.policies), attached=attached)

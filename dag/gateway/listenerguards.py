"""How the SecurityPolicy of a listener, or of its Gateway, becomes part of the routes there.

Each route that has none of its own gets it, for the host of a listener may be shared with routes of
other APIs, which are guarded by what is theirs. A route whose own policy is merged gets what both
say together.
"""

from crds.meta import ObjectRef
from crds.records import replace
from dag import nodes
from dag.engine.view import View
from dag.gateway import actions
from dag.gateway.envoypolicies import policytargets, securityguards, securitypolicies
from dag.gateway.envoypolicies.securityguards import Guard
from dag.gateway.envoypolicies.securitypolicies import Effect
from dag.gateway.servedlisteners import ServedListener


def of_listener(view: View, owner: ServedListener) -> Guard | None:
    """The policy of the routes of a listener that have none of their own."""
    holder, name = owner.section
    found = policytargets.of_listener(view, securitypolicies.POLICIES, holder, name, owner.gateway)
    if found is None:
        return None
    return Guard(securitypolicies.ref(found), securitypolicies.EFFECTS.of(view, found))


def is_target(view: View, owner: ServedListener) -> bool:
    """Whether a policy is for a listener itself, and not for the whole of what has it."""
    holder, name = owner.section
    claims = view.ask(securitypolicies.POLICIES.claims, holder)
    return any(it.section == name for it in claims)


def closes_streams(view: View, owner: ServedListener) -> bool:
    """Whether no connection of a listener for streams passes.

    No guard is served for streams. A policy for the listener itself is to guard it, whatever it
    says; one of the Gateway if it says who may connect (`authorization`), or if what it says is not
    known. The other guards of a Gateway look at requests, of which streams have none: Envoy Gateway
    1.9 applies them to no stream, and to close these would leave no way to have both on a Gateway.
    """
    guard = of_listener(view, owner) if not owner.is_http else None
    if guard is None:
        return False
    return is_target(view, owner) or says_who_connects(guard.effect)


def says_who_connects(found: Effect) -> bool:
    """Whether a policy says who may connect, or may do so as far as is known here."""
    if found.is_closed:
        return not found.spares_streams
    return found.policies.access is not None


def guarded(view: View, route: nodes.Route, guard: Guard | None) -> nodes.Route:
    """A route as its listener guards it, unless it has a policy of its own that is not merged."""
    own = next((it for it in route.attached if it.kind == securitypolicies.KIND), None)
    if own is not None:
        if not securitypolicies.EFFECTS.is_merging(view, own.key):
            return route
        parent = guard.policy.key if guard is not None else None
        together = Guard(own, securitypolicies.EFFECTS.merged(view, own.key, parent))
        return _guarded(route, together, () if guard is None else (guard.policy,))
    return route if guard is None else _guarded(route, guard, (guard.policy,))


def _guarded(route: nodes.Route, guard: Guard, more: tuple[ObjectRef, ...]) -> nodes.Route:
    attached = (*route.attached, *more)
    if guard.effect.is_closed or securityguards.twice(guard, route.policies):
        return replace(route, action=actions.nowhere(route.origin.kind), attached=attached)
    return replace(route, policies=securityguards.joined(guard, route.policies), attached=attached)

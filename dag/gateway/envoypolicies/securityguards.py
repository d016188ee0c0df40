"""How a SecurityPolicy becomes part of a rule of a route.

Only the nearest policy applies, as a whole. Guards that a rule has by a filter stay as they are:
the filter's CORS policy wins; a second authorization server or a second set of tokens closes the
rule, since Envoy takes one of each. Elsewhere: policies of listeners and Gateways
(`listenerguards`).
"""

from collections.abc import Iterable, Iterator

from crds.gateway.httproute import HTTPRouteRule
from crds.meta import NamespacedName, ObjectRef
from crds.records import dataclass, replace
from dag import nodes
from dag.engine.view import View
from dag.gateway.envoypolicies import policytargets, securitypolicies
from dag.gateway.envoypolicies.securitypolicies import Effect
from dag.problems import Problem
from dag.problems import policies as complaints
from dag.problems.places import Place


@dataclass(frozen=True, slots=True)
class Guard:
    """The policy of a rule or a listener."""

    policy: ObjectRef
    effect: Effect = Effect()


def of_rule(view: View, at: Place, rule: str) -> Guard | None:
    """The policy of a rule, by its name, or of its whole route. The effect of a merged policy is
    found at each listener (`listenerguards`)."""
    found = policytargets.of_rule(view, securitypolicies.POLICIES, at.subject, rule)
    if found is None:
        return None
    if securitypolicies.EFFECTS.is_merging(view, found):
        return Guard(securitypolicies.ref(found))
    return Guard(securitypolicies.ref(found), securitypolicies.EFFECTS.of(view, found))


def asked(view: View, own: Place, rules: Iterable[HTTPRouteRule]) -> Iterator[ObjectRef]:
    """The Services and XBackends that the SecurityPolicies of a route's rules call."""
    for it in rules:
        guard = of_rule(view, own, it.name or "")
        if guard is not None:
            for effect in (guard.effect, *_merged(view, guard.policy.key)):
                yield from effect.leads_to


def _merged(view: View, policy: NamespacedName) -> Iterator[Effect]:
    """The effects of a policy at each listener where it is merged."""
    for it in view.bucket(securitypolicies.MERGING.of_policy, policy):
        yield securitypolicies.EFFECTS.merged(view, policy, it.parent)


def closing(guard: Guard | None, own: nodes.Policies | None, at: Place) -> Problem | None:
    """Why a rule with these policies of its own is closed by its policy; None if it is not."""
    if guard is None:
        return None
    if guard.effect.is_closed:
        return complaints.closed_by_policy(at, guard.policy)
    both = twice(guard, own)
    return complaints.guarded_twice(at, guard.policy, both) if both else None


def joined(guard: Guard | None, own: nodes.Policies | None) -> nodes.Policies | None:
    """The guards of a route: its own, and those of its SecurityPolicy."""
    if guard is None:
        return own
    wanted = guard.effect.policies
    if own is None:
        return wanted if wanted != nodes.Policies() else None
    return replace(
        own,
        cors=own.cors or wanted.cors,
        csrf=wanted.csrf,
        login=wanted.login,
        jwt=own.jwt or wanted.jwt,
        authorization=own.authorization or wanted.authorization,
        authentication=wanted.authentication,
        access=wanted.access,
    )


def twice(guard: Guard, own: nodes.Policies | None) -> str:
    """What both a filter and the policy ask for, while only one is possible; empty if nothing."""
    wanted = guard.effect.policies
    if own is None:
        return ""
    if own.jwt is not None and wanted.jwt is not None:
        return "tokens"
    both = own.authorization is not None and wanted.authorization is not None
    return "servers that decide" if both else ""

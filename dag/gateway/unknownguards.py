"""Guards of routes and of holders of listeners that are not known here; they close the object.

They are annotations of other controllers, and policies that select namespaces by labels where those
of the object's Namespace have not been read yet, or cannot be. To take such a policy for one that
does not apply would open what it guards; to take it for one that does would put it in the place of
another one.
"""

from collections.abc import Iterator

from crds.meta import ObjectMeta, ObjectRef
from dag.engine.view import View
from dag.foreign import ignored
from dag.gateway.envoypolicies import (
    clientpolicies,
    extensionpolicies,
    policytargets,
    securitypolicies,
    trafficpolicies,
)
from dag.problems import Problem, unguarded

_KINDS = (
    clientpolicies.POLICIES,
    extensionpolicies.POLICIES,
    securitypolicies.POLICIES,
    trafficpolicies.POLICIES,
)


def of_route(view: View, ref: ObjectRef, metadata: ObjectMeta) -> tuple[Problem, ...]:
    """Why a route is closed as a whole."""
    foreign = ignored.closing(view, ref.kind, metadata)
    return (
        *(unguarded.rule_guard_is_foreign(ref, it.name) for it in foreign),
        *(unguarded.rule_may_be_guarded(ref, it) for it in _policies(view, ref)),
    )


def of_listeners(view: View, holder: ObjectRef, metadata: ObjectMeta) -> tuple[Problem, ...]:
    """Why all listeners of a Gateway or ListenerSet are closed."""
    foreign = ignored.closing(view, holder.kind, metadata)
    return (
        *(unguarded.listener_guard_is_foreign(holder, it.name) for it in foreign),
        *(unguarded.listener_may_be_guarded(holder, it) for it in _policies(view, holder)),
    )


def _policies(view: View, ref: ObjectRef) -> Iterator[ObjectRef]:
    for kind in _KINDS:
        for it in sorted(set(policytargets.undecided(view, kind, ref))):
            yield ObjectRef(kind.name, *it)

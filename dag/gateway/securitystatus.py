"""The status of a SecurityPolicy, with problems of the streams and rules that it is for.

No guard is served for streams. A policy for a stream closes it, and so does a policy of a Gateway
that says who may connect; its other guards need requests, which streams do not have, so they have
no effect there (`listenerguards`). Each Gateway, ListenerSet and TCPRoute tells which policies are
concerned.
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.envoygateway.policytargets import UnreadPolicy
from crds.envoygateway.securitypolicy import SecurityPolicySpec
from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.engine.view import Index, Kept, View, query
from dag.gateway import (
    attachment,
    copies,
    listenerguards,
    listenersets,
    routes,
    servedlisteners,
    unservedrules,
)
from dag.gateway.envoypolicies import policytargets, securitypolicies
from dag.problems import Problem
from dag.problems import policies as complaints
from dag.statuses import PolicyStatus


class Streams(NamedTuple):
    """Streams that a policy is for."""

    kind: str
    """`TCPRoutes`, or `TCP listeners`."""
    are_targets: bool
    """The policy targets them, and not their Gateway as a whole."""


Found = frozenset[tuple[NamespacedName, Streams]]
"""By policy."""


@query
def of_holder(view: View, holder: ObjectRef) -> Found:
    """The policies of the listeners for streams of a Gateway or ListenerSet."""
    return frozenset(_of_listeners(view, holder))


def _of_listeners(view: View, holder: ObjectRef) -> Iterator[tuple[NamespacedName, Streams]]:
    for it in view.ask(servedlisteners.served, holder):
        found = None if it.is_http else listenerguards.of_listener(view, it)
        if found is not None:
            is_target = listenerguards.is_target(view, it)
            yield found.policy.key, Streams(f"{it.protocol} listeners", is_target)


@query
def of_route(view: View, route: ObjectRef) -> Found:
    """The policy of a route for streams."""
    found = policytargets.of_parts(view, securitypolicies.POLICIES, route)
    if found is None or view.ask(attachment.attachment, route) is None:
        return frozenset()
    return frozenset({(found, Streams(f"{route.kind}s", are_targets=True))})


@query
def security_policy(view: View, key: NamespacedName) -> PolicyStatus | None:
    """The status of a policy."""
    return securitypolicies.EFFECTS.status_with(view, key, tuple(_told(view, key)))


def _told(view: View, key: NamespacedName) -> Iterator[Problem]:
    found = view.read(tables.SECURITY_POLICIES, key)
    if found is None or isinstance(found, UnreadPolicy):
        return
    yield from unservedrules.problems_of(view, securitypolicies.ref(key), found.spec)
    own = complaints.attached(securitypolicies.KIND, key)
    yield from copies.problems_of(view, own.subject, own)
    streams = view.bucket(OF_HOLDERS, key) | view.bucket(OF_ROUTES, key)
    if not streams:
        return
    targets = _named(it for it in streams if it.are_targets)
    if targets:
        yield complaints.policy_closes_streams(own, targets)
    beside = _named(it for it in streams if not it.are_targets)
    effect = securitypolicies.EFFECTS.of(view, key)
    fields = tuple(_guards(found.spec))
    if beside and effect.policies.access is not None:
        yield complaints.authorization_closes_streams(own.at("authorization"), beside)
    elif beside and fields and not listenerguards.says_who_connects(effect):
        yield complaints.no_effect_on_streams(own, fields, beside)


def _named(found: Iterator[Streams]) -> str:
    return ", ".join(sorted(it.kind for it in found))


def _guards(spec: SecurityPolicySpec) -> Iterator[str]:
    """The guards of a policy that need a request."""
    guards = {
        "cors": spec.cors,
        "csrf": spec.csrf,
        "apiKeyAuth": spec.api_key_auth,
        "basicAuth": spec.basic_auth,
        "oidc": spec.oidc,
        "jwt": spec.jwt,
        "extAuth": spec.ext_auth,
    }
    yield from (name for name, it in guards.items() if it is not None)


def _entries(_: ObjectRef, found: Found) -> Iterator[tuple[NamespacedName, Streams]]:
    return iter(found)


OF_HOLDERS: Index[NamespacedName, Streams] = Index(
    "listeners for streams of SecurityPolicies", of_holder, _entries
)
OF_ROUTES: Index[NamespacedName, Streams] = Index(
    "routes for streams of SecurityPolicies", of_route, _entries
)

INDEXES = (OF_HOLDERS, OF_ROUTES)
KEPT = (
    Kept(of_holder, tables.GATEWAYS, listenersets.gateway_ref),
    Kept(of_holder, tables.LISTENER_SETS, listenersets.ref),
    Kept(of_route, tables.BY_KIND["TCPRoute"], routes.ref_of("TCPRoute")),
)

"""The host of an exported Service port for gRPC clients without a proxy.

Without GRPCRoutes all calls go to the endpoints of the port, or follow the routes of the control
plane that knows these endpoints. With some, calls that none of them takes fail (GEP-1426, "Route
types"). A gRPC client changes no headers, copies no calls and keeps no sessions: a rule that asks
for that takes its calls and fails them, and its owner is told.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag import exports, nodes, tables
from dag.engine.view import View, query
from dag.exports import ExportedPort
from dag.gateway import actions, grpcmatches, grpcroute, serviceparents
from dag.gateway.envoypolicies import securitypolicies, trafficpolicies
from dag.gateway.rules import Rules
from dag.problems import Problem, policies
from dag.problems import gateway as problems
from dag.problems.places import Place


@dataclass(frozen=True, slots=True)
class ServiceHost:
    """A port of an exported Service, as gRPC clients see it."""

    port: nodes.ServicePort
    is_only: bool
    """The Service has no other port for TCP."""
    audience: frozenset[str] | None
    """The namespaces whose clients may call it; None: all."""
    routes: tuple[nodes.Route, ...]
    """The routes, in the order in which they are tried."""
    origins: tuple[ObjectRef, ...]
    """The Service, and the routes that shape it."""
    authority: str = ""
    """The authority of the control plane whose routes calls follow; empty: they follow `routes`."""


@query
def service_host(view: View, key: ExportedPort) -> ServiceHost | None:
    """Where calls to a port go; None if it is not exported."""
    export = view.ask(exports.export, key.service)
    found = [it for it in export.ports if it.port == key.port] if export is not None else []
    if export is None or not found:
        return None
    own, shaping = ObjectRef("Service", *key.service), view.bucket(serviceparents.SHAPING, key)
    refs = [it.ref for it in sorted(shaping)]
    routes = [it for ref in refs for it in view.ask(grpcroute.rules, ref.key).routes]
    if not refs and not export.authority:
        routes = [_plain(found[0], own)]
    return ServiceHost(
        found[0],
        is_only=len(export.ports) == 1,
        audience=export.audience,
        routes=grpcmatches.in_order(_served(view, it) for it in routes),
        origins=(own, *refs),
        authority="" if refs else export.authority,
    )


def _plain(port: nodes.ServicePort, own: ObjectRef) -> nodes.Route:
    share = nodes.Backend(nodes.Cluster(port=port, protocol="h2c"))
    return nodes.Route(nodes.Match(), nodes.Forward((share,)), own)


def _served(view: View, route: nodes.Route) -> nodes.Route:
    """A route that a client can follow: if it asks for more, it fails calls instead."""
    if _is_beyond_clients(view, route):
        return replace(
            route,
            action=actions.nowhere(route.origin.kind),
            request_headers=None,
            response_headers=None,
            policies=None,
        )
    return route


def _is_beyond_clients(view: View, route: nodes.Route) -> bool:
    asked = (route.request_headers, route.response_headers, route.policies, route.match.drawn)
    if route.extensions or any(it is not None for it in asked):
        return True
    if any(_may_guard(view, it) for it in route.attached):
        return True
    action = route.action
    if not isinstance(action, nodes.Forward):
        return False
    return bool(action.mirrors) or any(
        it.request_headers is not None or it.response_headers is not None or it.host
        for it in action.backends
    )


_MERGING: Mapping[str, Callable[[View, NamespacedName], bool]] = {
    securitypolicies.KIND: securitypolicies.EFFECTS.is_merging,
    trafficpolicies.KIND: trafficpolicies.EFFECTS.is_merging,
}


def _may_guard(view: View, policy: ObjectRef) -> bool:
    """Whether a policy is merged with those of listeners. Its effect is known only there, and a
    route at a Service has no listener, so the policy may ask for guards."""
    is_merging = _MERGING.get(policy.kind)
    return is_merging is not None and is_merging(view, policy.key)


def as_followed(view: View, ref: ObjectRef, found: Rules) -> Rules:
    """The rules of a route as gRPC clients follow them, with what these do not do."""
    told = (*found.problems, *_problems(view, ref))
    dropped = tuple(it.message for it in told if problems.drops_a_rule(it))
    at = problems.route(ref)
    paths = (at.at("rules", index).path for index, _ in enumerate(found.names))
    lost = [any(it.startswith((f"{path}.", f"{path}:")) for it in dropped) for path in paths]
    is_left = not lost or not all(lost)
    return replace(found, problems=told, is_accepted=found.is_accepted and is_left)


def _problems(view: View, ref: ObjectRef) -> Iterator[Problem]:
    """Parts of the rules of a route that gRPC clients do not support, policies that they do not
    keep, and backends that they cannot reach."""
    route = view.read(tables.GRPCROUTES, ref.key)
    own = problems.route(ref)
    for index, rule in enumerate(route.spec.rules if route is not None else ()):
        at = own.at("rules", index)
        if rule.filters:
            yield _beyond(at.at("filters"))
        if rule.session_persistence is not None:
            yield _beyond(at.at("sessionPersistence"))
        for number, backend in enumerate(rule.backend_refs):
            if backend.filters:
                yield _beyond(at.at("backendRefs", number).at("filters"))
    yield from dict.fromkeys(_of_policies(view, ref))
    for found in view.ask(grpcroute.rules, ref.key).routes:
        if isinstance(found.action, nodes.Forward):
            shares = (it.cluster for it in found.action.backends if it.cluster is not None)
            yield from (_unreachable(own, it) for it in shares if not is_reachable(it))


def _of_policies(view: View, ref: ObjectRef) -> Iterator[Problem]:
    """What becomes of the policies of each rule; of those that close it, it is told elsewhere."""
    found = view.ask(grpcroute.rules, ref.key)
    for route in found.routes:
        if isinstance(route.action, nodes.Forward):
            is_beyond, at = _is_beyond_clients(view, route), found.place(ref, route)
            yield from (policies.not_kept_by_clients(at, it, is_beyond) for it in route.attached)


def _unreachable(own: Place, cluster: nodes.Cluster) -> Problem:
    asks = "a BackendTLSPolicy" if cluster.port.kind == "Service" else "it"
    why = f"{asks} asks for TLS" if cluster.tls is not None else "it is a name that DNS resolves"
    if cluster.tls is None and cluster.dns is None:
        why = "it is no Service, or has a fallback"
    text = f"gRPC clients without a proxy do not reach {cluster.port.owner}: {why}"
    return problems.backend_protocol_not_supported(own.at("rules"), text)


def _beyond(at: Place) -> Problem:
    return problems.rule_dropped(at, "gRPC clients without a proxy do not do this")


def is_reachable(cluster: nodes.Cluster) -> bool:
    """Whether a gRPC client can reach the cluster itself: it decides over TLS itself, and no DNS
    names are resolved for it."""
    is_service = cluster.port.kind == "Service" and not cluster.members
    return is_service and cluster.tls is None and cluster.dns is None

"""How the ClientTrafficPolicy of a listener, or of its Gateway, is applied to its hosts.

Hosts behind TLS have filter chains of their own, so each is read as the policy of its listener
says. What all hosts of a port share is decided elsewhere (`clientports`).
"""

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

from crds.meta import ObjectRef
from crds.records import replace
from dag import nodes, tables
from dag.engine.view import Index, Kept, View, query
from dag.gateway import listenersets, servedlisteners
from dag.gateway.envoypolicies import clientpolicies, policytargets
from dag.gateway.envoypolicies.clientpolicies import Effect
from dag.gateway.listenerspecs import Section
from dag.gateway.servedlisteners import ServedListener


class OnRequests(NamedTuple):
    """What a policy asks of the routes of its listeners."""

    keeps_case: bool = False
    hides_limits: bool = False
    limits_silence: bool = False


def of_listener(view: View, owner: ServedListener) -> Effect | None:
    """What the policy of a listener asks for; None if it has none."""
    holder, name = owner.section
    found = policytargets.of_listener(view, clientpolicies.POLICIES, holder, name, owner.gateway)
    return clientpolicies.EFFECTS.of(view, found) if found is not None else None


def terminated(view: View, owner: ServedListener, tls: nodes.Tls) -> nodes.Tls:
    """How TLS of a listener is terminated, with what its policy says."""
    found = of_listener(view, owner)
    if found is None or found.is_closed:
        return tls
    terms = found.tls
    minimum = terms.minimum or tls.minimum
    return replace(
        tls,
        minimum=minimum,
        maximum=max(minimum, terms.maximum or tls.maximum),
        ciphers=terms.ciphers or tls.ciphers,
        curves=terms.curves or tls.curves,
        http_versions=terms.http_versions or tls.http_versions,
        signatures=terms.signatures,
        resumption=terms.resumption,
        clients=_clients(owner, terms.clients) or tls.clients,
        traffic=found.traffic if owner.is_http and found.traffic != nodes.ClientTraffic() else None,
    )


@query
def on_requests(view: View, holder: ObjectRef) -> frozenset[tuple[Section, OnRequests]]:
    """What policies ask of the routes of listeners, by listener; only if they ask for something."""
    asked = ((it, of_listener(view, it)) for it in view.ask(servedlisteners.served, holder))
    made = ((it.section, _on_requests(found.traffic)) for it, found in asked if found is not None)
    return frozenset(it for it in made if it[1] != OnRequests())


def _on_requests(traffic: nodes.ClientTraffic) -> OnRequests:
    return OnRequests(traffic.keeps_case, traffic.hides_limits, traffic.stream_idle is not None)


def of_routes(view: View, owner: ServedListener) -> OnRequests:
    """What the policy of a listener asks of its routes; other changes of it wake no route."""
    return next(iter(view.bucket(ON_REQUESTS, owner.section)), OnRequests())


def routed(route: nodes.Route, wanted: OnRequests) -> nodes.Route:
    """A route of a listener, with the settings of the listener's policy."""
    if wanted.hides_limits and route.policies is not None:
        route = replace(route, policies=_hidden(route.policies))
    if wanted.keeps_case and isinstance(route.action, nodes.Forward):
        backends = tuple(replace(it, cluster=_kept(it.cluster)) for it in route.action.backends)
        route = replace(route, action=replace(route.action, backends=backends))
    return route


def _hidden(found: nodes.Policies) -> nodes.Policies:
    """Limits without rate limit headers, unless the limit's own policy asks for these."""
    local = found.local_rate_limit
    if isinstance(local, nodes.LocalLimits):
        local = replace(local, limits=tuple(map(_silent, local.limits)))
    limits = tuple(map(_silent, found.limits)) if found.limits is not None else None
    return replace(found, local_rate_limit=local, limits=limits)


L = TypeVar("L", nodes.Limit, nodes.LocalLimit)


def _silent(found: L) -> L:
    return replace(found, tells=found.tells and not found.tells_by_itself, tells_by_itself=False)


def _kept(found: nodes.Cluster | None) -> nodes.Cluster | None:
    """A cluster that keeps the case of header names in answers; HTTP/2 has only lower case."""
    if found is None or (found.protocol in ("h2", "h2c") and not found.prefers_http2):
        return found
    connections = replace(found.connections or nodes.Connections(), keeps_case=True)
    return replace(found, connections=connections)


def _clients(
    owner: ServedListener, wanted: nodes.ClientValidation | None
) -> nodes.ClientValidation | None:
    """What clients must show. If untrusted certificates are accepted, nothing on a stream would
    notice a missing one: such terms let nobody in."""
    if wanted is None or owner.is_http or not wanted.accepts_untrusted or wanted.is_optional:
        return wanted
    return nodes.ClientValidation()


def stream(view: View, owner: ServedListener, found: nodes.Stream) -> nodes.Stream:
    """A stream of a listener, with the settings of the listener's policy."""
    asked = of_listener(view, owner)
    if asked is None or asked.is_closed:
        return found
    rests = found.idle_timeout if found.idle_timeout is not None else asked.stream_idle
    if owner.protocol == "UDP":
        return found
    return replace(
        found,
        idle_timeout=rests,
        connections=asked.traffic.connections,
        longest=asked.traffic.max_connection or None,
        handshake=asked.traffic.tls_handshake,
    )


def _entries(
    _: ObjectRef, found: frozenset[tuple[Section, OnRequests]]
) -> Iterator[tuple[Section, OnRequests]]:
    return iter(found)


ON_REQUESTS: Index[Section, OnRequests] = Index(
    "what policies of clients ask of routes", on_requests, _entries
)

INDEXES = (ON_REQUESTS,)
KEPT = (
    Kept(on_requests, tables.GATEWAYS, listenersets.gateway_ref),
    Kept(on_requests, tables.LISTENER_SETS, listenersets.ref),
)

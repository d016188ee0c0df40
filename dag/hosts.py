"""The merge: what the three APIs want for one host becomes one virtual host.

This text is the precedence: the Gateway API beats HTTPProxy, which beats Ingress, wherever their
routes match the same requests; where they do not, all of them serve. The same holds for how TLS
is terminated. This module alone knows all three.
"""

from collections.abc import Iterable, Iterator

from crds.meta import ObjectRef
from dag import listeners, nodes, ordering
from dag.gateway import hosts as gateway_hosts
from dag.httpproxy import claims as httpproxy_claims
from dag.ingress import claims as ingress_claims
from dag.view import Index, Kept, Query, View, query


@query
def virtual_host(view: View, key: nodes.HostKey) -> nodes.VirtualHost | None:
    """What happens to requests for a host.

    The host of a Gateway's listener may be without routes: a wider one must not answer for it. The
    widest of all needs no such guard.
    """
    wanted = (
        *view.ask(gateway_hosts.routes, key),
        *_classic_routes(view, key, httpproxy_claims.claim),
        *_classic_routes(view, key, ingress_claims.claim),
    )
    if not wanted and (key.host == "*" or not view.count(gateway_hosts.HOSTS, key)):
        return None
    first: dict[nodes.Match, nodes.Route] = {}
    for route in wanted:
        first.setdefault(route.match, route)
    routes = ordering.in_order(first.values())
    return nodes.VirtualHost(key.host, routes, _origins(it.origin for it in routes))


@query
def secure_host(view: View, key: nodes.HostKey) -> nodes.SecureHost | None:
    """How TLS for a host is terminated; None where it is not."""
    found = view.ask(gateway_hosts.tls, key)
    if found is not None or not _is_at(key, view.ask(listeners.secure_listener, ())):
        return found
    for claim in (httpproxy_claims.claim, ingress_claims.claim):
        wanted = view.ask(claim, key.host)
        if wanted is not None and wanted.tls is not None:
            return nodes.SecureHost(wanted.tls, wanted.origins)
    return None


@query
def classic_hosts(view: View, host: str) -> tuple[nodes.HostKey, ...]:
    """Where Ingress and HTTPProxy place a host: on plain HTTP, behind TLS, both or nowhere."""
    claims = [
        claim
        for asked in (httpproxy_claims.claim, ingress_claims.claim)
        if (claim := view.ask(asked, host)) is not None
    ]
    plain = view.ask(listeners.plain_listener, ())
    secure = view.ask(listeners.secure_listener, ())
    found = []
    if plain is not None and any(it.plain for it in claims):
        found.append(nodes.HostKey(listeners.DEFAULT_FLEET, plain.name, host))
    if secure is not None and any(it.tls and it.secure for it in claims):
        found.append(nodes.HostKey(listeners.DEFAULT_FLEET, secure.name, host))
    return tuple(found)


def _classic_routes(
    view: View, key: nodes.HostKey, claims: Query[str, nodes.Claim | None]
) -> tuple[nodes.Route, ...]:
    if key.fleet != listeners.DEFAULT_FLEET:
        return ()
    claim = view.ask(claims, key.host)
    if claim is None:
        return ()
    if _is_at(key, view.ask(listeners.plain_listener, ())):
        return claim.plain
    if _is_at(key, view.ask(listeners.secure_listener, ())):
        return claim.secure
    return ()


def _is_at(key: nodes.HostKey, listener: nodes.Listener | None) -> bool:
    return (
        key.fleet == listeners.DEFAULT_FLEET
        and listener is not None
        and listener.name == key.listener
    )


def _origins(refs: Iterable[ObjectRef]) -> tuple[ObjectRef, ...]:
    return tuple(sorted(set(refs)))


def _placed(_: str, found: tuple[nodes.HostKey, ...]) -> Iterator[tuple[nodes.HostKey, None]]:
    return ((key, None) for key in found)


CLASSIC_HOSTS: Index[nodes.HostKey, None] = Index(
    "hosts of Ingress, HTTPProxy", classic_hosts, _placed
)

INDEXES = (CLASSIC_HOSTS,)
KEPT = (
    Kept(classic_hosts, ingress_claims.HOSTS),
    Kept(classic_hosts, httpproxy_claims.CLAIMS),
    Kept(virtual_host, CLASSIC_HOSTS),
    Kept(virtual_host, gateway_hosts.HOSTS),
    Kept(secure_host, CLASSIC_HOSTS),
    Kept(secure_host, gateway_hosts.HOSTS),
)

"""The merge: what the three APIs want for one host becomes one virtual host.

Precedence: the Gateway API beats HTTPProxy, which beats Ingress, wherever their routes match the
same requests; where they do not, all of them are served. The same holds for how TLS is terminated.
Routes of the Gateway API are ordered by their own host names first; routes of the other APIs come
after each of these whose match is at least as specific. This module alone knows all three.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from crds.meta import ObjectRef
from crds.records import replace
from dag import defaults, entrypoints, listeners, nodes, ordering, preflights
from dag.classicclaims import (
    ASKING,
    FALLBACKS,
    WILDCARDS,
    asking,
    claims_of,
    for_one_label,
    without_upgrades,
)
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import grpcmatches, servedlisteners
from dag.gateway import hosts as gateway_hosts
from dag.httpproxy import claims as httpproxy_claims
from dag.ingress import claims as ingress_claims
from dag.values import hostnames


@query
def virtual_host(view: View, key: nodes.HostKey) -> nodes.VirtualHost | None:
    """What happens to requests for a host.

    The host of a Gateway's listener exists even without routes, and so does that of an HTTPProxy or
    Ingress of whose routes none can be served: a wider one must not answer for it. The host `*`
    does not need that on plain HTTP, unless its listener has filters.
    """
    wanted, claim = _wanted(view, key), _claim(view, key)
    names = gateway_hosts.server_names(view, key)
    is_open = key.host == hostnames.EVERY and names is None and not _is_filtered(view, key)
    if not any(wanted.every) and (is_open or not _is_kept(view, key)):
        return None
    routes = _in_order(wanted)
    if routes and gateway_hosts.is_closed(view, key):
        routes = (nodes.Route(nodes.Match(), CLOSED, routes[0].origin),)
    elif _is_closed(view, claim):
        routes = tuple(map(_closed, routes))
    elif claim is not None:
        routes = tuple(_held(view, it, claim) for it in routes)
    if hostnames.is_wildcard(key.host):
        routes = tuple(for_one_label(it, key.host) for it in routes)
    pages = claim.policies.cors if claim is not None and claim.policies is not None else None
    routes = (*preflights.added(routes, pages), *gateway_hosts.rest(view, key, routes))
    origins = _origins(it.origin for it in routes) or (claim.origins if claim is not None else ())
    found = nodes.VirtualHost(key.host, routes, origins, server_names=names)
    if claim is not None and claim.is_fallback:
        found = replace(found, is_fallback=_takes_unnamed(view, key))
    return guarded(view, found, claim)


def _is_kept(view: View, key: nodes.HostKey) -> bool:
    """Whether a host exists even without routes."""
    if view.count(servedlisteners.HOSTS, key):
        return True
    is_secure = _is_at(key, view.ask(listeners.secure_listener, ()))
    claims = claims_of(view, key.host) if _is_classic(view, key) else ()
    return any(it.is_bare and (it.tls is not None or not is_secure) for it in claims)


def _takes_unnamed(view: View, key: nodes.HostKey) -> bool:
    """Whether a host with the fallback serves clients without a server name. Where a Gateway
    terminates its TLS, they would pass none of the checks that the Gateway makes of clients."""
    is_secure = _is_at(key, view.ask(listeners.secure_listener, ()))
    return is_secure and gateway_hosts.secured(view, key) is None


@query
def secure_host(view: View, key: nodes.HostKey) -> nodes.SecureHost | None:
    """How TLS for a host is terminated; None where it is not."""
    return _taken(view, key) or _without_tls(view, key) or _uncertified(view, key)


def _taken(view: View, key: nodes.HostKey) -> nodes.SecureHost | None:
    """What TLS connections for a host get where it has TLS."""
    if (found := next(_wanted_hosts(view, key), None)) is not None:
        return gateway_hosts.kept_host(view, key) or found
    if key.host == hostnames.EVERY and _is_at(key, view.ask(listeners.secure_listener, ())):
        return _fallback(view, key) or gateway_hosts.closed_host(view, key)
    return gateway_hosts.closed_host(view, key)


def _wanted_hosts(view: View, key: nodes.HostKey) -> Iterator[nodes.SecureHost]:
    """What the three APIs want for TLS connections, in the order of precedence."""
    if (found := gateway_hosts.secured(view, key)) is not None:
        yield found
    if not _is_at(key, view.ask(listeners.secure_listener, ())):
        return
    for wanted in claims_of(view, key.host):
        if wanted.host is not None:
            yield _with_guarded_stream(view, key, wanted.host)
        elif wanted.tls is not None:
            yield nodes.SecureHost(wanted.tls, wanted.origins)


def overruled(
    view: View, key: nodes.HostKey
) -> Iterator[tuple[nodes.SecureHost, nodes.SecureHost]]:
    """What is wanted for TLS connections that another API takes, each with what that one wants, for
    `contour analyze`. Where both read requests, nothing is lost: their routes are merged."""
    every = tuple(_wanted_hosts(view, key))
    for it in every[1:]:
        if every[0].stream is not None or it.stream is not None:
            yield it, every[0]


def _without_tls(view: View, key: nodes.HostKey) -> nodes.SecureHost | None:
    """What closes the connections of a host that is to have TLS and has none, where a wider one
    forwards them unread. Where requests are read, the host is one of `unserved_hosts`."""
    wider = hostnames.wider(key.host)
    if wider is None or not _is_at(key, view.ask(listeners.secure_listener, ())):
        return None
    claim = asking(view, key.host)
    if claim is None or not view.ask(is_streamed, wider):
        return None
    return nodes.SecureHost(None, claim.origins, gateway_hosts.CLOSED)


def _uncertified(view: View, key: nodes.HostKey) -> nodes.SecureHost | None:
    """What closes the connections of a host of a Gateway's listener that has no certificate for it,
    where a wider host has TLS."""
    found = gateway_hosts.uncertified_host(view, key)
    if found is None:
        return None
    wider = tuple(it for it in hostnames.covering(key.host) if it != key.host)
    taken = any(servedlisteners.has_tls(view, key._replace(host=it)) for it in wider)
    if not taken and _is_at(key, view.ask(listeners.secure_listener, ())):
        taken = any(view.count(TAKING, (it, unread)) for it in wider for unread in (True, False))
    return found if taken else None


@query
def is_streamed(view: View, wildcard: str) -> bool:
    """Whether TLS connections are forwarded unread by the nearest host with TLS that is or covers a
    wildcard; a query, so that hosts share it."""
    wide = tuple(hostnames.covering(wildcard))
    nearest = next((n for n, it in enumerate(wide) if view.count(TAKING, (it, True))), None)
    return nearest is not None and not any(view.count(TAKING, (it, False)) for it in wide[:nearest])


@entrypoints.forwards_unread.answer
def forwards_unread(view: View, wildcard: str) -> bool | None:
    """Whether a wildcard forwards TLS connections unread; None where it takes none."""
    secure = view.ask(listeners.secure_listener, ())
    if secure is None:
        return None
    found = _taken(view, nodes.HostKey(DEFAULT_FLEET, secure.name, wildcard))
    return found.stream is not None if found is not None else None


@entrypoints.gateway_tls.answer
def gateway_tls(view: View, fqdn: str) -> nodes.Tls | None:
    """How a Gateway terminates TLS for a host of HTTPProxy."""
    secure = view.ask(listeners.secure_listener, ())
    if secure is None:
        return None
    found = gateway_hosts.secured(view, nodes.HostKey(DEFAULT_FLEET, secure.name, fqdn))
    return found.tls if found is not None else None


def _is_filtered(view: View, key: nodes.HostKey) -> bool:
    found = view.ask(servedlisteners.owner, key)
    return found is not None and found.is_filtered


def _with_guarded_stream(
    view: View, key: nodes.HostKey, host: nodes.SecureHost
) -> nodes.SecureHost:
    """The host; its stream is closed if the routes of the host are closed."""
    if host.stream is None:
        return host
    is_closed = servedlisteners.is_closed(view, key) or _is_closed(view, _claim(view, key))
    return replace(host, stream=gateway_hosts.CLOSED) if is_closed else host


CLOSED = nodes.Respond(503)
"""The answer of a host whose guard is not served."""


def _fallback(view: View, key: nodes.HostKey) -> nodes.SecureHost | None:
    """TLS for clients without a server name, or with an unknown one, if a host serves them."""
    secret = view.ask(settings.fallback_certificate, ())
    if key.host != hostnames.EVERY or secret is None or not view.count(FALLBACKS, key.host):
        return None
    return nodes.SecureHost(nodes.Tls(secret, *view.ask(settings.tls_versions, ())))


class _Wanted(NamedTuple):
    """The routes of all three APIs, in the order of precedence."""

    groups: tuple[tuple[nodes.Route, ...], ...]
    """The routes of the Gateway API."""
    classic: tuple[nodes.Route, ...]
    """The routes of HTTPProxy, then those of Ingress."""

    @property
    def every(self) -> Iterator[nodes.Route]:
        """All of them."""
        return chain(*self.groups, self.classic)


def _wanted(view: View, key: nodes.HostKey) -> _Wanted:
    classic = tuple(_classic_routes(view, key))
    return _Wanted(gateway_hosts.groups(view, key, classic), classic)


def shadowed_routes(view: View, key: nodes.HostKey) -> Iterator[tuple[nodes.Route, nodes.Route]]:
    """The routes that are left out because another one takes their requests, each with that one.

    Computed when it is asked for: `contour analyze` does.
    """
    first: dict[nodes.Match, nodes.Route] = {}
    for route in _wanted(view, key).every:
        if (winner := first.get(route.match) or ordering.covering(route, first)) is not None:
            yield route, winner
        else:
            first[route.match] = route


def _in_order(wanted: _Wanted) -> tuple[nodes.Route, ...]:
    """The routes without those that get no request; routes for gRPC calls alone come first."""
    if len(every := tuple(wanted.every)) < 2:
        return every
    kept = {id(it) for it in ordering.not_shadowed(every)}
    groups = [[it for it in group if id(it) in kept] for group in wanted.groups]
    calls = (grpcmatches.in_order(it for it in group if it.match.is_grpc) for group in groups)
    others = ([it for it in group if not it.match.is_grpc] for group in groups)
    classic = [it for it in wanted.classic if id(it) in kept]
    return (*chain.from_iterable(calls), *ordering.in_order(others, classic))


def _closed(route: nodes.Route) -> nodes.Route:
    """The route, answering 503; a redirect stays, for it opens nothing."""
    return route if isinstance(route.action, nodes.Redirect) else replace(route, action=CLOSED)


def _held(view: View, route: nodes.Route, claim: nodes.Claim) -> nodes.Route:
    """The route with the guards of its host. An HTTPProxy decides over its own routes."""
    if route.origin.kind == "HTTPProxy":
        return route
    if claim.lacks_tokens and (route.policies is None or route.policies.jwt is None):
        return _closed(route)
    return _asked(view, without_upgrades(route, claim), claim)


def _asked(view: View, route: nodes.Route, claim: nodes.Claim) -> nodes.Route:
    """The route of another API than HTTPProxy with its authorization: the service of the
    configuration is asked, if it is for every host."""
    if claim.is_exempt and view.ask(defaults.unauthorized, ()):
        return _closed(route)
    default = view.ask(defaults.authority, ())
    own = route.policies or nodes.Policies()
    if default is None or not default.is_default or own.authorization is not None:
        return route
    if claim.policies is not None and claim.policies.authorization == default.asked:
        return route
    return replace(route, policies=replace(own, authorization=default.asked))


def _is_closed(view: View, claim: nodes.Claim | None) -> bool:
    """Whether a guard is not served: of the host, or of all hosts unless it opts out."""
    if view.ask(settings.is_closed, ()) or (claim is not None and claim.is_closed):
        return True
    return (claim is None or not claim.is_exempt) and bool(view.ask(defaults.unauthorized, ()))


def _claim(view: View, key: nodes.HostKey) -> nodes.Claim | None:
    """What an HTTPProxy says of the host; it applies to the routes of all APIs."""
    return view.ask(httpproxy_claims.claim, key.host) if _is_classic(view, key) else None


def guarded(view: View, host: nodes.VirtualHost, claim: nodes.Claim | None) -> nodes.VirtualHost:
    """The host with the guards of all of its routes."""
    if claim is not None and claim.policies is not None:
        return replace(host, policies=claim.policies, jwt_providers=claim.jwt_providers)
    providers = claim.jwt_providers if claim is not None else ()
    authority = view.ask(defaults.authority, ()) if claim is None else None
    if authority is None or not authority.is_default:
        return replace(host, jwt_providers=providers)
    return replace(host, policies=nodes.Policies(authorization=authority.asked))


@query
def classic_hosts(view: View, host: str) -> tuple[nodes.HostKey, ...]:
    """The listeners of a host of Ingress and HTTPProxy: plain HTTP, TLS, both or none."""
    claims = tuple(claims_of(view, host))
    plain = view.ask(listeners.plain_listener, ())
    secure = view.ask(listeners.secure_listener, ())
    found: list[nodes.HostKey] = []
    if plain is not None and any(it.plain or it.is_bare for it in claims):
        found.append(nodes.HostKey(DEFAULT_FLEET, plain.name, host))
    is_fallback = host == hostnames.EVERY and view.count(FALLBACKS, host) > 0
    wants_tls = any((it.tls and (it.secure or it.is_bare)) or it.host for it in claims)
    if secure and (is_fallback or wants_tls):
        found.append(nodes.HostKey(DEFAULT_FLEET, secure.name, host))
    return tuple(found)


@query
def unserved_hosts(view: View, host: str) -> tuple[nodes.HostKey, ...]:
    """Listeners on which a host lacks the TLS that it asks for: no wider host may take its
    requests.

    A certificate that is missing must not lead them past what guards the host. Where connections
    are no requests, or those of a wider host are none, they are closed (`secure_host`).
    """
    secure = view.ask(listeners.secure_listener, ())
    if secure is None or host == hostnames.EVERY or asking(view, host) is None:
        return ()
    key = nodes.HostKey(DEFAULT_FLEET, secure.name, host)
    return (key,) if view.ask(secure_host, key) is None else ()


def _classic_routes(view: View, key: nodes.HostKey) -> Iterator[nodes.Route]:
    """The routes of HTTPProxy, then those of Ingress."""
    if not _is_classic(view, key):
        return
    is_secure = _is_at(key, view.ask(listeners.secure_listener, ()))
    for claim in claims_of(view, key.host):
        yield from claim.secure if is_secure else claim.plain


def _is_classic(view: View, key: nodes.HostKey) -> bool:
    """Whether hosts of Ingress and HTTPProxy are on the listener of the key."""
    both = (listeners.plain_listener, listeners.secure_listener)
    return any(_is_at(key, view.ask(it, ())) for it in both)


def _is_at(key: nodes.HostKey, listener: nodes.Listener | None) -> bool:
    return key.fleet == DEFAULT_FLEET and listener is not None and listener.name == key.listener


def _origins(refs: Iterable[ObjectRef]) -> tuple[ObjectRef, ...]:
    return tuple(sorted(set(refs)))


def _placed(_: str, found: tuple[nodes.HostKey, ...]) -> Iterator[tuple[nodes.HostKey, None]]:
    return ((key, None) for key in found)


CLASSIC_HOSTS: Index[nodes.HostKey, None] = Index(
    "hosts of Ingress, HTTPProxy", classic_hosts, _placed
)


def _at_listener(
    _: str, found: tuple[nodes.HostKey, ...]
) -> Iterator[tuple[nodes.ListenerKey, None]]:
    return ((nodes.ListenerKey(key.fleet, key.listener), None) for key in found)


CLASSIC_LISTENERS: Index[nodes.ListenerKey, None] = Index(
    "listeners with hosts of Ingress, HTTPProxy", classic_hosts, _at_listener
)


@entrypoints.has_classic_hosts.answer
def has_classic_hosts(view: View, key: nodes.ListenerKey) -> bool:
    """Whether hosts of Ingress or HTTPProxy are on a listener."""
    return view.count(CLASSIC_LISTENERS, key) > 0


TAKING: Index[tuple[str, bool], None] = Index(
    "wildcards that take TLS connections, and whether they forward these unread",
    forwards_unread,
    lambda host, found: [((host, found), None)],
)

UNSERVED: Index[nodes.HostKey, None] = Index("hosts that lack their TLS", unserved_hosts, _placed)

INDEXES = (CLASSIC_HOSTS, CLASSIC_LISTENERS, TAKING, UNSERVED)
KEPT = (
    Kept(classic_hosts, ingress_claims.HOSTS),
    Kept(classic_hosts, httpproxy_claims.CLAIMS),
    Kept(classic_hosts, FALLBACKS),
    *(Kept(forwards_unread, it) for it in WILDCARDS),
    Kept(forwards_unread, FALLBACKS),
    Kept(forwards_unread, servedlisteners.SECURE_WILDCARDS),
    Kept(forwards_unread, servedlisteners.STREAMED, servedlisteners.name_of),
    *(Kept(unserved_hosts, it) for it in ASKING),
    Kept(virtual_host, CLASSIC_HOSTS),
    Kept(virtual_host, servedlisteners.HOSTS),
    Kept(secure_host, CLASSIC_HOSTS),
    Kept(secure_host, servedlisteners.SECURE_HOSTS),
    Kept(secure_host, servedlisteners.STREAMED),
)

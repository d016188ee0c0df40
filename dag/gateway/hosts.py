"""What serves a host of a Gateway's listener, and how its TLS is terminated or passed on.

Only the routes of the listener that owns a host answer there (`servedlisteners`). So each
listener's own host is a virtual host, even without routes: a wider listener must not answer for it.
Within a listener the most specific host of its routes takes a request. Of the routes for one host,
those with a more specific host name come first. Elsewhere: the order by match (`dag.ordering`).
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence

from crds.meta import ObjectRef
from crds.records import replace
from dag import nodes
from dag.configuration import settings
from dag.engine.view import View, query
from dag.gateway import (
    attachment,
    clientports,
    completion,
    copies,
    listenerclients,
    listenerguards,
    routecertificates,
    servedlisteners,
)
from dag.gateway import routes as kinds
from dag.gateway.attachment import AttachmentPoint, Candidate
from dag.gateway.envoypolicies import routeshaping
from dag.gateway.servedlisteners import ServedListener


def groups(
    view: View, key: nodes.HostKey, others: Sequence[nodes.Route]
) -> tuple[tuple[nodes.Route, ...], ...]:
    """The routes of a host, by `routes`; asked only for hosts that a Gateway's listener owns, so
    that no query is kept for others. A listener without certificate has none, unless `others` of
    another API are served there: those must not take the requests of its routes."""
    found = view.ask(servedlisteners.owner, key)
    if found is None or (found.lacks_certificates and not others):
        return ()
    return view.ask(routes, key)


@query
def routes(view: View, key: nodes.HostKey) -> tuple[tuple[nodes.Route, ...], ...]:
    """The routes of a host, those of the nearest host name as the first group.

    In each group the oldest object is first, its rules in the order they are written.
    """
    found = view.ask(servedlisteners.owner, key)
    if found is None or not found.is_http:
        return ()
    every = nodes.Route(nodes.Match(), REFUSED, found.section.holder)
    if found.is_closed:
        return ((every,),)
    ranked = sorted(view.bucket(attachment.ATTACHED, AttachmentPoint(key, found.section)))
    made = tuple(
        tuple(_completed(view, group, found, key.host))
        for _, group in itertools.groupby(ranked, lambda it: it.width)
    )
    is_closed = clientports.is_closed(view, found.section)
    if not (is_closed or found.lacks_certificates):
        return made
    # Each route keeps its requests, so that they reach no wider route of another API.
    refused = (tuple(replace(it, action=REFUSED) for it in group) for group in made)
    return (*refused, (every,)) if is_closed else tuple(refused)


def _completed(
    view: View, group: Iterable[Candidate], owner: ServedListener, host: str
) -> Iterator[nodes.Route]:
    guard = listenerguards.of_listener(view, owner)
    shapes = routeshaping.of_listener(view, *owner.section, owner.gateway)
    clients = listenerclients.of_routes(view, owner)
    is_guarded = guard is not None or routeshaping.guards(shapes)
    inherited = copies.inherited(view, owner)
    for candidate in group:
        ref = candidate.route.ref
        rules = kinds.rules(view, ref)
        is_closed = copies.closes(view, copies.Spread(ref, *owner.section, inherited), rules)
        for route in (*rules.routes, *(rules.if_guarded if is_guarded else ())):
            found = listenerguards.guarded(view, route, guard)
            found = routeshaping.shaped(view, found, shapes)
            found = completion.completed(view, found, owner, host)
            yield copies.closed(found) if is_closed else listenerclients.routed(found, clients)


def is_closed(view: View, key: nodes.HostKey) -> bool:
    """Whether a host has no open route of any API, because its listener is closed: it has a guard
    that is not served, or its policy does not say what the clients must show that it lets in."""
    if servedlisteners.is_closed(view, key):
        return True
    found = view.ask(servedlisteners.owner, key)
    if found is None or found.family != "HTTPS" or found.lacks_certificates:
        return False
    return clientports.is_closed(view, found.section)


def server_names(view: View, key: nodes.HostKey) -> nodes.ServerNames | None:
    """The server names whose connections may carry requests for a host: those of the listener."""
    found = view.ask(servedlisteners.owner, key)
    if found is None or found.family != "HTTPS" or found.lacks_certificates:
        return None
    narrower = view.bucket(servedlisteners.NARROWER, found.host)
    return nodes.ServerNames(found.host.host, tuple(sorted(narrower)))


def rest(view: View, key: nodes.HostKey, routes: Sequence[nodes.Route]) -> Iterator[nodes.Route]:
    """A last route for requests that no other route takes, where Envoy needs one.

    On a TLS connection the server name is compared with the chosen route: a request for a host of
    another listener must get 421 before 404. And Envoy asks no authorization server about a request
    without a route, while filters of a listener may make it match one.
    """
    found = servedlisteners.taker(view, key)
    if found is None or any(it.match == nodes.Match() for it in routes):
        return
    is_secure = found.is_http and found.family == "HTTPS" and view.ask(servedlisteners.owner, key)
    if is_secure or found.is_filtered:
        yield nodes.Route(nodes.Match(), NOT_FOUND, found.section.holder)


NOT_FOUND = nodes.Respond(404)
REFUSED = nodes.Respond(503)
"""The answer of a listener whose guard is not served."""


def secured(view: View, key: nodes.HostKey) -> nodes.SecureHost | None:
    """What happens to TLS connections for a host; None on plain HTTP."""
    found = view.ask(servedlisteners.owner, key)
    return view.ask(secure_host, key) if found is not None and found.family == "HTTPS" else None


@query
def secure_host(view: View, key: nodes.HostKey) -> nodes.SecureHost | None:
    """What happens to TLS connections for a host whose listener has TLS, and a certificate."""
    found = view.ask(servedlisteners.owner, key)
    if found is None or found.family != "HTTPS" or found.lacks_certificates:
        return None
    told: tuple[ObjectRef, ...] = (found.section.holder,)
    if found.is_http:
        terminated = _terminated(view, found, key)
        return nodes.SecureHost(terminated, told) if terminated is not None else None
    if (route := _first_route(view, key, found)) is not None:
        told = (route, *told)
    stream = view.ask(stream_of, key)
    if not found.terminates:
        return nodes.SecureHost(None, told, stream)
    terminated = _terminated(view, found, key)
    # Without a certificate nothing is decrypted, and nothing may be passed on as it is.
    return nodes.SecureHost(terminated, told, CLOSED if terminated is None else stream)


CLOSED = nodes.Stream((nodes.WeightedCluster(None),))
"""Closes connections, where nothing is attached: no wider listener may take them."""


def uncertified_host(view: View, key: nodes.HostKey) -> nodes.SecureHost | None:
    """Closes connections for a host whose listener has TLS and no certificate for it, where a wider
    listener, perhaps of another tenant, must not take them."""
    found = view.ask(servedlisteners.owner, key)
    if found is None or found.family != "HTTPS":
        return None
    return nodes.SecureHost(None, (found.section.holder,), CLOSED)


def kept_host(view: View, key: nodes.HostKey) -> nodes.SecureHost | None:
    """Closes connections for a host whose listener checks clients and lacks what it needs to
    terminate TLS: another API would let everybody in."""
    found = view.ask(servedlisteners.owner, key)
    if found is None or not found.lacks_certificates:
        return None
    asked = listenerclients.of_listener(view, found)
    if found.checks_clients or (asked is not None and (asked.is_closed or asked.tls.clients)):
        return uncertified_host(view, key)
    return None


def closed_host(view: View, key: nodes.HostKey) -> nodes.SecureHost | None:
    """Closes connections for unknown server names on a port with streams.

    Without it such a port would have no filter chain while the backends of its streams are new.
    """
    is_streamed = view.count(servedlisteners.STREAMED, key) > 0
    return nodes.SecureHost(None, stream=CLOSED) if is_streamed else None


@query
def stream_of(view: View, key: nodes.HostKey) -> nodes.Stream:
    """Where the connections or packets for a host go: as the first route in precedence says."""
    found = view.ask(servedlisteners.owner, key)
    if found is None or found.is_closed or listenerguards.closes_streams(view, found):
        return CLOSED
    if clientports.is_closed(view, found.section):
        return CLOSED
    route = _first_route(view, key, found)
    if route is None:
        return CLOSED
    rules = kinds.rules(view, route)
    wanted = rules.passed if found.passes_tls_on else rules.stream
    if wanted is None:
        return CLOSED
    shapes = routeshaping.of_listener(view, *found.section, found.gateway)
    wanted = routeshaping.stream(view, wanted, route, rules.section, shapes)
    return listenerclients.stream(view, found, completion.completed_stream(view, wanted, found))


def _first_route(view: View, key: nodes.HostKey, found: ServedListener) -> ObjectRef | None:
    """The route that takes the connections or packets for a host."""
    ranked = view.bucket(attachment.ATTACHED, AttachmentPoint(key, found.section))
    return min(ranked).route.ref if ranked else None


def _terminated(view: View, found: ServedListener, key: nodes.HostKey) -> nodes.Tls | None:
    secrets = view.ask(routecertificates.secrets, key) or found.secrets
    if not secrets:
        return None
    versions = view.ask(settings.tls_versions, ())
    tls = nodes.Tls(
        secrets[0],
        versions.minimum,
        versions.maximum,
        more_secrets=secrets[1:],
        clients=found.clients,
    )
    return listenerclients.terminated(view, found, tls)

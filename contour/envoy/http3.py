"""The tracked queries for HTTP/3: a UDP listener beside each HTTPS listener, if enabled.

It has a chain and a server name for each host that supports HTTP/3; connections for other names are
closed. Elsewhere: the `alt-svc` header of hosts (`routing`), the messages (`quic`).
"""

from collections.abc import Iterable
from functools import partial

from contour.envoy import listening, names, policy, quic, server_names
from contour.envoy.credentials import Pieces
from contour.envoy.hooks.questions import TemplateKey
from contour.envoy.listening import ChainKey
from contour.xds import resources
from crds.records import replace
from dag import hosts, listeners, nodes
from dag.engine.view import Index, Kept, View, query


@query
def listener(view: View, key: nodes.ListenerKey) -> Pieces | None:
    """The UDP listener."""
    found = view.ask(listeners.listener, key)
    if found is None or not policy.serves_http3(view, key):
        return None
    state = listening.opened(view, _template(key))
    if state is None:
        return None
    found = state.node or found
    made = found

    def body(*, policy: policy.Downstream) -> bytes:
        return quic.head(made, policy.answer)

    part = resources.part(body(policy=state.policy), origins=state.origins)
    part = state.patched(replace(part, is_fragment=True), body)
    return (resources.Change(_name(key.name), "", part),)


def _template(key: nodes.ListenerKey) -> TemplateKey:
    return TemplateKey(*key, is_quic=True)


def _is_open(view: View, key: nodes.ListenerKey) -> bool:
    return policy.serves_http3(view, key) and not view.ask(listening.is_waiting, _template(key))


def _name(listener: str) -> resources.Name:
    return names.listener(quic.listener_name(listener))


@query
def chain(view: View, key: ChainKey) -> Pieces | None:
    """The filter chain that hosts with equal TLS share."""
    if key.tls is None or not policy.serves_http3(view, nodes.ListenerKey(key.fleet, key.listener)):
        return None
    state = listening.opened(view, TemplateKey(key.fleet, key.listener, is_quic=True))
    if state is None:
        return None
    name = names.chain(key.tls)
    body = partial(quic.chain, name, key.listener, key.tls)
    origins = (*listening.demanded(view, key), *state.origins)
    part = resources.part(body(policy=state.policy), state.needs, origins)
    part = state.patched(replace(part, completes=True), body)
    return (resources.Change(_name(key.listener), f"chain/{name}", part),)


@query
def exact_name(view: View, key: nodes.HostKey) -> Pieces | None:
    """The entry that leads from an exact host name to its chain."""
    found = view.ask(hosts.secure_host, key)
    at = nodes.ListenerKey(key.fleet, key.listener)
    if found is None or key.host.startswith("*") or not _is_open(view, at):
        return None
    body = server_names.exact(key.host, server_names.Destination(names.chain(found.tls)))
    part = replace(resources.part(body, origins=found.origins), hosts=(key.host,))
    return (resources.Change(_name(key.listener), f"name/{key.host}", part),)


@query
def exact_names(view: View, key: nodes.ListenerKey) -> Pieces | None:
    """The input of the map of exact names; kept while there is an entry."""
    if not _is_open(view, key):
        return None
    return (resources.Change(_name(key.name), "names", resources.part(server_names.exact_input())),)


@query
def wildcards(view: View, key: nodes.ListenerKey) -> Pieces | None:
    """The entries that lead from wildcard hosts to their chains."""
    if not _is_open(view, key):
        return None
    found = [
        (host, server_names.Destination(names.chain(secure.tls)))
        for host in sorted(view.bucket(WILDCARDS, key))
        if (secure := view.ask(hosts.secure_host, nodes.HostKey(*key, host))) is not None
    ]
    part = replace(
        resources.part(server_names.wildcards(found)), hosts=tuple(it for it, _ in found)
    )
    return (resources.Change(_name(key.name), "wildcards", part),)


def _is_exact(key: nodes.HostKey, found: nodes.SecureHost) -> bool:
    return found.can_speak_http3 and not key.host.startswith("*")


def _is_wildcard(key: nodes.HostKey, found: nodes.SecureHost) -> bool:
    return found.can_speak_http3 and key.host.startswith("*.")


def _listener(key: nodes.HostKey) -> nodes.ListenerKey:
    return nodes.ListenerKey(key.fleet, key.listener)


def _served(key: nodes.HostKey, found: nodes.SecureHost) -> Iterable[tuple[ChainKey, None]]:
    if _is_exact(key, found) or _is_wildcard(key, found):
        yield ChainKey(key.fleet, key.listener, found.tls), None


CHAINS: Index[ChainKey, None] = Index("chains of HTTP/3", hosts.secure_host, _served)
LISTENERS: Index[nodes.ListenerKey, None] = Index(
    "listeners with HTTP/3",
    hosts.secure_host,
    lambda key, it: [(_listener(key), None)] if list(_served(key, it)) else [],
)
HOSTS: Index[nodes.HostKey, None] = Index(
    "hosts with HTTP/3",
    hosts.secure_host,
    lambda key, it: [(key, None)] if _is_exact(key, it) else [],
)
EXACT: Index[nodes.ListenerKey, None] = Index(
    "exact names with HTTP/3",
    hosts.secure_host,
    lambda key, it: [(_listener(key), None)] if _is_exact(key, it) else [],
)
WILDCARDS: Index[nodes.ListenerKey, str] = Index(
    "wildcards with HTTP/3",
    hosts.secure_host,
    lambda key, it: [(_listener(key), key.host)] if _is_wildcard(key, it) else [],
)

INDEXES = (CHAINS, LISTENERS, HOSTS, EXACT, WILDCARDS)
KEPT = (
    Kept(listener, LISTENERS),
    Kept(chain, CHAINS),
    Kept(exact_names, EXACT),
    Kept(wildcards, WILDCARDS),
    Kept(exact_name, HOSTS),
)
PUBLISHED = (listener, chain, exact_names, wildcards, exact_name)

"""The tracked queries behind listeners: sockets, filter chains, server names, certificates.

Nothing here depends on how many hosts there are: a host that comes or goes with TLS settings
already known adds or removes one entry of the map of server names. An HTTPS listener exists while
a host is served there: Envoy refuses one without filter chains.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from contour.envoy import chains, credentials, names, policy, routing, server_names
from contour.envoy import listeners as sockets
from contour.envoy.credentials import Pieces
from contour.xds import resources
from crds.meta import ObjectRef
from dag import hosts, listeners, nodes
from dag.view import Index, Kept, View, query


class ChainKey(NamedTuple):
    """The filter chain of a listener for hosts with equal TLS settings."""

    fleet: str
    listener: str
    tls: nodes.Tls


@query
def listener(view: View, key: nodes.ListenerKey) -> Pieces | None:
    """A listener without what depends on hosts."""
    found = view.ask(listeners.listener, key)
    if found is None or (found.protocol == "HTTPS" and not view.count(SECURE, key)):
        return None
    settings, needs = _settings(view, key.fleet)
    body = sockets.head(found, settings)
    part = resources.part(body, needs, found.origins)
    return (resources.Change(names.listener(key.name), "", part),)


def _settings(view: View, fleet: str) -> tuple[policy.Downstream, Iterable[resources.Name]]:
    """What holds for every listener, and the clusters that takes."""
    found = view.ask(policy.downstream, ())
    used = routing.clusters_of(view, fleet, found.services())
    return found._replace(names={it: name.name for it, name in used.items()}), used.values()


@query
def chain(view: View, key: ChainKey) -> Pieces:
    """The filter chain that hosts with equal TLS settings share."""
    settings, needs = _settings(view, key.fleet)
    body = chains.named(key.listener, key.tls, settings)
    return (_chain(view, key, names.chain(key.tls), body, needs),)


def _chain(
    view: View, key: ChainKey, name: str, body: bytes, needs: Iterable[resources.Name]
) -> resources.Change:
    view.demand(credentials.secret, credentials.SecretKey(key.fleet, key.tls.secret))
    part = resources.part(body, needs, [ObjectRef("Secret", *key.tls.secret)])
    return resources.Change(names.listener(key.listener), f"chain/{name}", part)


@query
def server_name(view: View, key: nodes.HostKey) -> Pieces | None:
    """How an exact host leads to its chain; `*` has a chain of its own; wildcards: `wildcards`."""
    found = view.ask(hosts.secure_host, key)
    if found is None or found.tls is None or key.host.startswith("*."):
        return None
    if key.host == "*":
        return tuple(_default(view, key, found.tls, found.origins))
    body = server_names.exact(key.host, names.chain(found.tls))
    part = resources.part(body, origins=found.origins)
    return (resources.Change(names.listener(key.listener), f"name/{key.host}", part),)


def _default(
    view: View, key: nodes.HostKey, tls: nodes.Tls, origins: tuple[ObjectRef, ...]
) -> Iterator[resources.Change]:
    settings, needs = _settings(view, key.fleet)
    body = chains.default(key.listener, tls, settings)
    yield _chain(view, ChainKey(key.fleet, key.listener, tls), chains.DEFAULT, body, needs)
    part = resources.part(server_names.default(chains.DEFAULT), origins=origins)
    yield resources.Change(names.listener(key.listener), "default", part)


@query
def wildcards(view: View, key: nodes.ListenerKey) -> Pieces | None:
    """How hosts with a wildcard lead to their chains, all in one piece."""
    found = [
        (host, secure, secure.tls)
        for host in sorted(view.bucket(WILDCARDS, key))
        if (secure := view.ask(hosts.secure_host, nodes.HostKey(*key, host))) and secure.tls
    ]
    if not found:
        return None
    body = server_names.wildcards((host, names.chain(tls)) for host, _, tls in found)
    origins = sorted({origin for _, secure, _ in found for origin in secure.origins})
    part = resources.part(body, origins=origins)
    return (resources.Change(names.listener(key.name), "wildcards", part),)


@query
def exact_names(_: View, key: nodes.ListenerKey) -> Pieces:
    """What the map of exact names looks at; kept while there is one."""
    part = resources.part(server_names.exact_input())
    return (resources.Change(names.listener(key.name), "names", part),)


def _at(key: nodes.HostKey, _: nodes.SecureHost) -> Iterable[tuple[nodes.ListenerKey, None]]:
    yield nodes.ListenerKey(key.fleet, key.listener), None


def _exact(key: nodes.HostKey, _: nodes.SecureHost) -> Iterable[tuple[nodes.ListenerKey, None]]:
    if not key.host.startswith("*"):
        yield nodes.ListenerKey(key.fleet, key.listener), None


def _wildcard(key: nodes.HostKey, _: nodes.SecureHost) -> Iterable[tuple[nodes.ListenerKey, str]]:
    if key.host.startswith("*."):
        yield nodes.ListenerKey(key.fleet, key.listener), key.host


def _chained(key: nodes.HostKey, found: nodes.SecureHost) -> Iterable[tuple[ChainKey, None]]:
    if key.host != "*" and found.tls is not None:
        yield ChainKey(key.fleet, key.listener, found.tls), None


HOSTS: Index[nodes.HostKey, None] = Index(
    "secure hosts", hosts.secure_host, lambda key, _: [(key, None)]
)
SECURE: Index[nodes.ListenerKey, None] = Index("secure listeners", hosts.secure_host, _at)
EXACT: Index[nodes.ListenerKey, None] = Index("with exact names", hosts.secure_host, _exact)
WILDCARDS: Index[nodes.ListenerKey, str] = Index("wildcards", hosts.secure_host, _wildcard)
CHAINS: Index[ChainKey, None] = Index("chains", hosts.secure_host, _chained)

INDEXES = (HOSTS, SECURE, EXACT, WILDCARDS, CHAINS)
KEPT = (
    Kept(listener, listeners.NAMES),
    Kept(chain, CHAINS),
    Kept(exact_names, EXACT),
    Kept(wildcards, WILDCARDS),
    Kept(server_name, HOSTS),
)
PUBLISHED = (listener, chain, exact_names, wildcards, server_name)

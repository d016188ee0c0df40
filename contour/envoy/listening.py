"""The tracked queries for listeners: sockets, filter chains, server names, certificates.

The cost of a change does not depend on the number of hosts: adding or removing a host whose TLS
settings already exist changes one entry of the map of server names. An HTTPS listener exists while
a host is served there, because Envoy refuses one without filter chains.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple, Protocol

from contour.envoy import (
    chains,
    clienttraffic,
    credentials,
    logs,
    names,
    policy,
    routing,
    server_names,
    streamguards,
    streams,
)
from contour.envoy import listeners as sockets
from contour.envoy.credentials import Pieces
from contour.envoy.hooks import passed, questions, templates
from contour.envoy.hooks.questions import StreamKey, TemplateKey
from contour.envoy.patches import applying, layers, places
from contour.envoy.patches.applying import Layer, Patched
from contour.xds import resources
from crds.meta import ObjectRef
from crds.records import replace
from dag import filterchains, hosts, listeners, nodes
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query
from dag.gateway import clientports, filteredlisteners, telemetry
from dag.patches import policies
from dag.patches.naming import PatchPlace


class ChainKey(NamedTuple):
    """The filter chain of a listener for hosts with the same TLS settings, stream or both."""

    fleet: str
    listener: str
    tls: nodes.Tls | None
    stream: nodes.Stream | None = None


@query
def listener(view: View, key: nodes.ListenerKey) -> Pieces | None:
    """A listener without what depends on hosts."""
    found = view.ask(listeners.listener, key)
    if found is None or not _is_open(view, key, found):
        return None
    state = opened(view, TemplateKey(*key))
    if state is None:
        return None
    found = state.node or _with_served(view, key, found)
    used = routing.clusters_of(view, key.fleet, streams.targets(found))
    called = {it: name.name for it, name in used.items()}
    body = partial(sockets.head, found, names=called)
    needs = (*state.needs, *used.values())
    part = resources.part(body(policy=state.policy), needs, state.origins)
    part = state.patched(replace(part, is_fragment=found.protocol == "HTTPS"), body)
    return (resources.Change(names.listener(key.name), "", part),)


def _is_open(view: View, key: nodes.ListenerKey, found: nodes.Listener) -> bool:
    if found.protocol == "HTTPS":
        return bool(view.count(SECURE, key))
    return found.protocol == "HTTP" or found.stream is not None


def _with_served(view: View, key: nodes.ListenerKey, found: nodes.Listener) -> nodes.Listener:
    """A listener whose stream may have to wait for extensions."""
    if found.stream is None or not view.ask(passed.is_translated, ()):
        return found
    state = view.ask(questions.shaped_stream, StreamKey(*key))
    return replace(found, stream=state.served.stream) if state is not None else found


def _secure_host(view: View, key: nodes.HostKey) -> nodes.SecureHost | None:
    """How TLS for a host is terminated; its stream may have to wait for extensions."""
    found = view.ask(hosts.secure_host, key)
    if found is None or found.stream is None or not view.ask(passed.is_translated, ()):
        return found
    state = view.ask(questions.shaped_stream, StreamKey(*key))
    if state is None or state.served.stream == found.stream:
        return found
    served = replace(found, stream=state.served.stream)
    if key.host != "*":
        view.demand(chain, ChainKey(key.fleet, key.listener, served.tls, served.stream))
    return served


class Body(Protocol):
    """Makes the bytes of a part of a listener, from the settings that apply to it."""

    def __call__(self, *, policy: policy.Downstream) -> bytes:
        """Its bytes."""
        ...


class Open(NamedTuple):
    """What the parts of a listener are made of."""

    policy: policy.Downstream
    needs: frozenset[resources.Name] = frozenset()
    """The clusters that are needed for it."""
    origins: tuple[ObjectRef, ...] = ()
    """The objects whose statuses show a refusal by Envoy: those of the listener and of the
    settings."""
    node: nodes.Listener | None = None
    """The listener when extensions last answered; None: they are not asked."""
    layers: tuple[Layer, ...] = ()
    """Its template after each patch policy."""

    def patched(self, plain: resources.Part, body: Body) -> resources.Part:
        """A part of the listener with the patches applied."""
        each = (
            Layer(it.policy, body(policy=self.policy._replace(answer=it.body)))
            for it in self.layers
        )
        return layers.stacked(plain, each)


def opened(view: View, key: TemplateKey) -> Open | None:
    """What a listener is made of; None while it has to wait for extensions."""
    found = _unpatched(view, key)
    if found is None or not policies.at(view, _place(key)):
        return found
    return found._replace(layers=view.ask(patched_listener, key).layers)


@query
def patched_listener(view: View, key: TemplateKey) -> Patched:
    """The template of a listener after its patches; only asked if it has some."""
    found = _unpatched(view, key)
    node = view.ask(listeners.listener, nodes.ListenerKey(key.fleet, key.listener))
    if found is None or node is None:
        return Patched()
    template = found.policy.answer
    if template is None:
        node = found.node or node
        template = templates.template(node, found.policy, is_quic=key.is_quic)
    return applying.applied(places.LISTENER, template, policies.at(view, _place(key)))


def _place(key: TemplateKey) -> PatchPlace:
    return PatchPlace(key.fleet, "listener", key.listener, is_quic=key.is_quic)


def _unpatched(view: View, key: TemplateKey) -> Open | None:
    good = view.ask(questions.opened, key) if view.ask(is_shaped, ()) else None
    if good is None:
        return _opened(view, key, Open(view.ask(policy.downstream, ())))
    if good.good is None:
        return None
    node, found, added = good.good
    needs = frozenset(resources.Name(resources.CLUSTER, it) for it in added)
    return _opened(view, key, Open(found, needs, node=node))


def _opened(view: View, key: TemplateKey, found: Open) -> Open:
    """A listener with its present filters and tracing, whenever extensions have answered."""
    at = nodes.ListenerKey(key.fleet, key.listener)
    guarded = found.policy._replace(filters=view.ask(filteredlisteners.filters, at))
    if (traced := view.ask(telemetry.of_listener, at)) is not None:
        guarded = guarded._replace(edge=replace(guarded.edge, tracing=traced.tracing))
    asked = view.ask(clientports.settings, at)
    if asked is not None:
        guarded = guarded._replace(sockets=asked.sockets, traffic=asked.traffic)
    used = routing.clusters_of(view, key.fleet, guarded.services())
    called = {it: name.name for it, name in used.items()}
    named = guarded._replace(names=called)
    node = view.ask(listeners.listener, at)
    origins = (*(node.origins if node is not None else ()), *passed.authors(view))
    needs = found.needs | frozenset(used.values())
    return found._replace(policy=named, needs=needs, origins=origins)


@query
def is_shaped(view: View, _: tuple[()]) -> bool:
    """Whether extensions are asked about listeners."""
    return any("HTTPListener" in it.hooks for it in view.ask(settings.hook_servers, ()))


@query
def is_waiting(view: View, key: TemplateKey) -> bool:
    """Whether a listener is not opened until extensions have answered."""
    found = view.ask(questions.opened, key) if view.ask(is_shaped, ()) else None
    return found is not None and found.good is None


@query
def chain(view: View, key: ChainKey) -> Pieces | None:
    """The filter chain that hosts with equal settings share."""
    state = opened(view, TemplateKey(key.fleet, key.listener))
    if state is None:
        return None
    return (_chain(view, key, state, names.chain(key.tls, key.stream)),)


def _chain(
    view: View, key: ChainKey, state: Open, name: str, only: tuple[str, ...] = ()
) -> resources.Change:
    terms, needs = state.policy, state.needs
    stream = key.stream or nodes.Stream(())
    used = routing.clusters_of(view, key.fleet, streams.clusters(stream))
    patched: Body | None = None
    if key.tls is not None and key.stream is None:
        patched = partial(chains.http, name, key.listener, key.tls)
        body = patched(policy=terms)
    else:
        called = {it: found.name for it, found in used.items()}
        proxy = streams.tcp(key.listener, stream, called, terms.timeouts.tcp_idle)
        proxy.access_log.extend(logs.access_logs(terms.edge.https_log))
        guards = streamguards.filters(key.listener, stream.guards, terms)
        limit = clienttraffic.limit(key.listener, stream.connections)
        filters = (*limit, *guards, (streams.TCP, proxy))
        body = chains.stream(name, key.tls, filters, terms, stream.handshake)
    origins = (*demanded(view, key), *state.origins)
    part = resources.part(body, (*needs, *used.values()), origins)
    part = replace(part, completes=True, hosts=only)
    part = state.patched(part, patched) if patched is not None else part
    return resources.Change(names.listener(key.listener), f"chain/{name}", part)


def demanded(view: View, key: ChainKey) -> Iterator[ObjectRef]:
    """Demands the SDS secrets of a chain. Yields the name by which what Envoy refuses of it is told
    to those whose hosts it serves."""
    if key.tls is None:
        return
    for it in (key.tls.secret, *key.tls.more_secrets):
        view.demand(credentials.credential, credentials.SecretKey(key.fleet, it))
    clients = key.tls.clients
    if clients is not None and clients.trust is not None:
        view.demand(credentials.credential, credentials.TrustKey(key.fleet, clients.trust))
    yield filterchains.ref(key.fleet, key.listener, key.tls)


@query
def server_name(view: View, key: nodes.HostKey) -> Pieces | None:
    """The entry that leads from an exact host name to its chain, or the default chain for `*`.
    Elsewhere: wildcards (`wildcards`)."""
    found = _secure_host(view, key)
    at = TemplateKey(key.fleet, key.listener)
    if found is None or key.host.startswith("*.") or view.ask(is_waiting, at):
        return None
    if key.host == "*":
        return tuple(_default(view, key, found))
    body = server_names.exact(key.host, _destination(found, names.chain(found.tls, found.stream)))
    part = replace(resources.part(body, origins=found.origins), hosts=(key.host,))
    return (resources.Change(names.listener(key.listener), f"name/{key.host}", part),)


def _default(view: View, key: nodes.HostKey, found: nodes.SecureHost) -> Iterator[resources.Change]:
    wanted = ChainKey(key.fleet, key.listener, found.tls, found.stream)
    state = opened(view, TemplateKey(key.fleet, key.listener))
    if state is not None:
        yield _chain(view, wanted, state, chains.DEFAULT, (key.host,))
    body = server_names.default(_destination(found, chains.DEFAULT))
    part = resources.part(body, origins=found.origins)
    yield resources.Change(names.listener(key.listener), "default", part)


def _destination(found: nodes.SecureHost, chain: str) -> server_names.Destination:
    guards = found.stream.guards if found.stream is not None else None
    return server_names.Destination(chain, guards.ip_filter if guards is not None else None)


@query
def wildcards(view: View, key: nodes.ListenerKey) -> Pieces | None:
    """The entries that lead from wildcard hosts to their chains, all in one part."""
    found = [
        (host, secure)
        for host in sorted(view.bucket(WILDCARDS, key))
        if (secure := _secure_host(view, nodes.HostKey(*key, host))) is not None
    ]
    if not found or view.ask(is_waiting, TemplateKey(*key)):
        return None
    body = server_names.wildcards(
        (host, _destination(it, names.chain(it.tls, it.stream))) for host, it in found
    )
    origins = sorted({origin for _, secure in found for origin in secure.origins})
    part = replace(resources.part(body, origins=origins), hosts=tuple(it for it, _ in found))
    return (resources.Change(names.listener(key.name), "wildcards", part),)


@query
def exact_names(view: View, key: nodes.ListenerKey) -> Pieces | None:
    """The input of the map of exact names; kept while there is an entry."""
    if view.ask(is_waiting, TemplateKey(*key)):
        return None
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
    if key.host != "*":
        yield ChainKey(key.fleet, key.listener, found.tls, found.stream), None


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

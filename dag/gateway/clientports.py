"""Which ClientTrafficPolicy holds for what all hosts of a port share.

Shared are the settings of connections, and on plain HTTP also those of requests. A policy holds
there only if every host of the port belongs to listeners with policies; of several policies that of
the Gateway holds before those of ListenerSets, which may be of other owners, then the oldest. So no
policy affects hosts outside its own and other policies' listeners. Behind TLS each host has its own
way of reading requests (`dag.gateway.listenerclients`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.envoygateway.policytargets import UnreadPolicy
from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag import entrypoints, nodes, tables
from dag.configuration import settings as configured
from dag.engine.view import Index, Kept, View, query
from dag.gateway import attachment, clientlisteners, listenersets, servedlisteners
from dag.gateway.attachment import AttachmentPoint
from dag.gateway.clientlisteners import PolicyListener
from dag.gateway.envoypolicies import clientpolicies, clienttls, policytargets
from dag.gateway.listenerspecs import Section
from dag.problems import Problem, shared
from dag.problems import policies as complaints
from dag.seniority import Senior, senior
from dag.statuses import PolicyStatus
from dag.values import hostnames


class Port(NamedTuple):
    """A port with listeners of one policy."""

    key: nodes.ListenerKey
    number: int
    is_plain: bool
    """It is plain HTTP, so how requests are read is set for the whole port."""


class SecurePort(NamedTuple):
    """A port for requests over TLS, which may come over HTTP/3."""

    port: Port
    unnamed: Section | None
    """Its listener without a host name; None: one that has a name."""


class ListenerPolicy(NamedTuple):
    """A listener of a Gateway or ListenerSet on a port, and its policy."""

    port: Port
    section: Section
    secure: SecurePort | None
    """The port again, if requests come over TLS."""
    senior: Senior | None
    is_of_set: bool
    """Its policy is for its ListenerSet."""
    is_closed: bool
    """It takes no requests, because what its policy asks for is not served."""
    is_asked_twice: bool
    """Both its Gateway and its policy say which certificates clients must show."""
    told: PolicyListener
    """As the status of its policy sees it."""


@query
def listener_policies(view: View, holder: ObjectRef) -> frozenset[ListenerPolicy]:
    """The ports and the policies of the listeners of a Gateway or ListenerSet."""
    return frozenset(_listener_policy(view, it) for it in view.ask(servedlisteners.served, holder))


def _listener_policy(view: View, it: servedlisteners.ServedListener) -> ListenerPolicy:
    found = policytargets.of_listener(view, clientpolicies.POLICIES, *it.section, it.gateway)
    effect = (
        clientpolicies.EFFECTS.of(view, found) if found is not None else clientpolicies.Effect()
    )
    is_asked_twice = it.clients is not None and effect.tls.clients is not None
    port = Port(nodes.ListenerKey(it.host.fleet, it.host.listener), it.port, it.protocol == "HTTP")
    unnamed = it.section if it.host.host == hostnames.EVERY else None
    return ListenerPolicy(
        port,
        it.section,
        SecurePort(port, unnamed) if it.protocol == "HTTPS" else None,
        _senior(view, found),
        _is_of_set(view, it.section),
        effect.is_closed or is_asked_twice,
        is_asked_twice,
        PolicyListener(
            it.section.name if _is_named(view, it.section) else "", it.protocol, it.terminates
        ),
    )


def _is_named(view: View, section: Section) -> bool:
    """Whether a policy names a listener, and not all listeners of its holder."""
    claims = view.ask(clientpolicies.POLICIES.claims, section.holder)
    return policytargets.winner(claims, section.name) is not None


def _is_of_set(view: View, section: Section) -> bool:
    """Whether a listener has a policy by its ListenerSet, not by the Gateway of that."""
    holder, name = section
    claims = view.ask(clientpolicies.POLICIES.claims, holder)
    return holder.kind == "ListenerSet" and policytargets.winner(claims, name, "") is not None


def _senior(view: View, policy: NamespacedName | None) -> Senior | None:
    found = view.read(tables.CLIENT_TRAFFIC_POLICIES, policy) if policy is not None else None
    return senior(found.metadata) if found is not None else None


class PortClaim(NamedTuple):
    """A policy for hosts of a port; less is first."""

    is_of_set: bool
    """It is for a ListenerSet, not for the Gateway."""
    senior: Senior


class PortPolicy(NamedTuple):
    """The policy that decides over a port."""

    policy: NamespacedName | None
    why_not: str = ""
    """Why no policy does."""
    is_before_sets: bool = False
    """It is for the Gateway, and others are for ListenerSets."""


@query
def port_policy(view: View, key: nodes.ListenerKey) -> PortPolicy:
    """Which policy holds for what all hosts of a port share."""
    found = view.bucket(ON_PORT, key)
    policies = [it for it in found if it is not None]
    if not policies:
        return PortPolicy(None)
    if len(policies) < len(found):
        return PortPolicy(None, "other listeners of Gateways there are not under a policy")
    if view.ask(entrypoints.has_classic_hosts, key):
        return PortPolicy(None, "hosts of HTTPProxies or Ingresses are served there, too")
    first = min(policies)
    is_before_sets = not first.is_of_set and any(it.is_of_set for it in policies)
    return PortPolicy(first.senior.key, is_before_sets=is_before_sets)


def options(sockets: nodes.Sockets) -> tuple[object, ...]:
    """The settings that need new sockets, which cannot be opened while ports are exclusive."""
    return (sockets.keepalive, sockets.kernel_buffer)


@query
def settings(view: View, key: nodes.ListenerKey) -> nodes.ClientSettings | None:
    """What all hosts of a port share, as far as its open sockets allow; None for the defaults."""
    found = view.ask(wanted, key)
    if found is None or not _waits(view, key, found.sockets):
        return found
    return replace(found, sockets=replace(found.sockets, keepalive=None, kernel_buffer=None))


def reads_proxy_protocol(edge: nodes.Edge, sockets: nodes.Sockets) -> bool:
    """Whether connections of a port begin with the PROXY protocol, or may."""
    if sockets.proxy_protocol is None:
        return edge.use_proxy_protocol
    return sockets.proxy_protocol != "off"


def _waits(view: View, key: nodes.ListenerKey, sockets: nodes.Sockets) -> bool:
    """Whether the open sockets of a port keep other options than those that are asked for."""
    if view.read(tables.SOCKET_OPTIONS, ()) is None:
        return False
    held = view.read(tables.HELD_SOCKETS, key) or options(nodes.Sockets())
    return held != options(sockets)


@query
def wanted(view: View, key: nodes.ListenerKey) -> nodes.ClientSettings | None:
    """What the policy of a port asks for all of its hosts; None for the defaults."""
    found = view.ask(port_policy, key).policy
    if found is None:
        return None
    effect = clientpolicies.EFFECTS.of(view, found)
    is_plain = any(it.key == key and it.is_plain for it in _ports(view, found))
    traffic = effect.traffic if is_plain and effect.traffic != nodes.ClientTraffic() else None
    if traffic is None and effect.sockets == nodes.Sockets():
        return None
    return nodes.ClientSettings(effect.sockets, traffic)


@query
def client_traffic_policy(view: View, key: NamespacedName) -> PolicyStatus | None:
    """The status of a policy; None if it is for no Gateway of ours."""
    ancestry = clientpolicies.ANCESTRY
    is_used = view.count(ancestry.in_use, key) > 0
    meant = view.ask(clientpolicies.EFFECTS.meaning, key) if is_used else None
    if meant is None:
        return ancestry.status(view, key, ())
    told = (
        *_shared(view, key, meant.effect),
        *_asked_twice(view, key, meant.effect),
        *_ignored(view, key, meant.effect),
        *_waiting(view, key, meant.effect),
        *_without_http3(view, key, meant.effect),
    )
    return ancestry.status(view, key, (*meant.problems, *told))


def _asked_twice(
    view: View, key: NamespacedName, effect: clientpolicies.Effect
) -> Iterator[Problem]:
    """Says so if a Gateway, too, says which certificates clients must show."""
    if effect.tls.clients is not None and view.count(ASKED_TWICE, key) > 0:
        at = complaints.attached(clienttls.KIND, key).at("tls").at("clientValidation")
        text = "the Gateway says what clients must show, too (tls.frontend)"
        yield complaints.policy_closes_listeners(at, text)


def _ignored(view: View, key: NamespacedName, effect: clientpolicies.Effect) -> Iterator[Problem]:
    """Says which settings have no effect on listeners of a policy."""
    found = view.read(tables.CLIENT_TRAFFIC_POLICIES, key)
    if found is not None and not isinstance(found, UnreadPolicy) and not effect.is_closed:
        listeners = view.bucket(LISTENERS, key)
        yield from clientlisteners.ignored(key, found.spec, effect, listeners)


def _waiting(view: View, key: NamespacedName, effect: clientpolicies.Effect) -> Iterator[Problem]:
    """Says so if the sockets of a port cannot have the options that are asked for."""
    ports = (it.key for it in _ports(view, key))
    mine = (it for it in ports if view.ask(port_policy, it).policy == key)
    if any(_waits(view, it, effect.sockets) for it in mine):
        own = complaints.attached(clienttls.KIND, key)
        text = "tcpKeepalive and connection.socketBufferLimit take effect at the next start"
        yield complaints.policy_remark(own, f"{text}, on one machine")


def _without_http3(
    view: View, key: NamespacedName, effect: clientpolicies.Effect
) -> Iterator[Problem]:
    """Where a policy that holds on a port asks for HTTP/3, which is not served."""
    if not effect.sockets.http3:
        return
    at = complaints.attached(clienttls.KIND, key).at("http3")
    mine = [
        it for it in view.bucket(SECURE, key) if view.ask(port_policy, it.port.key).policy == key
    ]
    if mine and reads_proxy_protocol(view.ask(configured.settings, ()).edge, effect.sockets):
        text = "connections of its ports begin with the PROXY protocol"
        yield shared.no_effect(at, text)
        return
    if mine and (why := _unfit_for_quic(view, effect)):
        yield shared.no_effect(at, why)
        return
    for number in sorted({it.port.number for it in mine if _is_for_unknown_names(view, it)}):
        yield complaints.no_http3_for_unknown_names(at, str(number))


def _unfit_for_quic(view: View, effect: clientpolicies.Effect) -> str:
    """Why no host of a policy can be served over HTTP/3 (`SecureHost.can_speak_http3`); empty if
    the policy does not prevent it."""
    tls, usual = effect.tls, view.ask(configured.tls_versions, ())
    if max(tls.minimum or usual.minimum, tls.maximum or usual.maximum) != "1.3":
        return "it needs TLS 1.3"
    if tls.clients is not None:
        return "certificates of clients (tls.clientValidation) are not checked over HTTP/3"
    if effect.traffic.connections:
        return "connections are not counted (connection.connectionLimit) over HTTP/3"
    return ""


def _is_for_unknown_names(view: View, it: SecurePort) -> bool:
    """Whether routes take requests for names that no listener and no route has."""
    if it.unnamed is None:
        return False
    every = AttachmentPoint(nodes.HostKey(*it.port.key, hostnames.EVERY), it.unnamed)
    return view.count(attachment.ATTACHED, every) > 0


def _shared(view: View, key: NamespacedName, effect: clientpolicies.Effect) -> Iterator[Problem]:
    """The ports on which a policy does not hold, although it has settings for them."""
    everywhere = sorted(_ports(view, key))
    wanted = [it for it in everywhere if says_of_port(effect, is_plain=it.is_plain)]
    lost = [it for it in wanted if view.ask(port_policy, it.key).policy != key]
    is_lost = len(lost) == len(everywhere) and all(it.is_plain for it in everywhere)
    for it in lost:
        why = why_not(view.ask(port_policy, it.key))
        own = complaints.attached(clienttls.KIND, key)
        yield complaints.port_is_shared(own, str(it.number), why, is_error=is_lost)


def says_of_port(effect: clientpolicies.Effect, *, is_plain: bool) -> bool:
    """Whether a policy says something of what all hosts of a port share."""
    reads = is_plain and effect.traffic != nodes.ClientTraffic()
    return reads or effect.sockets != nodes.Sockets()


def why_not(found: PortPolicy) -> str:
    """Why a policy does not hold on a port: another one does, or none."""
    if found.is_before_sets:
        return f"{clienttls.KIND} {found.policy} of the Gateway holds there"
    return found.why_not or f"the older {clienttls.KIND} {found.policy} holds there"


def is_closed(view: View, section: Section) -> bool:
    """Whether a listener takes no requests, because what its policy asks for is not served.

    An index, so that other changes of the policy do not wake the reader.
    """
    return view.count(CLOSED, section) > 0


def _ports(view: View, policy: NamespacedName) -> frozenset[Port]:
    return view.bucket(OF_POLICY, policy)


def _on_port(
    _: ObjectRef, found: frozenset[ListenerPolicy]
) -> Iterator[tuple[nodes.ListenerKey, PortClaim | None]]:
    for it in found:
        claim = PortClaim(it.is_of_set, it.senior) if it.senior is not None else None
        yield it.port.key, claim


def _of_policy(
    _: ObjectRef, found: frozenset[ListenerPolicy]
) -> Iterator[tuple[NamespacedName, Port]]:
    return ((it.senior.key, it.port) for it in found if it.senior is not None)


def _closed(_: ObjectRef, found: frozenset[ListenerPolicy]) -> Iterator[tuple[Section, None]]:
    return ((it.section, None) for it in found if it.is_closed)


def _asked(
    _: ObjectRef, found: frozenset[ListenerPolicy]
) -> Iterator[tuple[NamespacedName, Section]]:
    twice = (it for it in found if it.is_asked_twice and it.senior is not None)
    return ((it.senior.key, it.section) for it in twice if it.senior is not None)


def _told(
    _: ObjectRef, found: frozenset[ListenerPolicy]
) -> Iterator[tuple[NamespacedName, PolicyListener]]:
    return ((it.senior.key, it.told) for it in found if it.senior is not None)


def _secured(
    _: ObjectRef, found: frozenset[ListenerPolicy]
) -> Iterator[tuple[NamespacedName, SecurePort]]:
    for it in found:
        if it.senior is not None and it.secure is not None:
            yield it.senior.key, it.secure


ON_PORT: Index[nodes.ListenerKey, PortClaim | None] = Index(
    "policies of clients on a port", listener_policies, _on_port
)
OF_POLICY: Index[NamespacedName, Port] = Index(
    "ports of ClientTrafficPolicies", listener_policies, _of_policy
)
CLOSED: Index[Section, None] = Index("listeners closed by their policy", listener_policies, _closed)
SECURE: Index[NamespacedName, SecurePort] = Index(
    "HTTPS ports of ClientTrafficPolicies", listener_policies, _secured
)
ASKED_TWICE: Index[NamespacedName, Section] = Index(
    "ClientTrafficPolicies beside Gateways that check clients", listener_policies, _asked
)
LISTENERS: Index[NamespacedName, PolicyListener] = Index(
    "listeners of ClientTrafficPolicies", listener_policies, _told
)

INDEXES = (ON_PORT, OF_POLICY, CLOSED, SECURE, ASKED_TWICE, LISTENERS)
KEPT = (
    Kept(listener_policies, tables.GATEWAYS, listenersets.gateway_ref),
    Kept(listener_policies, tables.LISTENER_SETS, listenersets.ref),
)
"""`port_policy` is not kept here: it depends on the hosts of all APIs, which are settled later."""

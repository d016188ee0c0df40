"""Which policies apply to a request, and which are overridden by others.

The status of a policy says where it holds; this says which policies hold for a request. A route
lists the policies that shaped it. Others, for it, its listener or its backends, are found as the
rules find them. Elsewhere: what policies do to a request (`guards`, `actions`).
"""

from collections.abc import Iterable, Iterator, Sequence

from crds.meta import NamespacedName, ObjectRef
from dag import nodes
from dag.evaluation.places import World
from dag.evaluation.trace import Topic, Trace
from dag.gateway import (
    attachment,
    backendtraffic,
    clientports,
    envoybackends,
    listenerguards,
    policies,
    servedlisteners,
    streams,
)
from dag.gateway.envoypolicies import (
    clientpolicies,
    routeshaping,
    securitypolicies,
    trafficpolicies,
)
from dag.gateway.envoypolicies.policytargets import PolicyKind
from dag.gateway.rules import Rules
from dag.gateway.servedlisteners import ServedListener
from dag.seniority import Senior

Level = list[Senior]
"""The policies of a kind for one target, the oldest first. Levels go from the nearest target to the
Gateway."""

_OF_ROUTES = (securitypolicies.POLICIES, *routeshaping.KINDS)
_OF_REQUESTS = frozenset({"HTTPRoute", "GRPCRoute"})


def of_route(world: World, key: nodes.HostKey, route: nodes.Route, trace: Trace) -> None:
    """Tells of the policies of a route that takes the request, and of its backends."""
    for it in route.attached:
        trace.note("route", "noted", f"{it} applies to the route", it)
    owner = world.answer(servedlisteners.owner, key)
    if owner is None or route.origin.kind not in _OF_REQUESTS:
        return
    for kind in _OF_ROUTES:
        effective = [it.key for it in route.attached if it.kind == kind.name]
        own = _levels(world, kind, route.origin, dict.fromkeys((route.section, "")))
        levels = [*own, *_of_listener(world, kind, owner)]
        _note_overridden(kind.name, levels, effective, "route", trace)
    if isinstance(route.action, nodes.Forward):
        clusters = [it.cluster for it in route.action.backends]
        for port in _ports_with_tls(clusters):
            _note_tls(world, port, trace)
        for port in _ports(clusters):
            _note_traffic(world, port, trace)


def of_stream(world: World, key: nodes.HostKey, stream: nodes.Stream, trace: Trace) -> None:
    """Tells of the policies of a connection whose bytes are forwarded, and of its listener."""
    owner = world.answer(servedlisteners.owner, key)
    if owner is None or owner.is_http:
        return
    of_listener(world, key, trace)
    routes = world.bucket(attachment.ATTACHED, attachment.AttachmentPoint(key, owner.section))
    route = min(routes).route.ref if routes else None
    if route is not None:
        what = "packet" if owner.protocol == "UDP" else "connection"
        trace.note("route", "passed", f"takes every {what}", route)
    for kind in _OF_ROUTES:
        effective, levels = _of_stream(world, kind, route, owner)
        for it in effective:
            ref = ObjectRef(kind.name, *it)
            trace.note("route", "noted", f"{ref} applies to the route", ref)
        _note_overridden(kind.name, levels, effective, "route", trace)
    for port in _ports_with_tls(it.cluster for it in stream.shares):
        _note_tls(world, port, trace)


def of_listener(world: World, key: nodes.HostKey, trace: Trace) -> None:
    """Tells of the ClientTrafficPolicy of the listener that has a host."""
    owner = world.answer(servedlisteners.owner, key)
    if owner is None:
        return
    kind = clientpolicies.POLICIES
    levels = _of_listener(world, kind, owner)
    if not levels:
        return
    own = levels[0][0].key
    ref, listener = ObjectRef(kind.name, *own), owner.section.name
    verb = "closes" if _is_closed(world, owner) else "applies to"
    trace.note("listener", "noted", f"{ref} {verb} the listener {listener}", ref)
    _note_shared(world, owner, own, trace)
    _note_overridden(kind.name, levels, [own], "listener", trace)


def _is_closed(world: World, owner: ServedListener) -> bool:
    found = world.answer(clientports.listener_policies, owner.section.holder) or frozenset()
    return any(it.is_closed and it.section == owner.section for it in found)


def _note_shared(world: World, owner: ServedListener, own: NamespacedName, trace: Trace) -> None:
    """Tells which policy decides over what all hosts of a port share, if the listener's own policy
    says something of that and does not hold."""
    at = nodes.ListenerKey(owner.host.fleet, owner.host.listener)
    meant = world.answer(clientpolicies.EFFECTS.meaning, own)
    effective = world.answer(clientports.port_policy, at)
    if meant is None or effective is None or effective.policy == own:
        return
    if not clientports.says_of_port(meant.effect, is_plain=owner.protocol == "HTTP"):
        return
    ref = ObjectRef(clientpolicies.POLICIES.name, *own)
    why = clientports.why_not(effective)
    words = f"{ref} does not hold for what all hosts of port {owner.port} share: {why}"
    trace.note("listener", "noted", words, ref)


def _levels(
    world: World, kind: PolicyKind, target: ObjectRef, sections: Iterable[str]
) -> list[Level]:
    """The policies for each section of a target; the empty section stands for the whole target."""
    if target.kind not in kind.targets:
        return []
    claims = world.answer(kind.claims, target) or frozenset()
    found = (sorted(it.senior for it in claims if it.section == name) for name in sections)
    return [it for it in found if it]


def _of_listener(world: World, kind: PolicyKind, owner: ServedListener) -> list[Level]:
    holder, name = owner.section
    whole = ObjectRef("Gateway", *owner.gateway)
    wider = [] if holder == whole else _levels(world, kind, whole, ("",))
    return [*_levels(world, kind, holder, dict.fromkeys((name, ""))), *wider]


def _of_one_rule(world: World, kind: PolicyKind, route: ObjectRef) -> list[Level]:
    """Of a route for streams; a SecurityPolicy closes it whichever part it is for."""
    if kind is securitypolicies.POLICIES:
        claims = world.answer(kind.claims, route) or frozenset()
        return _levels(world, kind, route, sorted({it.section for it in claims}))
    rules = world.answer(streams.rules, route) or Rules()
    return _levels(world, kind, route, dict.fromkeys((rules.section, "")))


def _guarding(world: World, levels: list[Level]) -> list[Level]:
    """The SecurityPolicies of a Gateway that have an effect on streams (`closes_streams`)."""
    effects = securitypolicies.EFFECTS
    meant = (world.answer(effects.meaning, level[0].key) for level in levels[:1])
    return levels if any(it and listenerguards.says_who_connects(it.effect) for it in meant) else []


def _of_stream(
    world: World, kind: PolicyKind, route: ObjectRef | None, owner: ServedListener
) -> tuple[list[NamespacedName], list[Level]]:
    """The policies of a kind that hold for a stream, and all that are for it."""
    own = _of_one_rule(world, kind, route) if route is not None else []
    wider = _of_listener(world, kind, owner)
    if kind is securitypolicies.POLICIES:
        is_named = bool(_levels(world, kind, owner.section.holder, (owner.section.name,)))
        wider = wider if is_named else _guarding(world, wider)
    effective = [level[0].key for level in (own or wider)[:1]]
    if own and wider and _is_merging(world, kind, effective[0]):
        effective.append(wider[0][0].key)
    return effective, [*own, *wider]


def _is_merging(world: World, kind: PolicyKind, policy: NamespacedName) -> bool:
    merging = trafficpolicies.EFFECTS.merging
    if kind is not trafficpolicies.POLICIES or merging is None:
        return False
    return bool(world.bucket(merging.merging, policy))


def _note_overridden(
    kind: str, levels: list[Level], effective: Sequence[NamespacedName], topic: Topic, trace: Trace
) -> None:
    """Tells of the policies for a target, or for what it belongs to, that others override."""
    if not effective:
        return
    told = set(effective)
    for level in levels:
        first = level[0].key
        is_effective = first in effective
        for it in level:
            if it.key not in told:
                told.add(it.key)
                by = ObjectRef(kind, *(first if is_effective else effective[0]))
                why = "is older" if is_effective else "is for a nearer target"
                ref = ObjectRef(kind, *it.key)
                words = f"{ref} is overridden by {by}, which {why}"
                trace.note(topic, "noted", words, ref)


def _ports(clusters: Iterable[nodes.Cluster | None]) -> Iterator[nodes.ServicePort]:
    """The ports that these clusters are made of, each once."""
    made = (it for it in clusters if it is not None)
    named = ([member.port for member in it.members] or [it.port] for it in made)
    return iter(dict.fromkeys(port for ports in named for port in ports))


def _ports_with_tls(clusters: Iterable[nodes.Cluster | None]) -> Iterator[nodes.ServicePort]:
    return _ports(it for it in clusters if it is not None and it.tls is not None)


def _note_tls(world: World, port: nodes.ServicePort, trace: Trace) -> None:
    target = _target(world, port)
    wider = target._replace(section="")
    levels = [sorted(world.bucket(policies.POLICIES, it)) for it in dict.fromkeys((target, wider))]
    _note_of_backend("BackendTLSPolicy", port, [it for it in levels if it], trace)


def _target(world: World, port: nodes.ServicePort) -> policies.Target:
    """The target by which a BackendTLSPolicy names this port."""
    if port.kind == envoybackends.KIND:
        asked = world.answer(envoybackends.wanted, port.service)
        if asked is not None:
            return envoybackends.target(port.service, asked.located)
    return policies.Target(port.service, port.port_name, port.kind)


def _note_traffic(world: World, port: nodes.ServicePort, trace: Trace) -> None:
    levels = [sorted(world.bucket(backendtraffic.POLICIES, port.owner))]
    if world.answer(backendtraffic.held, port.owner) not in (None, backendtraffic.Held()):
        _note_of_backend(backendtraffic.KIND, port, levels, trace)


def _note_of_backend(kind: str, port: nodes.ServicePort, levels: list[Level], trace: Trace) -> None:
    if not levels:
        return
    ref = ObjectRef(kind, *levels[0][0].key)
    trace.note("action", "noted", f"{ref} applies to {port.owner}", ref)
    _note_overridden(kind, levels, [ref.key], "action", trace)

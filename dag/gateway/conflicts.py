"""Which listeners of a Gateway and its ListenerSets cannot be told apart ("Distinct Listeners").

On one port all listeners are of one family (plain HTTP, TLS, TCP), and each has a host of its own.
Within a Gateway or set, all listeners of a conflict lose, since we cannot know which one was meant.
Between them the Gateway takes precedence, then the older set (GEP-1713). The ports of Ingress and
HTTPProxy precede all of these if the settings name them (`externalPorts`). Listeners with an
unknown protocol are not served, so they conflict with nothing. Hosts that merely overlap are no
conflict, but clients that share a connection for them may be surprised (GEP-3567).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from crds.meta import NamespacedName, ObjectRef
from dag import tables
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import listenersets, listenerspecs, selection
from dag.gateway.listenerspecs import Family, ListenerSpec, Section
from dag.problems import Problem
from dag.problems import listeners as problems
from dag.problems.places import Place
from dag.seniority import Senior, senior
from dag.values import hostnames


class GatewayPort(NamedTuple):
    """A port of a Gateway; TCP and UDP ports of one number are different ports."""

    gateway: NamespacedName
    is_udp: bool
    port: int


class Rank(NamedTuple):
    """The precedence of a holder of listeners: the Gateway first, then its sets by age."""

    is_set: bool
    senior: Senior


class PortUse(NamedTuple):
    """What a listener takes of a port."""

    gateway_port: GatewayPort
    family: Family
    host: str
    rank: Rank
    section: Section


@query
def taken(view: View, holder: ObjectRef) -> tuple[PortUse, ...]:
    """What the listeners of a Gateway or ListenerSet take of its ports."""
    gateway = view.ask(listenersets.gateway_of, holder)
    found = view.read(tables.BY_KIND[holder.kind], holder.key)
    if gateway is None or found is None:
        return ()
    rank = Rank(holder.kind == listenersets.KIND, senior(found.metadata))
    return tuple(
        PortUse(
            GatewayPort(gateway, it.family == "UDP", it.port), it.family, it.host, rank, it.section
        )
        for it in view.ask(listenerspecs.specs, holder)
        if it.family is not None
    )


@query
def family(view: View, gateway_port: GatewayPort) -> Family | None:
    """The family of a port, as the first holder says; None if that holder contradicts itself.

    While all holders agree, their ranks are not read: one more set wakes no reader.
    """
    if (named := of_settings(view, gateway_port)) is not None:
        return named
    found = view.bucket(FAMILIES, gateway_port)
    if len(found) < 2:
        return next(iter(found), None)
    claims = view.bucket(CLAIMS, gateway_port)
    first = min((rank for rank, _ in claims), default=None)
    leading: set[Family] = {it for rank, it in claims if rank == first}
    return leading.pop() if len(leading) == 1 else None


def of_settings(view: View, gateway_port: GatewayPort) -> Family | None:
    """The family of a port that the settings name for Ingress and HTTPProxy."""
    used = view.ask(settings.ports, ())
    named: dict[int, Family] = {used.https: "HTTPS", used.http: "HTTP"}
    found = None if gateway_port.is_udp else named.get(gateway_port.port)
    if found is None or not used.are_said or view.ask(settings.gateways_only, ()):
        return None
    fleet = view.ask(selection.fleet, gateway_port.gateway)
    return found if fleet == DEFAULT_FLEET else None


def conflict(view: View, own: Sequence[ListenerSpec], found: PortUse, at: Place) -> Problem | None:
    """Why a listener conflicts with others; None if it does not. Other sets are not named."""
    beside = _beside(own, found)
    if view.ask(family, found.gateway_port) != found.family:
        if of_settings(view, found.gateway_port) not in {None, found.family}:
            return problems.port_of_settings(at, found.gateway_port.port)
        strangers = [it.section.name for it in beside if it.family != found.family]
        return problems.protocol_conflict(at, found.gateway_port.port, strangers)
    rivals = view.bucket(PLACES, (found.gateway_port, found.family, found.host))
    if any(rank <= found.rank for rank, it in rivals if it != found.section):
        alike = (found.family, found.host)
        twins = [it.section.name for it in beside if (it.family, it.host) == alike]
        return problems.hostname_conflict(at, twins)
    return None


def overlap(view: View, own: Sequence[ListenerSpec], found: PortUse, at: Place) -> Problem | None:
    """A problem if hosts of a TLS listener overlap with those of others on its port."""
    if found.family != "HTTPS":
        return None
    wider = sum(view.count(PLACES, (found.gateway_port, "HTTPS", it)) for it in _wider(found.host))
    if wider + view.count(NARROWER, (found.gateway_port, found.host)) == 1:  # itself
        return None
    others = [
        it.section.name
        for it in _beside(own, found)
        if it.family == "HTTPS" and hostnames.intersection(it.host, found.host) is not None
    ]
    return problems.hostnames_overlap(at, others)


def _beside(own: Sequence[ListenerSpec], found: PortUse) -> list[ListenerSpec]:
    """The other listeners of the same object on a port; those of unknown protocols are on none."""
    port = found.gateway_port
    return [
        it
        for it in own
        if it.section != found.section
        and it.family is not None
        and (it.port, it.family == "UDP") == (port.port, port.is_udp)
    ]


def _wider(host: str) -> Iterator[str]:
    return (it for it in hostnames.covering(host) if it != host)


def _family(_: ObjectRef, found: tuple[PortUse, ...]) -> Iterator[tuple[GatewayPort, Family]]:
    return ((it.gateway_port, it.family) for it in found)


def _claim(
    _: ObjectRef, found: tuple[PortUse, ...]
) -> Iterator[tuple[GatewayPort, tuple[Rank, Family]]]:
    return ((it.gateway_port, (it.rank, it.family)) for it in found)


Where = tuple[GatewayPort, Family, str]


def _place(
    _: ObjectRef, found: tuple[PortUse, ...]
) -> Iterator[tuple[Where, tuple[Rank, Section]]]:
    return (((it.gateway_port, it.family, it.host), (it.rank, it.section)) for it in found)


def _narrower(
    _: ObjectRef, found: tuple[PortUse, ...]
) -> Iterator[tuple[tuple[GatewayPort, str], Section]]:
    for it in found:
        if it.family == "HTTPS":
            yield from (
                ((it.gateway_port, host), it.section) for host in hostnames.covering(it.host)
            )


FAMILIES: Index[GatewayPort, Family] = Index("families on a port", taken, _family)
CLAIMS: Index[GatewayPort, tuple[Rank, Family]] = Index("who speaks what on a port", taken, _claim)
PLACES: Index[Where, tuple[Rank, Section]] = Index("listeners of a host", taken, _place)
NARROWER: Index[tuple[GatewayPort, str], Section] = Index(
    "TLS listeners within a host", taken, _narrower
)

INDEXES = (FAMILIES, CLAIMS, PLACES, NARROWER)
KEPT = (
    Kept(taken, tables.GATEWAYS, listenersets.gateway_ref),
    Kept(taken, tables.LISTENER_SETS, listenersets.ref),
)

"""Which fleets of Envoys there are to be, and what clients find at each of them.

For whoever makes them (`contour.infrastructure`). The ports of a fleet are those of its listeners.
The shared fleet has the ports of the Gateway in charge and those that the settings name; without
such a Gateway, those of the settings. In mode `PerGateway` the shared fleet is for Ingress and
HTTPProxy alone, and absent if these are not served; every Gateway has its own. Elsewhere: what a
Gateway asks for (`gateway.infrastructure`), where Envoy listens (`listeners`), how all of it is
written for Kubernetes (`provisioning`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Literal, NamedTuple

from crds.fleetdetails import Details
from crds.meta import NamespacedName
from crds.records import dataclass, replace
from crds.workloads import NetworkPublishing, Workload
from dag import defaults, listeners, nodes, tables
from dag import ports as host_ports
from dag.configuration import settings
from dag.engine.view import Index, Kept, Table, View, query
from dag.envoyproxy.asked import OwnBootstrap
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import clientports, infrastructure, selection
from dag.gateway.infrastructure import Infrastructure
from dag.statuses import Address


class Port(NamedTuple):
    """A port that clients see."""

    name: str
    protocol: Literal["TCP", "UDP"]
    number: int
    bound: int
    """The port on which Envoy listens."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Envoys with one configuration, as they are to be made."""

    gateway: NamespacedName | None
    """The Gateway that alone has this fleet; None for the shared fleet."""
    gateway_class: str = ""
    ports: tuple[Port, ...] = ()
    is_due: bool = True
    """Its ports are known. Until they are, nothing is made for it, and what exists stays."""
    publishing: NetworkPublishing | None = None
    workload: Workload = field(default_factory=Workload)
    details: Details = field(default_factory=Details)
    bootstrap: OwnBootstrap | None = None
    """The bootstrap that its Envoys start with, if it is not the usual one."""
    is_managed: bool = False
    """The instance makes it and keeps it as it should be."""
    hides_stats: bool = False
    """Metrics are only for clients with a certificate, so no page in the clear shows them."""
    speaks_proxy_protocol: bool = False
    monitors: tuple[int, ...] = ()
    """The ports for health checks and metrics, beside those that the bootstrap opens."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """The labels that its Gateway wants on every object."""
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Likewise."""
    addresses: tuple[Address, ...] = ()
    """The addresses that its Gateway asks for."""


Concern = Literal["all", "publishing", "workload", "bootstrap"]
"""The settings of a fleet that a problem is about: all of them, how clients reach it, how its
Envoys run, or their bootstrap."""


class FleetProblem(NamedTuple):
    """Why a fleet is not as it should be."""

    message: str
    is_error: bool = True
    """False: something is waited for that will come by itself."""
    is_settled: bool = False
    """The problem is only reported: apart from it the fleet is as it should be."""
    concerns: Concern = "all"
    """The settings that it is about."""


PROBLEMS: Table[str, tuple[FleetProblem, ...]] = Table("troubles of fleets")
"""By fleet: the problems that its maker has found; no row if there are none."""


@query
def fleet(view: View, name: str) -> Fleet | None:
    """What a fleet is to be; None if there is to be none."""
    gateway = _gateway(view, name)
    if name == DEFAULT_FLEET:
        return None if _is_for_nobody(view) else _shared(view, gateway)
    if gateway is None:
        return None
    # A Gateway that can have no fleet now, because of what it refers to, keeps the one it has.
    asked = view.ask(infrastructure.infrastructure, gateway) or Infrastructure()
    return _of_a_gateway(view, name, gateway, asked)


def _is_for_nobody(view: View) -> bool:
    """Whether the shared fleet would serve neither a Gateway nor hosts of Ingress and HTTPProxy."""
    is_only = view.ask(settings.gateways_only, ())
    return is_only and view.ask(settings.gateway_mode, ()) == "PerGateway"


def is_behind_itself(view: View, publishing: NetworkPublishing | None) -> bool:
    """Whether the Gateway in front of a fleet would have to be served by this instance itself."""
    outer = publishing.gateway if publishing is not None else None
    if outer is None or outer.gateway_class_name is None:
        return False
    name = NamespacedName("", outer.gateway_class_name)
    return view.ask(selection.is_of_our_controller, name)


def serves_http3(view: View, key: nodes.ListenerKey) -> bool:
    """Whether an HTTPS listener has one for HTTP/3 beside it, on the UDP port of its number.

    Never behind a load balancer that speaks the PROXY protocol, for that would hide the addresses
    of clients; nor if a Gateway has a UDP listener on that port.
    """
    return _wants_http3(view, key) and _has_udp_port(view, key)


def _wants_http3(view: View, key: nodes.ListenerKey) -> bool:
    return is_http3_wanted(view.ask(defaults.edge, ()), view.ask(clientports.settings, key))


def _has_udp_port(view: View, key: nodes.ListenerKey) -> bool:
    every = view.ask(listeners.listeners, key.fleet)
    return has_udp_port(every, key, lambda port: view.bucket(host_ports.UDP_HELD, port))


def is_http3_wanted(edge: nodes.Edge, asked: nodes.ClientSettings | None) -> bool:
    """Whether an HTTPS listener has one for HTTP/3 beside it, where it can, by the settings and by
    the policy of its port."""
    sockets = asked.sockets if asked is not None else nodes.Sockets()
    is_told = clientports.reads_proxy_protocol(edge, sockets)
    return (edge.http3 or sockets.http3) and not is_told


def has_udp_port(
    every: Iterable[nodes.Listener],
    key: nodes.ListenerKey,
    holders: Callable[[int], Collection[str]],
) -> bool:
    """Whether the UDP port of a listener's number is free, among all listeners of the fleet and of
    the Gateways that share the machine: `holders` says who has a UDP port there."""
    found = tuple(every)
    port = next((it.bind_port for it in found if it.name == key.name), None)
    if port is not None and holders(port):
        return False
    return not any(it.protocol == "UDP" and it.bind_port == port for it in found)


def _gateway(view: View, name: str) -> NamespacedName | None:
    """The Gateway that has a say in a fleet."""
    if name == DEFAULT_FLEET:
        return view.ask(selection.in_charge, ())
    return next(iter(view.bucket(selection.FLEETS, name)), None)


def _of_a_gateway(view: View, name: str, gateway: NamespacedName, asked: Infrastructure) -> Fleet:
    gateway_class = view.ask(selection.accepted_class, ())
    ports = tuple(_ports(view, name, view.ask(listeners.listeners, name)))
    found = Fleet(
        gateway=gateway,
        gateway_class=gateway_class.name if gateway_class else "",
        ports=ports,
        is_due=bool(ports),
        publishing=_directly(asked.publishing),
        workload=asked.workload or Workload(),
        details=asked.details,
        bootstrap=asked.bootstrap,
        is_managed=asked.is_managed and not _is_leaving(view),
    )
    return _with_what_all_have(view, found, asked)


def _shared(view: View, gateway: NamespacedName | None) -> Fleet:
    asked = view.ask(infrastructure.wanted, gateway) if gateway is not None else None
    configuration = view.ask(settings.chosen_configuration, ())
    envoy = configuration.spec.envoy if configuration is not None else None
    publishing = envoy.network_publishing if envoy is not None else None
    every = view.ask(listeners.listeners, DEFAULT_FLEET)
    ports = tuple(_ports(view, DEFAULT_FLEET, every))
    found = Fleet(
        gateway=None,
        ports=ports,
        is_due=bool(ports),
        publishing=_directly(publishing) if is_behind_itself(view, publishing) else publishing,
        workload=(envoy and envoy.workload) or Workload(),
        bootstrap=infrastructure.written(envoy),
        is_managed=view.ask(settings.makes_fleet, ()) and not _is_leaving(view),
    )
    return _with_what_all_have(view, found, asked or Infrastructure())


def _with_what_all_have(view: View, found: Fleet, asked: Infrastructure) -> Fleet:
    return replace(
        found,
        hides_stats=view.ask(_hides_stats, ()),
        speaks_proxy_protocol=view.ask(defaults.edge, ()).use_proxy_protocol,
        monitors=_monitors(view),
        labels=asked.labels,
        annotations=asked.annotations,
        addresses=asked.addresses,
    )


def _directly(publishing: NetworkPublishing | None) -> NetworkPublishing | None:
    """The publishing without a Gateway in front, which only the shared fleet can have."""
    return replace(publishing, gateway=None) if publishing is not None else None


def _monitors(view: View) -> tuple[int, ...]:
    """The ports that others can connect to: not those with pages for the pod itself alone."""
    found = view.ask(settings.monitors, ())
    return tuple(it.port for it in found if not set(it.pages) <= {"admin"})


def _is_leaving(view: View) -> bool:
    """Whether the instance is being removed: its removal would miss a fleet that is made now."""
    found = view.ask(settings.chosen_configuration, ())
    return found is not None and found.metadata.deletion_timestamp is not None


@query
def _hides_stats(view: View, _: tuple[()]) -> bool:
    configuration = view.ask(settings.chosen_configuration, ())
    envoy = configuration.spec.envoy if configuration is not None else None
    return bool(envoy and envoy.metrics and envoy.metrics.tls)


def _ports(view: View, fleet: str, found: tuple[nodes.Listener, ...]) -> Iterator[Port]:
    usual = view.ask(settings.ports, ())
    for it in found:
        is_usual = (it.protocol, it.port) in {("HTTP", usual.http), ("HTTPS", usual.https)}
        name = it.protocol.lower() + ("" if is_usual else f"-{it.port}")
        yield Port(name, "UDP" if it.protocol == "UDP" else "TCP", it.port, it.bind_port)
        key = nodes.ListenerKey(fleet, it.name)
        if it.protocol == "HTTPS" and serves_http3(view, key):
            yield Port(f"http3-{it.port}", "UDP", it.port, it.bind_port)


def _unpublished(name: str, found: Fleet) -> Iterator[tuple[tuple[()], str]]:
    if found.gateway is not None and found.publishing is None:
        yield (), name


UNPUBLISHED: Index[tuple[()], str] = Index("fleets that nobody publishes", fleet, _unpublished)


def messages_of(view: View, name: str) -> Iterator[str]:
    """What is wrong with a fleet, for the author of its Gateway. A message about the bootstrap
    begins with the field in which it is written."""
    for it in view.read(PROBLEMS, name) or ():
        found = view.ask(fleet, name) if it.concerns == "bootstrap" else None
        written = found.bootstrap.written if found is not None and found.bootstrap else ""
        yield f"{written}: {it.message}" if written else it.message
    yield from without_http3(view, name)


def without_http3(view: View, name: str) -> Iterator[str]:
    """Messages about HTTPS listeners of a fleet that are to serve HTTP/3 and cannot."""
    for it in view.ask(listeners.listeners, name):
        key = nodes.ListenerKey(name, it.name)
        if it.protocol == "HTTPS" and _wants_http3(view, key) and not _has_udp_port(view, key):
            why = "a Gateway has its UDP port for a UDP listener"
            yield f"HTTP/3 is not served on port {it.port}: {why}"


def unmade(view: View, name: str) -> str:
    """Why no fleet is made for a Gateway of its own; empty if one is, or it shares another's."""
    gateway = _gateway(view, name) if name != DEFAULT_FLEET else None
    asked = view.ask(infrastructure.infrastructure, gateway) if gateway is not None else None
    is_here = view.read(tables.HOST_PORTS, ()) is not None
    if asked is None or asked.is_managed or is_here:
        return ""
    if asked.publishing is None:
        return "no fleet is made: spec.envoy.networkPublishing is not set in its configuration"
    return "no fleet is made: spec.envoy.managed is false in the ContourConfiguration"


INDEXES = (UNPUBLISHED,)
KEPT = (
    Kept(fleet, tables.FLEETS),
    Kept(fleet, selection.FLEETS),
    Kept(clientports.settings, listeners.NAMES),
)

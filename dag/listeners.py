"""The listeners of a fleet, and on which of them the hosts of Ingress and HTTPProxy live.

Without a Gateway there is one for plain HTTP and one for HTTPS, on the ports of the settings (the
static ones). A Gateway in charge brings its own, which Ingress and HTTPProxy then use. Ports that
the settings name (`externalPorts`) exist in any case. For a protocol of which the Gateway has no
listener, the static one otherwise stays only if we do not make the fleet: then others decide what
its Service has. If only Gateways are served, there are no static ones. A name depends on the port
alone: a Gateway that comes or goes does not close the ports it shares.
"""

from collections.abc import Iterable, Iterator

from crds.records import replace
from dag import entrypoints, nodes, ports, tables
from dag.configuration import settings
from dag.engine.view import Index, Kept, View, query
from dag.entrypoints import MissingListener
from dag.fleetnames import DEFAULT_FLEET
from dag.gateway import hosts as gateway_hosts
from dag.gateway import selection, servedlisteners
from dag.values import hostnames


@query
def listeners(view: View, fleet: str) -> tuple[nodes.Listener, ...]:
    """Every listener of a fleet, in order of their ports."""
    found = tuple(_of_gateways(view, fleet))
    static = _static(view, found) if fleet == DEFAULT_FLEET else ()
    monitors = (it.port for it in view.ask(settings.monitors, ()))
    everything = ports.distinct((*found, *static), monitors)
    if view.read(tables.HOST_PORTS, ()) is not None:
        # Two instances on one machine would silently share a port, and each get half of it.
        return tuple(replace(it, is_exclusive=True) for it in everything)
    return everything


@query
def listener(view: View, key: nodes.ListenerKey) -> nodes.Listener | None:
    """One listener of a fleet."""
    for found in view.ask(listeners, key.fleet):
        if found.name == key.name:
            makers = tuple(sorted(view.bucket(servedlisteners.MAKERS, key)))
            return replace(found, stream=_stream(view, key, found), origins=makers)
    return None


@query
def plain_listener(view: View, _: tuple[()]) -> nodes.Listener | None:
    """The plain HTTP listener of Ingress and HTTPProxy; None if the Gateway has none for them."""
    return _only(view, "HTTP", view.ask(settings.ports, ()).http)


@entrypoints.secure_listener.answer
def secure_listener(view: View, _: tuple[()]) -> nodes.Listener | None:
    """The listener for TLS of Ingress and HTTPProxy; None if the Gateway has no suitable one."""
    return _only(view, "HTTPS", view.ask(settings.ports, ()).https)


@entrypoints.missing_listener.answer
def missing_listener(view: View, protocol: nodes.Protocol) -> MissingListener | None:
    """Why there is no listener for HTTP or HTTPS; None if there is one."""
    asked = plain_listener if protocol == "HTTP" else secure_listener
    if view.ask(asked, ()) is not None:
        return None
    every = view.ask(listeners, DEFAULT_FLEET)
    is_ambiguous = any(it.protocol == protocol for it in every)
    return MissingListener(view.ask(selection.in_charge, ()), is_ambiguous)


def _of_gateways(view: View, fleet: str) -> Iterator[nodes.Listener]:
    is_held = _is_held(view, fleet)
    for name, protocol, port in sorted(view.bucket(servedlisteners.PORTS, fleet)):
        address, bind = ports.binding(view, port)
        if is_held:
            held = view.read(ports.HELD, ports.HostPort(fleet, protocol == "UDP", port))
            if held is None:
                continue  # it is about to be
            bind = held
        yield nodes.Listener(name, protocol, port, address, bind)


def _is_held(view: View, fleet: str) -> bool:
    """Whether `ports.HELD` assigns the ports of a fleet: fleets of one machine must not collide."""
    return fleet != DEFAULT_FLEET and view.read(tables.HOST_PORTS, ()) is not None


@query
def host_ports(view: View, fleet: str) -> tuple[ports.HostPort, ...]:
    """The ports that a fleet of a Gateway needs on this machine; none elsewhere."""
    found = view.bucket(servedlisteners.PORTS, fleet) if _is_held(view, fleet) else ()
    wanted = {ports.HostPort(fleet, protocol == "UDP", port) for _, protocol, port in found}
    return tuple(sorted(wanted))


def _stream(view: View, key: nodes.ListenerKey, found: nodes.Listener) -> nodes.Stream | None:
    """Where everything that arrives on a TCP or UDP port goes; None for HTTP and HTTPS."""
    if found.protocol in {"HTTP", "HTTPS"}:
        return None
    return view.ask(gateway_hosts.stream_of, nodes.HostKey(*key, hostnames.EVERY))


def _static(view: View, found: tuple[nodes.Listener, ...]) -> Iterator[nodes.Listener]:
    used = view.ask(settings.ports, ())
    if view.ask(settings.gateways_only, ()):
        return
    if found and not used.are_said and view.ask(settings.makes_fleet, ()):
        return
    seen: set[nodes.Protocol] = set() if used.are_said else {it.protocol for it in found}
    taken = {it.port for it in found if it.protocol != "UDP"}
    if "HTTP" not in seen and used.http not in taken:
        address, bind = ports.binding(view, used.http)
        yield nodes.Listener("ingress_http", "HTTP", used.http, address, bind)
    if "HTTPS" not in seen and used.https not in taken:
        address, bind = ports.binding(view, used.https)
        yield nodes.Listener("ingress_https", "HTTPS", used.https, address, bind)


def _only(view: View, protocol: nodes.Protocol, usual: int) -> nodes.Listener | None:
    found = [it for it in view.ask(listeners, DEFAULT_FLEET) if it.protocol == protocol]
    if len(found) == 1:
        return found[0]
    return next((it for it in found if it.port == usual), None)


def _names(
    fleet: str, found: tuple[nodes.Listener, ...]
) -> Iterable[tuple[nodes.ListenerKey, None]]:
    return ((nodes.ListenerKey(fleet, it.name), None) for it in found)


NAMES: Index[nodes.ListenerKey, None] = Index("listeners by name", listeners, _names)

INDEXES = (NAMES,)
KEPT = (
    Kept(listeners, tables.FLEETS),
    Kept(listeners, selection.FLEETS),
    Kept(host_ports, selection.FLEETS),
    Kept(listener, NAMES),
)

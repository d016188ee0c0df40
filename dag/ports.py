"""Which port Envoy binds for a port that users see.

In a cluster, Envoy runs without privileges and a Service maps the ports: the listener's port plus
8000, as in upstream Contour. On one machine, ports that need no privileges are bound as they are.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from crds.records import dataclass, replace
from dag import nodes, tables
from dag.configuration import settings
from dag.engine.view import Index, Table, View

OFFSET = 8000
RESERVED = frozenset({8002, 8090, 9001})
"""Taken by Envoy's statistics, the shutdown manager and the administration interface."""


@dataclass(frozen=True, slots=True)
class HostPorts:
    """How a process that serves one machine binds its ports."""

    address: str = "127.0.0.1"
    overrides: tuple[tuple[int, int], ...] = ()
    """Pairs of the port that users see and the port that is bound; clients connect to the first."""
    moved: tuple[tuple[int, int], ...] = ()
    """Such pairs without a translation of the port: clients have to connect to the second."""


class HostPort(NamedTuple):
    """A port, as users see it, of a Gateway with its own Envoys on this machine."""

    fleet: str
    is_udp: bool
    port: int


HELD: Table[HostPort, int] = Table("ports of this machine")
"""The port that is bound for it. If several Gateways have the same port, one gets it and the others
get the next free ones; that stays so while the Gateway exists, whichever others come and go. This
is history, so it is written from outside the rules (`contour.heldports`)."""


def _udp(key: HostPort, bound: int) -> Iterator[tuple[int, str]]:
    if key.is_udp:
        yield bound, key.fleet


UDP_HELD: Index[int, str] = Index("UDP ports of this machine", HELD, _udp)
"""By bound port: the fleets that have that UDP port of this machine for datagrams."""

INDEXES = (UDP_HELD,)


def binding(view: View, port: int) -> tuple[str, int]:
    """The address and port that Envoy binds for a port that users see."""
    host = view.read(tables.HOST_PORTS, ())
    if host is not None:
        return host.address, dict(host.moved + host.overrides).get(port, local_port(port))
    ports = view.ask(settings.ports, ())
    if port == ports.http:
        return ports.http_address, ports.http_bind
    if port == ports.https:
        return ports.https_address, ports.https_bind
    return ports.http_address, container_port(port)


def seen(view: View, listener: nodes.Listener) -> int:
    """The port that clients connect to.

    It is the listener's port if a Service, or whoever chose the local port, translates it. If a
    process on one machine binds another port by itself, nothing translates that.
    """
    machine = view.read(tables.HOST_PORTS, ())
    if machine is None or listener.port in dict(machine.overrides):
        return listener.port
    return listener.bind_port


def local_port(port: int) -> int:
    """The port that is bound on one machine: unprivileged processes bind ports from 1024 on."""
    return port if port >= 1024 else port + OFFSET


def container_port(port: int) -> int:
    """The listener's port plus 8000, wrapped into the ports that need no privileges."""
    wrapped = (port + OFFSET - 1) % 65535 + 1
    moved = wrapped if wrapped >= 1024 else wrapped + 1023
    return moved + 1 if moved in RESERVED else moved


def distinct(
    listeners: Iterable[nodes.Listener], others: Iterable[int] = ()
) -> tuple[nodes.Listener, ...]:
    """The same listeners, in order of their ports, each moved to the next free port if need be.

    UDP and TCP ports are distinct. `others` are TCP ports that are in use already.
    """
    taken = {(False, it) for it in others}
    placed: list[nodes.Listener] = []
    for listener in sorted(listeners, key=lambda it: it.port):
        bind_port, is_udp = listener.bind_port, listener.protocol == "UDP"
        while (is_udp, bind_port) in taken:
            bind_port = _next(bind_port)
        taken.add((is_udp, bind_port))
        placed.append(replace(listener, bind_port=bind_port))
    return tuple(placed)


def _next(port: int) -> int:
    """The next port that a listener may be moved to."""
    found = port + 1 if port < 65535 else 1024
    return _next(found) if found in RESERVED else found

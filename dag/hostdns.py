"""Services without EndpointSlices, found by the DNS of the host: only where `contour run` asks it.

The rules resolve no names. While `endpoints` needs the addresses of a Service, `wanted` has an
answer for it, and the process writes what the host's resolver says into rows (`contour.hostdns`).
Kubernetes gives the endpoints of a Service the number of its targetPort; so do these rules.
"""

import ipaddress
from collections.abc import Iterator
from typing import NamedTuple

from crds.meta import NamespacedName
from crds.service import ServicePort
from dag import nodes, tables
from dag.engine.view import Table, View, query
from dag.values import addresses

IN_USE: Table[tuple[()], bool] = Table("host DNS in use")
"""Whether the process asks the resolver of the host."""

ADDRESSES: Table[NamespacedName, tuple[str, ...]] = Table("addresses by host DNS")
"""IP addresses of a Service, sorted, from the last answer of the resolver."""

FAULTS: Table[NamespacedName, str] = Table("faults of host DNS")
"""Why the names of a Service do not resolve, for people. A table apart from the addresses, so that
changed addresses affect only Envoy."""


class Found(NamedTuple):
    """What the resolver says of a Service."""

    addresses: tuple[str, ...] = ()
    fault: str = ""
    """Why there are none; empty if there are."""


def names(service: NamespacedName) -> Iterator[str]:
    """The names under which a Service is looked for, in this order.

    `NAME.NAMESPACE` is not among them: a namespace may have the name of a top-level domain.
    """
    yield f"{service.name}.{service.namespace}.svc"
    if service.namespace == "default":
        yield service.name


@query
def wanted(view: View, service: NamespacedName) -> bool:
    """Always True: that there is an answer says that a rule needs the addresses of the Service."""
    return True


def endpoints(view: View, port: nodes.ServicePort) -> nodes.Endpoints:
    """The endpoints of a Service port that has no EndpointSlice; none where DNS is not asked."""
    service = view.read(tables.SERVICES, port.service)
    if service is None or not view.read(IN_USE, ()):
        return nodes.Endpoints()
    view.demand(wanted, port.service)
    number = next((_number(it) for it in service.spec.ports if it.name == port.port_name), 0)
    if not number:
        return nodes.Endpoints()
    found, faults = list[nodes.Endpoint](), list[str]()
    for text in view.read(ADDRESSES, port.service) or ():
        address = ipaddress.ip_address(text)
        if fault := addresses.endpoint_fault(address, loopback=True):
            faults.append(f"{text!r} ({fault})")
        else:
            found.append(nodes.Endpoint(text, number))
    return nodes.Endpoints(tuple(sorted(found)), ", ".join(faults))


def _number(port: ServicePort) -> int:
    """The port on which endpoints listen. If targetPort is absent, or names a port of a container,
    it is the Service's own port."""
    target = port.target_port
    return target if isinstance(target, int) and 1 <= target <= 65535 else port.port


def fault(view: View, service: NamespacedName) -> str:
    """Why the resolver has no addresses of a Service; empty if it has some, or is not asked."""
    return (view.read(FAULTS, service) or "") if view.read(IN_USE, ()) else ""

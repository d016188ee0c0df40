"""Backends of this machine that need no EndpointSlice: for a process that serves one machine.

They are given on the command line (`contour run --backend cart=127.0.0.1:9103`), which needs no
Service either, or by an annotation of the Service. In a cluster the annotation has no effect, which
the objects that use the Service report: otherwise whoever may annotate a Service could make Envoy
connect to any address.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from crds.meta import NamespacedName, ObjectMeta, ObjectRef
from dag import nodes, tables
from dag.engine.view import Table, View
from dag.problems import Problem, anywhere
from dag.values import addresses

ANNOTATION = "projectcontour.io/local-addresses"
"""On a Service: `127.0.0.1:9103`, several with commas."""

Backends = Mapping[NamespacedName, tuple[nodes.Endpoint, ...]]
"""The addresses on this machine of some Services."""

NAMED: Table[NamespacedName, tuple[nodes.Endpoint, ...]] = Table("local backends")
"""The addresses that the command line gives to a Service; it wins over everything else."""


def endpoints(view: View, service: NamespacedName) -> tuple[nodes.Endpoint, ...]:
    """The addresses of a Service on this machine; empty if EndpointSlices have them."""
    if view.read(tables.LOOPBACK_REFUSED, ()):
        return ()
    if named := view.read(NAMED, service):
        return named
    found = view.read(tables.SERVICES, service)
    text = found.metadata.annotations.get(ANNOTATION, "") if found is not None else ""
    return parsed(text).endpoints if text else ()


class Parsed(NamedTuple):
    """What a list of addresses says."""

    endpoints: tuple[nodes.Endpoint, ...]
    fault: str = ""
    """Why there are none, as the end of a sentence."""


def parsed(text: str) -> Parsed:
    """`ADDRESS:PORT` or `PORT` of the loopback address, several with commas."""
    found: list[nodes.Endpoint] = []
    for part in text.split(","):
        endpoint = _endpoint(part.strip())
        if isinstance(endpoint, str):
            return Parsed((), endpoint)
        found.append(endpoint)
    return Parsed(tuple(sorted(set(found))))


def _endpoint(text: str) -> nodes.Endpoint | str:
    host, _, port = text.rpartition(":")
    host = {"": "127.0.0.1", "localhost": "127.0.0.1"}.get(host, host.strip("[]"))
    is_port = port.isascii() and port.isdecimal() and len(port) <= 5
    if not is_port or not 1 <= int(port) <= 65535:
        return f"{text[:60]!r} is not ADDRESS:PORT, such as 127.0.0.1:9103"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f"{host[:60]!r} is not an IP address; names are not resolved"
    if fault := addresses.endpoint_fault(address, loopback=True):
        return f"{host} is {fault}"
    return nodes.Endpoint(str(address), int(port))


def problems_of(
    view: View, subject: ObjectRef, service: NamespacedName, metadata: ObjectMeta
) -> Iterator[Problem]:
    """Problems of an object that uses a Service with the annotation, if that has no effect."""
    text = metadata.annotations.get(ANNOTATION)
    if text is None:
        return
    place = anywhere.annotation(subject, ANNOTATION, service)
    if view.read(tables.LOOPBACK_REFUSED, ()):
        yield anywhere.local_addresses(place, "has no effect in a cluster, only in contour run")
    elif fault := parsed(text).fault:
        yield anywhere.local_addresses(place, f"has no effect: {fault}")

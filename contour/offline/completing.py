"""Adds objects to which manifests refer and which they lack, for `contour translate`.

It allows translating a single route. It adds the GatewayClass of a Gateway, the Gateway of a route
with a suitable listener, and Services with the ports that are referred to. Existing objects are
never changed, and nothing is added that permits something: no ReferenceGrant, no Secret.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from contour.events import Batch, Event
from crds import shape
from crds.contourconfiguration import DEFAULT_CONTROLLER_NAME, ContourConfiguration
from crds.gateway.gateway import (
    AllowedRoutes,
    Gateway,
    GatewaySpec,
    Listener,
    ListenerTLSConfig,
    RouteNamespaces,
)
from crds.gateway.gatewayclass import GatewayClass, GatewayClassSpec
from crds.gateway.references import BackendObjectReference, ParentReference
from crds.httpproxy import Service as ProxyService
from crds.ingress import IngressServiceBackend
from crds.kinds import GATEWAY, KINDS
from crds.meta import NamespacedName, ObjectMeta
from crds.records import replace
from crds.service import Service, ServicePort, ServiceSpec

CLASS = "added"
"""The name of the GatewayClass that is added for Gateways that are added."""

_LISTENERS: Mapping[str, tuple[str, int]] = {
    "HTTPRoute": ("HTTP", 80),
    "GRPCRoute": ("HTTP", 80),
    "TLSRoute": ("TLS", 443),
    "TCPRoute": ("TCP", 9000),
    "UDPRoute": ("UDP", 9000),
}
"""By kind of route: the protocol of a listener that takes it, and its port if none is written."""


class Completed(NamedTuple):
    """Manifests with what was missing."""

    batch: Batch
    added: tuple[str, ...]
    """The added objects, sorted, such as `Service default/web`."""


def completed(batch: Batch, controller_name: str | None) -> Completed:
    """The manifests with the missing objects to which they refer. `controller_name`: from the
    command line; it takes precedence over a ContourConfiguration."""
    present = {(it.kind.kind, it.key) for it in batch.events if it.object is not None}
    # In this order: a Gateway that was added needs a class as well.
    made = [*_made("Service", _services(batch)), *_made("Gateway", _gateways(batch))]
    made = [it for it in made if (it.kind.kind, it.key) not in present]
    classes = _classes((*batch.events, *made), controller_name or _controller_name(batch))
    made += [it for it in _made("GatewayClass", classes) if (it.kind.kind, it.key) not in present]
    named = sorted(f"{it.kind.kind} {it.key}" for it in made)
    return Completed(batch._replace(events=(*batch.events, *made)), tuple(named))


def _made(kind: str, found: Mapping[NamespacedName, object]) -> Iterator[Event]:
    of = KINDS["" if kind == "Service" else GATEWAY, kind]
    for key, it in sorted(found.items(), key=lambda item: item[0]):
        yield Event(of, key, it)


def _services(batch: Batch) -> Mapping[NamespacedName, Service]:
    ports: defaultdict[NamespacedName, set[ServicePort]] = defaultdict(set)
    for event in batch.events:
        protocol: Literal["TCP", "UDP"] = "UDP" if event.kind.kind == "UDPRoute" else "TCP"
        for it in _within(event.object):
            if (found := _backend(it, event.key.namespace)) is None:
                continue
            key, port = found
            ports[key].add(replace(port, protocol=protocol))
    return {
        key: Service(metadata=_metadata(key), spec=ServiceSpec(ports=_distinct(it)))
        for key, it in ports.items()
    }


def _backend(found: object, namespace: str) -> tuple[NamespacedName, ServicePort] | None:
    """The Service port to which a reference points; None if it points to something else."""
    match found:
        case BackendObjectReference(group="", kind="Service", port=int(port)):
            key = NamespacedName(found.namespace or namespace, found.name)
            return key, ServicePort(port=port)
        case ProxyService():
            return NamespacedName(namespace, found.name), ServicePort(port=found.port)
        case IngressServiceBackend():
            # The number of a named port is not known; any will do.
            port = found.port.number or 80
            key = NamespacedName(namespace, found.name)
            return key, ServicePort(name=found.port.name, port=port)
        case _:
            return None


def _distinct(found: set[ServicePort]) -> tuple[ServicePort, ...]:
    """The ports, sorted, each with a unique name, as Kubernetes requires of several ports."""
    every = sorted(found, key=lambda it: (it.port, it.protocol, it.name))
    return tuple(
        it if it.name else replace(it, name=f"{it.protocol.lower()}-{it.port}") for it in every
    )


def _gateways(batch: Batch) -> Mapping[NamespacedName, Gateway]:
    listeners: defaultdict[NamespacedName, dict[str, Listener]] = defaultdict(dict)
    for event in batch.events:
        if event.kind.kind not in _LISTENERS or event.object is None:
            continue
        for it in event.object.spec.parent_refs:
            if (it.group, it.kind) != (GATEWAY, "Gateway"):
                continue
            key = NamespacedName(it.namespace or event.key.namespace, it.name)
            listener = _listener(event.kind.kind, it)
            listeners[key].setdefault(listener.name, listener)
    return {
        key: Gateway(
            metadata=_metadata(key),
            spec=GatewaySpec(gateway_class_name=CLASS, listeners=tuple(it.values())),
        )
        for key, it in listeners.items()
    }


def _listener(kind: str, parent: ParentReference) -> Listener:
    protocol, usual = _LISTENERS[kind]
    port = parent.port or usual
    return Listener(
        name=parent.section_name or f"{protocol.lower()}-{port}",
        port=port,
        protocol=protocol,
        tls=ListenerTLSConfig(mode="Passthrough") if protocol == "TLS" else None,
        allowed_routes=AllowedRoutes(namespaces=RouteNamespaces(from_="All")),
    )


def _classes(
    events: tuple[Event, ...], controller_name: str
) -> Mapping[NamespacedName, GatewayClass]:
    names = {it.object.spec.gateway_class_name for it in events if isinstance(it.object, Gateway)}
    spec = GatewayClassSpec(controller_name=controller_name)
    return {
        NamespacedName("", it): GatewayClass(metadata=ObjectMeta(name=it), spec=spec)
        for it in names
    }


def _controller_name(batch: Batch) -> str:
    """The controller name of a ContourConfiguration, or Contour's default."""
    for it in batch.events:
        if isinstance(it.object, ContourConfiguration) and it.object.spec.gateway is not None:
            return it.object.spec.gateway.controller_name or DEFAULT_CONTROLLER_NAME
    return DEFAULT_CONTROLLER_NAME


def _metadata(key: NamespacedName) -> ObjectMeta:
    return ObjectMeta(name=key.name, namespace=key.namespace)


def _within(found: object) -> Iterator[object]:
    """A model and all models within it."""
    if (several := shape.items(found)) is not None:
        for it in several:
            yield from _within(it)
    elif dataclasses.is_dataclass(found):
        yield found
        for field in dataclasses.fields(found):
            yield from _within(getattr(found, field.name))

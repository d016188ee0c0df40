"""EndpointSlice: where the traffic of a Service goes (discovery.k8s.io/v1)."""

from typing import Literal

from crds.fields import Flag, Port
from crds.meta import NamespacedName, ObjectMeta, excerpt

SERVICE_NAME = "kubernetes.io/service-name"
"""The label that says whose endpoints a slice holds."""


@excerpt
class EndpointConditions:
    """The state of an endpoint; an absent `ready` or `serving` is to be read as true."""

    ready: Flag | None = None
    serving: Flag | None = None
    terminating: Flag | None = None


@excerpt
class Endpoint:
    """One place that answers; the addresses are interchangeable."""

    addresses: tuple[str, ...]
    conditions: EndpointConditions = EndpointConditions()
    node_name: str = ""
    zone: str = ""


@excerpt
class EndpointPort:
    """A port of every endpoint of the slice."""

    name: str = ""
    """The name of the Service's port."""
    port: Port | None = None
    """Absent: every port."""
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    app_protocol: str = ""


@excerpt
class EndpointSlice:
    """Some endpoints of a Service, all of one address family."""

    metadata: ObjectMeta
    address_type: Literal["IPv4", "IPv6", "FQDN"]
    endpoints: tuple[Endpoint, ...] = ()
    ports: tuple[EndpointPort, ...] = ()

    @property
    def service(self) -> NamespacedName | None:
        """The Service whose endpoints these are, if the slice says so."""
        name = self.metadata.labels.get(SERVICE_NAME)
        return NamespacedName(self.metadata.namespace, name) if name else None

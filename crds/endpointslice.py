"""EndpointSlice: the endpoints of a Service (discovery.k8s.io/v1)."""

from typing import Literal

from crds.fields import Flag, Port
from crds.meta import NamespacedName, ObjectMeta, excerpt

SERVICE_NAME = "kubernetes.io/service-name"
"""The label with the name of the Service whose endpoints a slice holds."""


@excerpt
class EndpointConditions:
    """The state of an endpoint. An absent `ready` or `serving` means true."""

    ready: Flag | None = None
    serving: Flag | None = None
    terminating: Flag | None = None


@excerpt
class Endpoint:
    """One endpoint. Its addresses are interchangeable."""

    addresses: tuple[str, ...]
    conditions: EndpointConditions = EndpointConditions()
    node_name: str = ""
    zone: str = ""


@excerpt
class EndpointPort:
    """A port of every endpoint of the slice."""

    name: str = ""
    """The name of the Service's port, by which routes find it."""
    port: Port | None = None
    """Absent means all ports."""
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    app_protocol: str = ""


@excerpt
class EndpointSlice:
    """A part of the endpoints of a Service, all of one address family."""

    metadata: ObjectMeta
    address_type: Literal["IPv4", "IPv6", "FQDN"]
    endpoints: tuple[Endpoint, ...] = ()
    ports: tuple[EndpointPort, ...] = ()

    @property
    def service(self) -> NamespacedName | None:
        """The Service whose endpoints these are, if the slice has the label."""
        name = self.metadata.labels.get(SERVICE_NAME)
        return NamespacedName(self.metadata.namespace, name) if name else None

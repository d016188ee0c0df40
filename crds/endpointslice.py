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
    """Whether the endpoint takes new connections. Without a value it does."""
    serving: Flag | None = None
    """Whether the endpoint answers, be it ready or terminating."""
    terminating: Flag | None = None
    """Whether the endpoint is shutting down."""


@excerpt
class Endpoint:
    """One endpoint. Its addresses are interchangeable."""

    addresses: tuple[str, ...]
    """IP addresses of one endpoint; the first one is used."""
    conditions: EndpointConditions = EndpointConditions()
    node_name: str = ""
    """The node on which the endpoint runs."""
    zone: str = ""
    """The zone in which the endpoint runs; traffic can prefer it."""


@excerpt
class EndpointPort:
    """A port of every endpoint of the slice."""

    name: str = ""
    """The name of the Service's port, by which routes find it."""
    port: Port | None = None
    """Absent means all ports."""
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    """The transport protocol of the port."""
    app_protocol: str = ""
    """The protocol that the application speaks on the port, such as `kubernetes.io/h2c`."""


@excerpt
class EndpointSlice:
    """A part of the endpoints of a Service, all of one address family."""

    metadata: ObjectMeta
    address_type: Literal["IPv4", "IPv6", "FQDN"]
    """What the addresses of the endpoints are; those of type `FQDN` are not served."""
    endpoints: tuple[Endpoint, ...] = ()
    ports: tuple[EndpointPort, ...] = ()

    @property
    def service(self) -> NamespacedName | None:
        """The Service whose endpoints these are, if the slice has the label."""
        name = self.metadata.labels.get(SERVICE_NAME)
        return NamespacedName(self.metadata.namespace, name) if name else None

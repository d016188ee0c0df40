"""Service: the ports that routes refer to, and the external name of an ExternalName (core/v1)."""

from typing import Literal

from pydantic import Field

from crds.fields import Port
from crds.meta import ObjectMeta, excerpt


@excerpt
class ServicePort:
    """One port of a Service. EndpointSlices refer to it by its name."""

    name: str = ""
    """The name of the port; EndpointSlices refer to it."""
    port: Port
    """The number of the port, as clients of the Service see it."""
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    """The transport protocol of the port."""
    app_protocol: str = ""
    """The protocol that the application speaks, such as `kubernetes.io/h2c`."""
    target_port: int | str | None = None
    """Of the endpoints; they are what counts where there are EndpointSlices."""


@excerpt
class ServiceSpec:
    """What the rules read of a Service. Its endpoints are in EndpointSlices."""

    type: Literal["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"] = "ClusterIP"
    """Only `ExternalName` is treated differently: its requests go to a DNS name."""
    external_name: str = ""
    """The DNS name of the backend, for the type `ExternalName`."""
    ports: tuple[ServicePort, ...] = ()
    cluster_ips: tuple[str, ...] = Field(default=(), validation_alias="clusterIPs")
    """The addresses by which pods reach the Service; `None` is one that has none."""
    traffic_distribution: str = ""
    """Which endpoints clients prefer, such as `PreferSameZone`."""


@excerpt
class Service:
    """A name and ports for a set of endpoints."""

    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()

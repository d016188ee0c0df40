"""Service: the ports that routes name, and the name behind an ExternalName one (core/v1)."""

from typing import Literal

from crds.fields import Port
from crds.meta import ObjectMeta, excerpt


@excerpt
class ServicePort:
    """One port of a Service; its name is the one that EndpointSlices use."""

    name: str = ""
    port: Port
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    app_protocol: str = ""


@excerpt
class ServiceSpec:
    """What the rules read of a Service; where traffic goes is told by its EndpointSlices."""

    type: Literal["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"] = "ClusterIP"
    external_name: str = ""
    ports: tuple[ServicePort, ...] = ()


@excerpt
class Service:
    """A name for a set of endpoints."""

    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()

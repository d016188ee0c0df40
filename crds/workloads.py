"""Where and how the processes of an instance run in a cluster, as ContourConfiguration writes it.

All of it is ours, beside Contour's fields; the knobs are those of Contour's ContourDeployment.
"""

from typing import Literal

from pydantic import Field

from crds.draining import DRAIN_SECONDS
from crds.fields import Int64, Natural32, Natural64, Port, PositiveUint32, Subdomain
from crds.gateway.gatewayclass import ControllerName
from crds.gateway.references import ParametersReference
from crds.meta import model

Quantity = str
"""An amount, such as `500m` or `1Gi`."""


@model
class Toleration:
    """A taint of nodes that pods put up with (Kubernetes, "Taints and Tolerations")."""

    key: str = ""
    """The key of the taint; every one if empty."""
    operator: Literal["Exists", "Equal"] = "Equal"
    """How the value is compared."""
    value: str = ""
    """The value of the taint."""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""
    """The effect of the taint; every one if empty."""
    toleration_seconds: Int64 | None = None
    """How long pods stay when the taint appears; for ever if absent."""


@model
class Placement:
    """The nodes that pods may run on."""

    node_selector: dict[str, str] = Field(default_factory=dict)
    """Labels of the nodes."""
    tolerations: tuple[Toleration, ...] = ()
    """Taints that pods put up with."""


@model
class Resources:
    """What a container asks for and may use (Kubernetes, "Resource Management")."""

    requests: dict[str, Quantity] = Field(default_factory=dict)
    """What is set aside for it."""
    limits: dict[str, Quantity] = Field(default_factory=dict)
    """What it may use at most."""


@model
class Contour:
    """How the control plane runs."""

    replicas: Natural32 = 2
    """How many of it."""
    resources: Resources | None = None
    """What each asks for."""
    placement: Placement | None = None
    """The nodes it may run on."""
    pod_annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations of its pods."""
    log_level: Literal["info", "debug"] = "info"
    """How much it logs."""
    watch_namespaces: tuple[str, ...] = ()
    """The only namespaces it looks at; all of them if empty."""


@model
class Workload:
    """How the Envoys of a fleet run."""

    type: Literal["DaemonSet", "Deployment"] = "DaemonSet"
    """On each node, or so many."""
    replicas: Natural32 = 2
    """How many, of a Deployment."""
    resources: Resources | None = None
    """What each asks for."""
    placement: Placement | None = None
    """The nodes they may run on."""
    pod_annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations of their pods."""
    log_level: Literal["trace", "debug", "info", "warn", "error", "critical", "off"] = "info"
    """How much they log."""
    base_id: Natural32 = Field(default=0, validation_alias="baseID")
    """Tells Envoys on the same node apart."""
    overload_max_heap_size: Natural64 = 0
    """Bytes of memory at which they begin to refuse work; 0 for no limit."""
    overload_max_downstream_connections: Natural64 = 0
    """Connections of clients at which they refuse more; 0 for no limit."""
    drain_time_seconds: PositiveUint32 = DRAIN_SECONDS
    """How long connections may go on at least after a change of their listener or of the TLS of
    their host; new ones are on the new terms at once. Meanwhile Envoy keeps both."""


@model
class AWSParameters:
    """With `type: AWS`."""

    type: Literal["Classic", "NLB"] = "Classic"
    """The kind of load balancer."""
    allocation_ids: tuple[str, ...] = ()
    """The elastic addresses of an external NLB."""


@model
class AzureParameters:
    """With `type: Azure`."""

    address: str | None = Field(default=None, min_length=1, max_length=253)
    """The IP address of the load balancer."""
    resource_group: str | None = Field(default=None, min_length=1, max_length=90)
    """The resource group of the address of an external load balancer."""
    subnet: str | None = Field(default=None, min_length=1, max_length=80)
    """The subnet of an internal load balancer."""


@model
class GCPParameters:
    """With `type: GCP`."""

    address: str | None = Field(default=None, min_length=1, max_length=253)
    """The IP address of the load balancer."""
    subnet: str | None = Field(default=None, min_length=1, max_length=63)
    """The subnet of an internal load balancer."""


@model
class ProviderParameters:
    """What a cloud is told by annotations of the Service."""

    type: Literal["AWS", "Azure", "GCP"]
    """The cloud."""
    aws: AWSParameters | None = None
    """Only with AWS."""
    azure: AzureParameters | None = None
    """Only with Azure."""
    gcp: GCPParameters | None = None
    """Only with GCP."""


@model
class LoadBalancer:
    """The load balancer in front of a fleet."""

    scope: Literal["External", "Internal"] = "External"
    """Whether it is to be reached from outside the network."""
    provider_parameters: ProviderParameters | None = None
    """What the cloud is told."""


@model
class NodePort:
    """The port of the nodes for a port of the Service."""

    name: Literal["http", "https"]
    """Whose: that of plain HTTP or of HTTPS."""
    port_number: Port | None = None
    """Any that is free, if absent."""


@model
class OuterGateway:
    """A Gateway of somebody else's controller in front of the Service, with ClusterIPService."""

    gateway_class_name: Subdomain | None = None
    """The class that it is of; or `controllerName`."""
    controller_name: ControllerName | None = None
    """Whose it is, in a GatewayClass that is made for it."""
    parameters_ref: ParametersReference | None = None
    """What this controller is given, in that class."""


@model
class NetworkPublishing:
    """The Service in front of a fleet."""

    type: Literal["LoadBalancerService", "NodePortService", "ClusterIPService"]
    """Its type; there is no default."""
    external_traffic_policy: Literal["Local", "Cluster"] = "Local"
    """Local: the client's address is kept, and only nodes with an Envoy answer."""
    ip_family_policy: Literal["SingleStack", "PreferDualStack", "RequireDualStack"] = "SingleStack"
    """IPv4, IPv6 or both."""
    service_annotations: dict[str, str] = Field(default_factory=dict)
    """Its annotations."""
    load_balancer: LoadBalancer | None = None
    """What kind of load balancer, with LoadBalancerService."""
    node_ports: tuple[NodePort, ...] = Field(default=(), max_length=2)
    """The ports of the nodes, with NodePortService."""
    gateway: OuterGateway | None = None
    """Clients come through a Gateway that another controller serves."""

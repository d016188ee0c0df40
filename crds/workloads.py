"""Where and how the processes of an instance run in a cluster, as in a ContourConfiguration.

Upstream Contour has no such fields there; these settings are those of its ContourDeployment.
"""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from crds.draining import DRAIN_SECONDS
from crds.fields import Int64, Natural32, Natural64, Port, PositiveUint32, Subdomain
from crds.gateway.gatewayclass import ControllerName
from crds.gateway.references import ParametersReference
from crds.meta import model

Quantity = Annotated[
    str,
    BeforeValidator(lambda it: str(it) if type(it) is int else it),
    WithJsonSchema({"x-kubernetes-int-or-string": True}),
]
"""An amount of a resource, such as `500m`, `1Gi` or `2`."""


@model
class Toleration:
    """Pods may run on nodes with this taint, as in the specification of a pod (Kubernetes, "Taints
    and Tolerations")."""

    key: str = ""
    """The key of the taint. Without it every key is tolerated, and the operator must be
    `Exists`."""
    operator: Literal["Exists", "Equal"] = "Equal"
    """How the taint is compared: `Equal`, the default, compares the value; `Exists` tolerates any
    value."""
    value: str = ""
    """The value of the taint, with the operator `Equal`. With `Exists` it must be empty."""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""
    """The effect of the taint. Without it every effect is tolerated."""
    toleration_seconds: Int64 | None = None
    """The number of seconds for which pods stay on a node that gets the taint; the effect must be
    `NoExecute`. By default they stay forever."""


@model
class Placement:
    """The nodes that pods may run on."""

    node_selector: dict[str, str] = Field(default_factory=dict)
    """Labels and values that a node must have for pods to run on it. By default any node will
    do."""
    tolerations: tuple[Toleration, ...] = ()
    """Taints of nodes that pods tolerate. By default they tolerate none."""


@model
class Resources:
    """The resources that a container requests and may use (Kubernetes, "Resource Management")."""

    requests: dict[str, Quantity] = Field(default_factory=dict)
    """The amounts that are reserved for the container, by resource, such as `cpu: 500m`. None may
    exceed its limit."""
    limits: dict[str, Quantity] = Field(default_factory=dict)
    """The amounts that the container may use at most, by resource, such as `memory: 1Gi`."""


@model
class Contour:
    """How the control plane of an instance that the operator provisions runs. If a setting is
    invalid, the instance stays as it is, and the condition `Provisioned` names the field."""

    replicas: Natural32 = 2
    """The number of replicas of the control plane. The default is 2."""
    resources: Resources | None = None
    """The resources of each replica. The default is a request of 100m CPU and 256Mi memory, and a
    limit of 1Gi memory."""
    placement: Placement | None = None
    """The nodes that the control plane may run on. By default it may run on any node without
    taints."""
    pod_annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations of the control plane's pods. By default there are none."""
    log_level: Literal["info", "debug"] = "info"
    """The least severe messages that the control plane logs, `info` (the default) or `debug`."""
    watch_namespaces: tuple[str, ...] = ()
    """The only namespaces that the instance watches. By default it watches all of them, and the
    author of the configuration must be allowed to read Secrets everywhere."""


@model
class Workload:
    """How the Envoys of a managed fleet run."""

    type: Literal["DaemonSet", "Deployment"] = "DaemonSet"
    """The kind of workload: a DaemonSet (the default) runs an Envoy on each node, a Deployment runs
    `replicas` of them."""
    replicas: Natural32 = 2
    """The number of Envoys of a Deployment. The default is 2; it has no effect on a DaemonSet."""
    resources: Resources | None = None
    """The resources of each Envoy. The default is a request of 100m CPU and 256Mi memory, and a
    limit of 1Gi memory."""
    placement: Placement | None = None
    """The nodes that Envoys may run on. By default they may run on any node without taints."""
    pod_annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations of the Envoys' pods. By default there are none."""
    log_level: Literal["trace", "debug", "info", "warn", "error", "critical", "off"] = "info"
    """The least severe messages that Envoy logs, or `off` for none. The default is `info`."""
    base_id: Natural32 = Field(default=0, validation_alias="baseID")
    """Envoy's `--base-id`, which must differ between Envoys on the same host that share its memory.
    The default is 0."""
    overload_max_heap_size: Natural64 = 0
    """The number of bytes of heap that Envoy may use; it sheds load when it comes near. The
    default, also for 0, is 900 MiB, or no limit if `resources` is set."""
    overload_max_downstream_connections: Natural64 = 0
    """The number of client connections that an Envoy accepts at the same time; further ones are
    closed. The default, also for 0, is 50,000."""
    drain_time_seconds: PositiveUint32 = DRAIN_SECONDS
    """The number of seconds for which open connections go on at least after a change of their
    listener or of the TLS settings of their host; new connections get the change at once. The
    default is 40; Envoy keeps both versions in memory meanwhile."""


@model
class AWSParameters:
    """Settings of a load balancer of AWS."""

    type: Literal["Classic", "NLB"] = "Classic"
    """The type of the load balancer: Classic (the default) or NLB, a Network Load Balancer."""
    allocation_ids: tuple[str, ...] = ()
    """The allocation IDs of the Elastic IP addresses of the load balancer. Only an external NLB has
    them; otherwise they are ignored with a warning."""


@model
class AzureParameters:
    """Settings of a load balancer of Azure."""

    address: str | None = Field(default=None, min_length=1, max_length=253)
    """The IP address of the load balancer. By default Azure assigns one; a text that is no IP
    address is an error."""
    resource_group: str | None = Field(default=None, min_length=1, max_length=90)
    """The resource group that has the IP address of an external load balancer. For an internal one
    it is ignored with a warning."""
    subnet: str | None = Field(default=None, min_length=1, max_length=80)
    """The subnet of an internal load balancer. For an external one it is ignored with a warning."""


@model
class GCPParameters:
    """Settings of a load balancer of Google Cloud."""

    address: str | None = Field(default=None, min_length=1, max_length=253)
    """The IP address of the load balancer. By default Google Cloud assigns one; a text that is no
    IP address is an error."""
    subnet: str | None = Field(default=None, min_length=1, max_length=63)
    """The subnet of an internal load balancer. For an external one it is ignored with a warning."""


@model
class ProviderParameters:
    """Settings that the cloud reads from annotations of the Service. Settings of another cloud than
    `type` are an error."""

    type: Literal["AWS", "Azure", "GCP"]
    """The cloud that provides the load balancer."""
    aws: AWSParameters | None = None
    """Settings of AWS, allowed only with the type AWS."""
    azure: AzureParameters | None = None
    """Settings of Azure, allowed only with the type Azure."""
    gcp: GCPParameters | None = None
    """Settings of Google Cloud, allowed only with the type GCP."""


@model
class LoadBalancer:
    """The load balancer in front of a managed fleet."""

    scope: Literal["External", "Internal"] = "External"
    """Whether the load balancer has an address outside the network: External (the default) or
    Internal."""
    provider_parameters: ProviderParameters | None = None
    """Settings of a certain cloud. By default the cloud's own defaults apply."""


@model
class NodePort:
    """The port on every node for one port of the Service. A name or number that occurs twice is an
    error."""

    name: Literal["http", "https"]
    """The port of the Service that this is for, that of plain HTTP or that of HTTPS."""
    port_number: Port | None = None
    """The number of the port on the nodes. By default Kubernetes assigns a free one."""


@model
class OuterGateway:
    """A Gateway of another controller in front of the Service, through which clients connect.
    Exactly one of `gatewayClassName` and `controllerName` must be set."""

    gateway_class_name: Subdomain | None = None
    """The existing GatewayClass of that Gateway. It must not be of this instance's own
    controller."""
    controller_name: ControllerName | None = None
    """The controller that serves that Gateway. The instance makes a GatewayClass for it; the
    instance's own controller is an error."""
    parameters_ref: ParametersReference | None = None
    """The parameters of the GatewayClass that the instance makes, allowed only with
    `controllerName`."""


@model
class NetworkPublishing:
    """The Service in front of a managed fleet of Envoys."""

    type: Literal["LoadBalancerService", "NodePortService", "ClusterIPService"]
    """The type of the Service: a load balancer, ports of the nodes, or a cluster IP. It is
    required."""
    external_traffic_policy: Literal["Local", "Cluster"] = "Local"
    """With Local, the default, Envoy sees the client's address, and only nodes with an Envoy accept
    traffic; with Cluster every node accepts it. It has no effect with ClusterIPService."""
    ip_family_policy: Literal["SingleStack", "PreferDualStack", "RequireDualStack"] = "SingleStack"
    """Whether the Service has IPv4 or IPv6 addresses or both, as in Kubernetes. The default is
    SingleStack."""
    service_annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations of the Service. They win over those that `loadBalancer` leads to."""
    load_balancer: LoadBalancer | None = None
    """Settings of the load balancer, allowed only with LoadBalancerService."""
    node_ports: tuple[NodePort, ...] = Field(default=(), max_length=2)
    """The ports of the nodes, allowed only with NodePortService. By default Kubernetes assigns free
    ones."""
    gateway: OuterGateway | None = None
    """Clients connect through a Gateway that another controller serves, allowed only with
    ClusterIPService. By default there is none."""

"""EnvoyProxy: how the Envoys of Gateways run in a cluster.

The fields are those of Envoy Gateway 0.5 and 1.9, and `networkPublishing` as in the design that
preceded both. A GatewayClass names one by `parametersRef`, a Gateway by
`infrastructure.parametersRef`. What relates several fields or needs parsing is checked by the
rules, and so is what only the EnvoyProxy of a class may set.
"""

from typing import Annotated, Literal

from pydantic import Field

from crds.envoygateway.opaque import Amount, AnyJson, Opaque
from crds.envoygateway.proxypods import EnvoyDaemonSet, EnvoyDeployment
from crds.fields import Flag, Positive32
from crds.meta import ObjectMeta, model
from crds.unserved import Unserved
from crds.workloads import NetworkPublishing

_NOT_PER_FLEET = "every fleet has what the ContourConfiguration of the instance says"


def _ignored(instead: str) -> Unserved:
    return Unserved(instead=instead)


@model
class EnvoyService:
    """The Service in front of the Envoys."""

    type: Literal["ClusterIP", "LoadBalancer", "NodePort"] | None = None
    """The type of the Service. If nobody sets it, it is LoadBalancer."""
    annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations of the Service."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Labels of the Service. Those by which this project knows its objects cannot be set."""
    external_traffic_policy: Literal["Local", "Cluster"] | None = None
    """With Local, Envoy sees the client's address, and only nodes with an Envoy accept traffic;
    with Cluster every node accepts it. If nobody sets it, it is Local. It has no effect with
    ClusterIP."""
    load_balancer_class: str = ""
    """The implementation of the load balancer, allowed only with LoadBalancer. Kubernetes does not
    let it change."""
    load_balancer_ip: str = ""
    """The IP address that is asked for, allowed only with LoadBalancer. An address in the Gateway's
    `spec.addresses` wins."""
    load_balancer_source_ranges: tuple[str, ...] = ()
    """The ranges of clients that the load balancer lets through, in CIDR notation, allowed only
    with LoadBalancer. By default it lets all through."""
    allocate_load_balancer_node_ports: Flag | None = None
    """Whether the Service has ports on the nodes, allowed only with LoadBalancer. By default it
    has."""
    name: Annotated[
        str | None,
        _ignored("objects of a fleet are called after its Gateway and GatewayClass"),
    ] = None
    """The name of the Service."""
    patch: Annotated[Opaque | None, _ignored("set the fields that the patch would change")] = None
    """Changes of the Service."""


@model
class EnvoyHpa:
    """A HorizontalPodAutoscaler, which decides the number of Envoys of a Deployment."""

    min_replicas: Positive32 | None = None
    """The smallest number of Envoys. If nobody sets it, it is 1."""
    max_replicas: Positive32
    """The largest number of Envoys, at least `minReplicas`."""
    metrics: tuple[Opaque, ...] = ()
    """What decides, as in a HorizontalPodAutoscaler. The default is 80 % of the requested CPU."""
    behavior: Opaque | None = None
    """How fast the number changes, as in a HorizontalPodAutoscaler."""
    name: Annotated[
        str | None,
        _ignored("objects of a fleet are called after its Gateway and GatewayClass"),
    ] = None
    """The name of the HorizontalPodAutoscaler."""
    patch: Annotated[Opaque | None, _ignored("set the fields that the patch would change")] = None
    """Changes of the HorizontalPodAutoscaler."""


@model
class EnvoyPDB:
    """A PodDisruptionBudget of a Deployment: exactly one of the two amounts must be set."""

    min_available: Amount | None = None
    """The Envoys that must stay when nodes are drained."""
    max_unavailable: Amount | None = None
    """The Envoys that may be missing when nodes are drained."""
    name: Annotated[
        str | None,
        _ignored("objects of a fleet are called after its Gateway and GatewayClass"),
    ] = None
    """The name of the PodDisruptionBudget."""
    patch: Annotated[Opaque | None, _ignored("set the fields that the patch would change")] = None
    """Changes of the PodDisruptionBudget."""


@model
class KubernetesProvider:
    """The objects that a fleet consists of."""

    envoy_deployment: EnvoyDeployment | None = None
    """The Envoys as a Deployment. It cannot be set together with `envoyDaemonSet`."""
    envoy_daemon_set: EnvoyDaemonSet | None = None
    """The Envoys as a DaemonSet. It cannot be set together with `envoyDeployment`."""
    envoy_service: EnvoyService | None = None
    """The Service in front of the Envoys."""
    envoy_hpa: EnvoyHpa | None = None
    """An autoscaler of the Deployment. By default there is none."""
    envoy_pdb: EnvoyPDB | None = Field(default=None, validation_alias="envoyPDB")
    """How many pods of the Deployment may be evicted. By default one at a time."""
    envoy_service_account: Annotated[
        Opaque | None, _ignored("the pods of each fleet have a ServiceAccount of their own")
    ] = None
    """The ServiceAccount of the pods."""
    use_listener_port_as_container_port: Annotated[
        Flag | None, _ignored("the ports of containers follow from those of listeners")
    ] = None
    """Whether containers listen on the ports of listeners."""


@model
class Provider:
    """Where the Envoys run."""

    type: Literal["Kubernetes", "Host"]
    """Where the Envoys run. Only `Kubernetes` is supported."""
    kubernetes: KubernetesProvider | None = None
    """The objects that a fleet consists of."""
    host: Opaque | None = None
    """Allowed only with the type Host, which is not supported."""


@model
class Logging:
    """What Envoy logs of itself."""

    level: dict[str, Literal["trace", "debug", "info", "warn", "error", "critical", "off"]] = Field(
        default_factory=dict
    )
    """The least severe messages that are logged, by component of Envoy. `default` (or `system`, as
    in earlier versions) is for all that are not named; by default it is `info`."""


@model
class EnvoyProxySpec:
    """How the Envoys of Gateways run. Whatever is not set is as the EnvoyProxy of the class, then
    the ContourConfiguration says."""

    provider: Provider | None = None
    """Where the Envoys run, and as what."""
    logging: Logging | None = None
    """What Envoy logs of itself."""
    network_publishing: NetworkPublishing | None = None
    """The Service in front of the Envoys, as in a ContourConfiguration. It cannot be set together
    with `provider.kubernetes.envoyService`."""
    bootstrap: AnyJson | None = None
    """The configuration with which Envoy starts: a text, which replaces the usual one, or an object
    as in `spec.envoy.bootstrap` of a ContourConfiguration. It holds from a class only."""
    backend_tls: Annotated[Opaque | None, _ignored(_NOT_PER_FLEET)] = None
    """TLS towards backends."""
    concurrency: Annotated[int | None, Unserved()] = None
    """The worker threads of Envoy."""
    dynamic_modules: Annotated[tuple[AnyJson, ...], Unserved()] = ()
    """Modules that Envoy loads."""
    extra_args: Annotated[tuple[str, ...], Unserved()] = ()
    """More arguments of Envoy."""
    filter_order: Annotated[
        tuple[AnyJson, ...], _ignored("the order of filters is fixed, so that guards come first")
    ] = ()
    """The order of HTTP filters."""
    geo_ip: Annotated[Opaque | None, Unserved()] = Field(default=None, validation_alias="geoIP")
    """Databases of the places of client addresses."""
    ip_family: Annotated[
        str | None,
        _ignored("use networkPublishing.ipFamilyPolicy for the addresses of the Service"),
    ] = None
    """The family of addresses that Envoys listen on."""
    lua: Annotated[Opaque | None, Unserved()] = None
    """How Lua scripts are checked."""
    lua_validation: Annotated[str | None, Unserved()] = None
    """How Lua scripts are checked."""
    merge_backends: Annotated[Opaque | None, Unserved()] = None
    """Routes whose backends are merged."""
    merge_gateways: Annotated[
        Flag | None, _ignored("every Gateway has a fleet of its own with mode PerGateway")
    ] = None
    """Whether the Gateways of a class share a fleet."""
    merge_type: Annotated[
        str | None,
        _ignored("what a Gateway's EnvoyProxy sets wins, field by field, over that of its class"),
    ] = None
    """How the EnvoyProxy of a Gateway is merged with that of its class."""
    preserve_route_order: Annotated[
        Flag | None, _ignored("the most specific match wins, as the Gateway API demands")
    ] = None
    """Whether routes are tried in the order in which they are written."""
    routing_type: Annotated[
        str | None, _ignored("requests are sent to the endpoints of Services")
    ] = None
    """Whether requests are sent to endpoints or to the addresses of Services."""
    shutdown: Annotated[Opaque | None, Unserved()] = None
    """How long Envoys drain before they end."""
    telemetry: Annotated[
        Opaque | None, _ignored("set logging, tracing and metrics in the ContourConfiguration")
    ] = None
    """Access logs, metrics and traces."""


@model
class EnvoyProxy:
    """How the Envoys of the Gateways run that name this object, or whose class names it. Its status
    says whether it can be used. If it becomes invalid, Envoys keep running as they are."""

    metadata: ObjectMeta
    spec: EnvoyProxySpec = Field(default_factory=EnvoyProxySpec)
    """How the Envoys run."""

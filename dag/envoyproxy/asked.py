"""What one EnvoyProxy asks for, and the shape of a fleet when it applies.

The ContourConfigurations and EnvoyProxies that apply to a fleet shape it in this order: the
instance's, the class's, the Gateway's own. An EnvoyProxy changes what it sets, field by field.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, NamedTuple

from crds import raw
from crds.custombootstrap import CustomBootstrap
from crds.fleetdetails import Autoscaler, Budget, Details, Pods, Service
from crds.raw import Raw
from crds.records import dataclass, replace
from crds.workloads import (
    LoadBalancer,
    NetworkPublishing,
    NodePort,
    Placement,
    Resources,
    Toleration,
    Workload,
)

LogLevel = Literal["trace", "debug", "info", "warn", "error", "critical", "off"]
ServiceType = Literal["LoadBalancerService", "NodePortService", "ClusterIPService"]


class OwnBootstrap(NamedTuple):
    """A bootstrap that users write themselves."""

    custom: CustomBootstrap
    written: str
    """The field in which it is written, for people, such as `spec.envoy.bootstrap`."""


class Shape(NamedTuple):
    """The settings of a fleet, whichever kinds of objects set them."""

    publishing: NetworkPublishing | None = None
    """How the Service in front is published; None: no object asks for a fleet."""
    workload: Workload | None = None
    """How its Envoys run; None: no object sets that."""
    details: Details = Details()
    bootstrap: OwnBootstrap | None = None
    """The bootstrap that its Envoys start with; None: the usual one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing:
    """What an EnvoyProxy sets of the Service in front, in either of its two spellings."""

    type: ServiceType | None = None
    external_traffic_policy: Literal["Local", "Cluster"] | None = None
    ip_family_policy: Literal["SingleStack", "PreferDualStack", "RequireDualStack"] | None = None
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    load_balancer: LoadBalancer | None = None
    node_ports: tuple[NodePort, ...] = ()
    details: Service = field(default_factory=Service)


@dataclass(frozen=True, slots=True, kw_only=True)
class Autoscaling:
    """What an EnvoyProxy sets of the HorizontalPodAutoscaler."""

    max_replicas: int
    min_replicas: int | None = None
    """At most `max_replicas`."""
    metrics: tuple[Raw, ...] = ()
    behavior: Raw = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an EnvoyProxy sets. Fields that are None or empty are left to other objects."""

    type: Literal["DaemonSet", "Deployment"] | None = None
    replicas: int | None = None
    resources: Resources | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict[str, str])
    tolerations: tuple[Toleration, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    log_level: LogLevel | None = None
    publishing: Publishing = field(default_factory=Publishing)
    pods: Pods = field(default_factory=Pods)
    """Their strategy has the fields that are set; it is for the workload `type` that is set."""
    autoscaler: Autoscaling | None = None
    budget: Budget | None = None
    bootstrap: OwnBootstrap | None = None
    powers: tuple[str, ...] = ()
    """The paths of the fields that it sets and that only the EnvoyProxy of a class may set."""


def applied(shape: Shape, asked: Asked) -> Shape:
    """What the fleet is to be when an EnvoyProxy applies to it, too."""
    before = shape.workload or Workload()
    workload = _workload(before, asked)
    pods = shape.details.pods
    if workload.type != before.type:
        # A strategy for a Deployment does not fit a DaemonSet, and vice versa.
        pods = replace(pods, strategy={})
    return Shape(
        publishing=_publishing(shape.publishing or _USUAL, asked.publishing),
        workload=workload,
        details=Details(
            pods=_pods(pods, asked.pods, workload),
            service=_service(shape.details.service, asked.publishing.details),
            autoscaler=_autoscaler(shape.details.autoscaler, asked.autoscaler),
            budget=asked.budget or shape.details.budget,
        ),
        bootstrap=asked.bootstrap or shape.bootstrap,
    )


_USUAL = NetworkPublishing(type="LoadBalancerService")
"""What Envoy Gateway's users know as the default of an EnvoyProxy."""


def _publishing(found: NetworkPublishing, asked: Publishing) -> NetworkPublishing:
    return replace(
        found,
        type=asked.type or found.type,
        external_traffic_policy=asked.external_traffic_policy or found.external_traffic_policy,
        ip_family_policy=asked.ip_family_policy or found.ip_family_policy,
        service_annotations={**found.service_annotations, **asked.annotations},
        load_balancer=asked.load_balancer or found.load_balancer,
        node_ports=asked.node_ports or found.node_ports,
    )


def _service(found: Service, asked: Service) -> Service:
    has_node_ports = asked.allocate_load_balancer_node_ports
    if has_node_ports is None:
        has_node_ports = found.allocate_load_balancer_node_ports
    return Service(
        labels={**found.labels, **asked.labels},
        load_balancer_class=asked.load_balancer_class or found.load_balancer_class,
        load_balancer_ip=asked.load_balancer_ip or found.load_balancer_ip,
        load_balancer_source_ranges=(
            asked.load_balancer_source_ranges or found.load_balancer_source_ranges
        ),
        allocate_load_balancer_node_ports=has_node_ports,
    )


def _autoscaler(found: Autoscaler | None, asked: Autoscaling | None) -> Autoscaler | None:
    if asked is None:
        return found
    before = found or Autoscaler(max_replicas=asked.max_replicas)
    return Autoscaler(
        max_replicas=asked.max_replicas,
        # The bound that is asked for now holds, also below the one that was asked for before.
        min_replicas=min(asked.min_replicas or before.min_replicas, asked.max_replicas),
        metrics=asked.metrics or before.metrics,
        behavior=asked.behavior or before.behavior,
    )


def _workload(found: Workload, asked: Asked) -> Workload:
    placement = found.placement or Placement()
    if asked.node_selector or asked.tolerations:
        placement = Placement(
            node_selector={**placement.node_selector, **asked.node_selector},
            tolerations=asked.tolerations or placement.tolerations,
        )
    return replace(
        found,
        type=asked.type or found.type,
        replicas=found.replicas if asked.replicas is None else asked.replicas,
        resources=_resources(found.resources, asked.resources),
        placement=placement if placement != Placement() else found.placement,
        pod_annotations={**found.pod_annotations, **asked.annotations},
        log_level=asked.log_level or found.log_level,
    )


def _resources(found: Resources | None, asked: Resources | None) -> Resources | None:
    if found is None or asked is None:
        return asked or found
    return Resources(
        requests={**found.requests, **asked.requests},
        limits={**found.limits, **asked.limits},
    )


def _pods(found: Pods, asked: Pods, workload: Workload) -> Pods:
    names_image = bool(asked.image or asked.image_repository)
    by_image = asked if names_image else found
    return Pods(
        labels={**found.labels, **asked.labels},
        image=by_image.image,
        image_repository=by_image.image_repository,
        image_pull_secrets=asked.image_pull_secrets or found.image_pull_secrets,
        env=asked.env or found.env,
        volumes=asked.volumes or found.volumes,
        volume_mounts=asked.volume_mounts or found.volume_mounts,
        affinity=asked.affinity or found.affinity,
        topology_spread_constraints=(
            asked.topology_spread_constraints or found.topology_spread_constraints
        ),
        priority_class_name=asked.priority_class_name or found.priority_class_name,
        pod_security_context=asked.pod_security_context or found.pod_security_context,
        security_context=asked.security_context or found.security_context,
        strategy=_strategy(found.strategy, asked.strategy, _ROLLING_UPDATES[workload.type]),
        log_levels={**found.log_levels, **asked.log_levels},
    )


# The defaults of Kubernetes, which the API server would write.
_ROLLING_UPDATES: Mapping[str, Raw] = {
    "Deployment": {"maxSurge": "25%", "maxUnavailable": "25%"},
    "DaemonSet": {"maxSurge": 0, "maxUnavailable": 1},
}


def _strategy(found: Raw, asked: Raw, usual: Raw) -> Raw:
    """The update strategy of one kind of workload; what is not set is as before, or as usual."""
    if asked.get("type") != "RollingUpdate":
        return asked or found
    before, said = (raw.mapping(it.get("rollingUpdate")) for it in (found, asked))
    return {**asked, "rollingUpdate": {**usual, **before, **said}}

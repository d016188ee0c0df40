"""What one EnvoyProxy asks for, and what becomes of a fleet when it applies.

A fleet is what the ContourConfigurations and EnvoyProxies that apply to it say, the nearest last:
the instance's, the class's, the Gateway's own. An EnvoyProxy changes what it sets, field by field.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, NamedTuple

from crds.custombootstrap import CustomBootstrap
from crds.fleetdetails import Details, Pods
from crds.records import dataclass, replace
from crds.workloads import NetworkPublishing, Placement, Resources, Toleration, Workload

LogLevel = Literal["trace", "debug", "info", "warn", "error", "critical", "off"]


class OwnBootstrap(NamedTuple):
    """A bootstrap that users write themselves."""

    custom: CustomBootstrap
    written: str
    """Where it is written, for people, such as `spec.envoy.bootstrap`."""


class Shape(NamedTuple):
    """How a fleet is to be: what every kind of object that says so is a spelling of."""

    publishing: NetworkPublishing | None = None
    """The Service in front; None: nobody asks for a fleet."""
    workload: Workload | None = None
    """How its Envoys run; None: nobody says."""
    details: Details = Details()
    bootstrap: OwnBootstrap | None = None
    """With what its Envoys start; None: with the usual bootstrap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an EnvoyProxy sets. What is None or empty it leaves to others."""

    type: Literal["DaemonSet", "Deployment"] | None = None
    replicas: int | None = None
    resources: Resources | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict[str, str])
    tolerations: tuple[Toleration, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    log_level: LogLevel | None = None
    publishing: NetworkPublishing | None = None
    details: Details = field(default_factory=Details)
    bootstrap: OwnBootstrap | None = None
    powers: tuple[str, ...] = ()
    """The paths of the fields that it sets and that only the EnvoyProxy of a class may set."""


def applied(shape: Shape, asked: Asked) -> Shape:
    """What the fleet is to be when an EnvoyProxy applies to it, too."""
    return Shape(
        publishing=asked.publishing or shape.publishing or _USUAL,
        workload=_workload(shape.workload or Workload(), asked),
        details=Details(
            pods=_pods(shape.details.pods, asked.details.pods),
            # Who says how the Service is, says it as a whole.
            service=asked.details.service if asked.publishing else shape.details.service,
            autoscaler=asked.details.autoscaler or shape.details.autoscaler,
            budget=asked.details.budget or shape.details.budget,
        ),
        bootstrap=asked.bootstrap or shape.bootstrap,
    )


_USUAL = NetworkPublishing(type="LoadBalancerService")
"""What users of the kind know as its default."""


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
        resources=asked.resources or found.resources,
        placement=placement if placement != Placement() else found.placement,
        pod_annotations={**found.pod_annotations, **asked.annotations},
        log_level=asked.log_level or found.log_level,
    )


def _pods(found: Pods, asked: Pods) -> Pods:
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
        strategy=asked.strategy or found.strategy,
        log_levels={**found.log_levels, **asked.log_levels},
    )

"""How a fleet of Envoys is to be in a cluster, beyond what a ContourConfiguration can say.

With `workloads.Workload` and `workloads.NetworkPublishing` these records are the model of a fleet:
every kind of object that says how Envoys run is a spelling of it. They are not read from documents
but made by who reads one, after it has been checked. Parts that Kubernetes defines (volumes,
affinity, metrics) are the JSON that its API takes.
"""

from collections.abc import Mapping
from dataclasses import field

from crds.raw import Raw
from crds.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """The pods of a fleet. What is empty leaves the usual in place."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Beside the usual ones, which win."""
    image: str = ""
    """Of Envoy."""
    image_repository: str = ""
    """Of Envoy's image; its tag is the usual one."""
    image_pull_secrets: tuple[Raw, ...] = ()
    env: tuple[Raw, ...] = ()
    """Of the container of Envoy, beside the usual ones, over which they win."""
    volumes: tuple[Raw, ...] = ()
    """Beside the usual ones."""
    volume_mounts: tuple[Raw, ...] = ()
    """Of the container of Envoy, beside the usual ones."""
    affinity: Raw = field(default_factory=dict[str, object])
    topology_spread_constraints: tuple[Raw, ...] = ()
    """In the place of the usual ones."""
    priority_class_name: str = ""
    pod_security_context: Raw = field(default_factory=dict[str, object])
    """On top of the usual one."""
    security_context: Raw = field(default_factory=dict[str, object])
    """Of the container of Envoy, on top of the usual one."""
    strategy: Raw = field(default_factory=dict[str, object])
    """How pods are replaced, in the place of the usual strategy."""
    log_levels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of certain components of Envoy, by their names in Envoy; else the workload's `log_level`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The Service in front of a fleet. What is empty leaves the usual in place."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Beside the usual ones, which win."""
    load_balancer_class: str = ""
    load_balancer_ip: str = ""
    load_balancer_source_ranges: tuple[str, ...] = ()
    allocate_load_balancer_node_ports: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Autoscaler:
    """A HorizontalPodAutoscaler, which decides the number of pods of a Deployment."""

    max_replicas: int
    min_replicas: int = 1
    metrics: tuple[Raw, ...] = ()
    """Empty: 80 % of the requested CPU on average, the default of Kubernetes."""
    behavior: Raw = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a PodDisruptionBudget says: one of the two, a number of pods or a percentage."""

    min_available: int | str | None = None
    max_unavailable: int | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """All of that, of one fleet."""

    pods: Pods = field(default_factory=Pods)
    service: Service = field(default_factory=Service)
    autoscaler: Autoscaler | None = None
    """Only of a Deployment."""
    budget: Budget | None = None
    """Only of a Deployment; absent: one pod at most is evicted at a time."""

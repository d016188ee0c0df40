"""The parameters of an installation, for the templates.

How the processes run is in the types of a ContourConfiguration (`crds.workloads`), so that the
operator passes on what users wrote; other fields are names that users do not write. Parts that all
installations share are in the templates.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from crds import fleetdetails, workloads
from crds.ratelimitservice import RateLimitService, Redis
from crds.sidecars import Sidecar
from provisioning.names import ENVOY_IMAGE, IMAGE, NAMESPACE, OPERATORS_NAMESPACE

# Kubernetes' recommendation for clouds whose load balancers would otherwise speak HTTP to backends.
_ANNOTATIONS = {"service.beta.kubernetes.io/aws-load-balancer-backend-protocol": "tcp"}


class Port(NamedTuple):
    """A port of a fleet."""

    name: str
    number: int
    """The port number that clients see."""
    container: int
    """The port on which Envoy listens."""
    protocol: Literal["TCP", "UDP"] = "TCP"


PORTS = (Port("http", 80, 8080), Port("https", 443, 8443))


def _published() -> workloads.NetworkPublishing:
    return workloads.NetworkPublishing(
        type="LoadBalancerService", service_annotations=dict(_ANNOTATIONS)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The namespace of an instance, and what distinguishes its objects from those of another."""

    namespace: str = NAMESPACE
    suffix: str = ""
    """The suffix of the names of all objects, so that a namespace can have several instances."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels of every object and pod, in addition to the usual ones."""
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Annotations of every object and pod."""
    image: str = IMAGE
    """The image of the control plane, and of the containers beside Envoy."""

    def named(self, name: str) -> str:
        """The name of an object, with the suffix."""
        return f"{name}{self.suffix}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlane:
    """The pods that watch the cluster and serve xDS."""

    place: Place = Place()
    contour: workloads.Contour = field(default_factory=workloads.Contour)
    configuration: str = "contour"
    """The ContourConfiguration that it follows."""
    file: str = ""
    """The text of the configuration file that it has instead; empty: none."""
    sidecars: tuple[tuple[str, Sidecar], ...] = ()
    """The extensions that run in these pods, by name."""
    envoy_image: str = ENVOY_IMAGE
    """The Envoy image of the fleets that it makes."""
    makes_fleet: bool = False
    """Whether it may make the Envoys beside it, and keep them."""
    makes_fleets_for_gateways: bool = False
    """Whether every Gateway has a fleet of its own, in its namespace."""
    makes_outer_class: bool = False
    """Whether the Gateway in front of its fleet has a GatewayClass of its own."""
    makes_no_roles: bool = False
    """Whether its rights in watched namespaces come from the ClusterRole, bound there: for an
    installer that may bind it, but does not have the rights that it grants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The Envoys that get the same configuration, and the Service in front of them."""

    place: Place = Place()
    name: str = "contour"
    """The name of the fleet for the control plane."""
    called: str = "envoy"
    """The name of its objects, before the suffix of the place."""
    control_plane: str = ""
    """The address of the control plane; empty: its usual name at the same place."""
    certificate: str = "envoycert"
    """The Secret with its certificate for the control plane, before the suffix of the place."""
    image: str = ENVOY_IMAGE
    workload: workloads.Workload = field(default_factory=workloads.Workload)
    publishing: workloads.NetworkPublishing = field(default_factory=_published)
    details: fleetdetails.Details = field(default_factory=fleetdetails.Details)
    ports: tuple[Port, ...] = PORTS
    declares_ports: bool = True
    """Whether the pods declare their ports; if so, every change of these replaces all pods."""
    monitors: tuple[int, ...] = ()
    """Ports for health checks and metrics in addition to 8002; open to whoever may read metrics."""
    hides_stats: bool = False
    """Whether the page for probes has no metrics, because these are restricted, on another port."""
    bootstrap: str = ""
    """The custom bootstrap of Envoys, as `contour bootstrap --custom` reads it; without dollar
    signs, which Kubernetes would expand. Empty: the usual one."""
    admin: str = "/admin/admin.sock"
    """The socket of Envoy's administration interface."""
    speaks_proxy_protocol: bool = False
    """Whether the load balancer is to send the addresses of clients by the PROXY protocol."""
    address: str = ""
    """The address that the Service is to have; any if empty."""
    takes_host_ports: bool = False
    """Whether the ports are also those of the nodes, which restricted namespaces forbid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """The rate limit service for RateLimitFilters, and the Service in front of it."""

    place: Place
    service: RateLimitService
    redis: Redis | None
    """None: the leader counts, and there are no pods."""
    called: str
    """The name of its objects, and of the Secret with its certificate."""
    client: str
    """The name in the certificates of permitted clients."""
    state: str = ""
    """A digest of what its pods read only when they start."""
    leader: str = ""
    """The name of the objects in front of the leader."""
    address: str = ""
    """The IP address of the leader."""
    port: int = 8081
    """The port of the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """The pods that make instances of ContourConfigurations."""

    place: Place = Place(namespace=OPERATORS_NAMESPACE)
    replicas: int = 2
    envoy_image: str = ENVOY_IMAGE
    """The Envoy image of the fleets that its instances make."""
    trusted: tuple[str, ...] | None = None
    """Namespaces whose instances may reach beyond them, as patterns. None: the API server checks
    the rights of authors, which needs Kubernetes 1.30 or newer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """An instance that is installed by hand: everything that `kubectl apply` needs."""

    control_plane: ControlPlane = ControlPlane()
    fleet: Fleet = Fleet()
    has_configuration: bool = True
    """Whether the ContourConfiguration, or its file, is among the objects."""
    controller_name: str = "projectcontour.io/gateway-controller"
    """The controller name of the GatewayClasses that it serves."""

    @property
    def place(self) -> Place:
        """Where it is; the control plane and the fleet are together."""
        return self.control_plane.place


def installation(
    place: Place,
    watch_namespaces: tuple[str, ...] = (),
    takes_host_ports: bool = False,
    makes_fleet: bool = False,
) -> Installation:
    """An instance of the usual shape at a place."""
    contour = workloads.Contour(watch_namespaces=watch_namespaces)
    return Installation(
        control_plane=ControlPlane(
            place=place,
            contour=contour,
            configuration=place.named("contour"),
            makes_fleet=makes_fleet,
        ),
        fleet=Fleet(place=place, takes_host_ports=takes_host_ports),
    )

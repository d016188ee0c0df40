"""What an installation is made of, as far as it differs from one to another.

For the templates. How the processes run is what a ContourConfiguration says (`crds.workloads`), so
that the operator hands on what users wrote; beside it stand the names that users do not write. What
is the same in every installation is in the templates.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from crds import fleetdetails, workloads
from crds.ratelimitservice import RateLimitService, Redis
from crds.sidecars import Sidecar
from provisioning.names import ENVOY_IMAGE, IMAGE, NAMESPACE, OPERATORS_NAMESPACE

# Kubernetes' own proposal for clouds that would speak HTTP to what is behind them.
_ANNOTATIONS = {"service.beta.kubernetes.io/aws-load-balancer-backend-protocol": "tcp"}


class Port(NamedTuple):
    """A port of a fleet."""

    name: str
    number: int
    """As clients see it."""
    container: int
    """Where Envoy listens."""
    protocol: Literal["TCP", "UDP"] = "TCP"


PORTS = (Port("http", 80, 8080), Port("https", 443, 8443))


def _published() -> workloads.NetworkPublishing:
    return workloads.NetworkPublishing(
        type="LoadBalancerService", service_annotations=dict(_ANNOTATIONS)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an instance is, and what tells its objects from those of another."""

    namespace: str = NAMESPACE
    suffix: str = ""
    """Ends the names of all objects, so that a namespace can hold several instances."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of every object and pod, beside the usual ones."""
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of every object and pod."""
    image: str = IMAGE
    """Of the control plane, and of what runs beside Envoy."""

    def named(self, name: str) -> str:
        """What an object of that name is called here."""
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
    """Of the fleets that it makes."""
    makes_fleet: bool = False
    """Whether it may make the Envoys beside it, and keep them."""
    makes_fleets_for_gateways: bool = False
    """Whether every Gateway has a fleet of its own, in its namespace."""
    makes_outer_class: bool = False
    """Whether the Gateway in front of its fleet has a GatewayClass of its own."""
    makes_no_roles: bool = False
    """Whether its rights in watched namespaces are those of the ClusterRole, bound there: for
    whoever may bind that one, and does not hold what it grants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The Envoys that get the same configuration, and the Service in front of them."""

    place: Place = Place()
    name: str = "contour"
    """What the control plane calls it."""
    called: str = "envoy"
    """What its objects are called, before the suffix of the place."""
    control_plane: str = ""
    """Where the control plane is reached; empty: by its usual name at the same place."""
    certificate: str = "envoycert"
    """The Secret that it shows the control plane, before the suffix of the place."""
    image: str = ENVOY_IMAGE
    workload: workloads.Workload = field(default_factory=workloads.Workload)
    publishing: workloads.NetworkPublishing = field(default_factory=_published)
    details: fleetdetails.Details = field(default_factory=fleetdetails.Details)
    ports: tuple[Port, ...] = PORTS
    declares_ports: bool = True
    """Whether the pods say which ports they have: whenever these change, all pods are replaced."""
    monitors: tuple[int, ...] = ()
    """Ports where Envoy tells how it is, beside 8002; open to whoever may read metrics."""
    hides_stats: bool = False
    """Whether the page for probes is without metrics, which are then for few to read elsewhere."""
    bootstrap: str = ""
    """The bootstrap of one's own with which Envoys start, as `contour bootstrap --custom` reads
    it; without a dollar sign, by which Kubernetes would replace names in it. Empty: the usual."""
    admin: str = "/admin/admin.sock"
    """Where Envoy's administration interface is."""
    speaks_proxy_protocol: bool = False
    """Whether the load balancer is to tell by the PROXY protocol who its clients are."""
    address: str = ""
    """That the Service is to have; any if empty."""
    takes_host_ports: bool = False
    """Whether the ports are also those of the nodes, which restricted namespaces forbid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """The rate limit service for RateLimitFilters, and the Service in front of it."""

    place: Place
    service: RateLimitService
    redis: Redis | None
    """None: the replica that leads counts, and there are no pods."""
    called: str
    """What its objects are called, and the Secret with its certificate."""
    client: str
    """The name in the certificates of those who may ask it."""
    state: str = ""
    """Changes with what its pods read only when they start."""
    leader: str = ""
    """What the objects in front of the replica that leads are called."""
    address: str = ""
    """The IP address of that replica."""
    port: int = 8081
    """Where it is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """The pods that make instances of ContourConfigurations."""

    place: Place = Place(namespace=OPERATORS_NAMESPACE)
    replicas: int = 2
    envoy_image: str = ENVOY_IMAGE
    """Of the fleets that its instances make."""
    trusted: tuple[str, ...] | None = None
    """Where authors may let instances reach beyond their namespace; patterns. None: the API server
    asks what an author may, for which it has to be of Kubernetes 1.30 or newer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """An instance that is installed by hand: everything that `kubectl apply` needs."""

    control_plane: ControlPlane = ControlPlane()
    fleet: Fleet = Fleet()
    controller_name: str = "projectcontour.io/gateway-controller"
    """Of the GatewayClasses that it serves."""

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

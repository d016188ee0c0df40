"""What statuses say about the fleets that the leader keeps, and where clients reach Envoy.

It connects the graph (`contour.controller`), which knows what there should be, with
`contour.infrastructure`, which knows what there is.
"""

from collections.abc import Callable, Mapping, Sequence

from contour.controller import Controller
from contour.infrastructure.children import FleetScope
from contour.kubernetes.cluster import Cluster
from contour.kubernetes.scope import Scope
from contour.status import addresses
from contour.status.addresses import Address
from crds.contourconfiguration import ContourConfigurationSpec
from crds.meta import NamespacedName, ObjectRef
from crds.raw import at, items, mapping
from dag import exports, ratelimitclient, ratelimitservice
from dag.fleetnames import DEFAULT_FLEET
from dag.fleets import Fleet, FleetProblem
from provisioning.templating import Document


class FleetStatus:
    """Implements `contour.infrastructure.term.Instance`."""

    def __init__(
        self,
        controller: Controller,
        cluster: Cluster,
        scope: Scope,
        fleet_service: NamespacedName,
        on_addresses: Callable[[tuple[Address, ...]], None],
    ) -> None:
        """`fleet_service` is in front of the shared fleet, unless the configuration names another
        one; `on_addresses` takes the addresses at which clients reach it."""
        self.configuration = ContourConfigurationSpec()
        self.service = ObjectRef("Service", *fleet_service)
        self._controller = controller
        self._cluster = cluster
        self._scope = scope
        self._fleet_service = fleet_service
        self._on_addresses = on_addresses
        self._addresses: dict[str, tuple[Address, ...]] = {}
        self._cluster_ips: dict[str, tuple[Address, ...]] = {}
        self._made_classes = False
        self._is_configured = False

    def configure(self, spec: ContourConfigurationSpec) -> bool:
        """Takes the configuration. Returns whether it has changed."""
        if self._is_configured and spec == self.configuration:
            return False
        self._is_configured = True
        self.configuration = spec
        named = spec.envoy.service if spec.envoy else None
        usual = self._fleet_service
        key = (named.namespace, named.name) if named else usual
        self.service = ObjectRef("Service", *key)
        self.refresh()
        return True

    def refresh(self) -> None:
        """The address of the shared fleet's Service may have changed."""
        ingress, known = self.configuration.ingress, self._cluster.known(self.service)
        configured = ingress.status_address if ingress else None
        found = addresses.addresses(configured or "", known and known.status)
        found = found or self._addresses.get(DEFAULT_FLEET, ())
        within = self._cluster_ips.get(DEFAULT_FLEET, ())
        self._controller.set_addresses(
            DEFAULT_FLEET, addresses.of_gateway(found), addresses.of_gateway(within)
        )
        self._on_addresses(found)

    def fleets(self) -> Mapping[str, Fleet]:
        """The fleets that there should be, by name; empty while there is no configuration."""
        return self._controller.fleets if self._controller.is_configured else {}

    def scope(self) -> FleetScope | None:
        """Where objects of fleets may be; None: nothing is kept."""
        if not self._keeps_fleets():
            return None
        home, gateway = self._scope.own, self._controller.configuration.gateway
        watched, with_classes = self._scope.namespaces, self._makes_classes()
        if gateway is None or gateway.mode == "Single":
            return FleetScope((home,), home=home, with_classes=with_classes)
        everywhere = tuple(dict.fromkeys((*watched, home))) if watched else ("",)
        return FleetScope(everywhere, with_secrets=True, home=home, with_classes=with_classes)

    def _keeps_fleets(self) -> bool:
        """True also where there should be no fleet: fleets of deleted Gateways may be left."""
        if any(it.is_managed for it in self.fleets().values()):
            return True
        spec = self._controller.configuration
        is_handed_over = spec.envoy is not None and spec.envoy.managed is False
        is_per_gateway = spec.gateway is not None and spec.gateway.mode == "PerGateway"
        return self._controller.is_configured and is_per_gateway and not is_handed_over

    def _makes_classes(self) -> bool:
        """True also if classes of an earlier configuration may exist: an instance that watches all
        namespaces looks for them."""
        outer = (it.publishing.gateway for it in self.fleets().values() if it.publishing)
        self._made_classes |= any(it is not None and it.controller_name for it in outer)
        return self._made_classes or not self._scope.namespaces

    def knows_gateways(self) -> bool:
        """Whether a Gateway that the graph does not know is certainly gone."""
        if not self._controller.is_settled:
            return False
        kinds = {"Gateway", "GatewayClass", "ContourConfiguration"}
        found = [it.state for it in self._cluster.state() if it.kind in kinds]
        return all(it.is_listed and it.phase == "current" for it in found)

    def tell(self, fleet: str, found: Sequence[FleetProblem]) -> None:
        """Takes the problems of a fleet."""
        self._controller.set_fleet_problems(fleet, tuple(found))

    def application_namespaces(self) -> Sequence[str]:
        """The namespaces whose gRPC applications get a certificate from us."""
        server = self.configuration.xds_server
        clients = server.grpc_clients if server is not None else None
        return clients.certificate_namespaces if clients is not None else ()

    def rate_limit_service(self) -> ratelimitservice.Wanted | None:
        """The rate limit service that there should be; None: none."""
        if not self._controller.is_configured:
            return None
        return self._controller.engine.answer(ratelimitservice.wanted, ())

    def rate_limit_process(self) -> ratelimitservice.Process | None:
        """The process that the leader should run for the rate limit service; None: none."""
        if not self._controller.is_configured:
            return None
        return self._controller.engine.answer(ratelimitservice.process, ())

    def tell_rate_limits(self, found: Sequence[FleetProblem]) -> None:
        """Takes the problems of the rate limit service."""
        self._controller.set_fleet_problems(ratelimitclient.FLEET, tuple(found))

    def tell_applications(self, found: Sequence[FleetProblem]) -> None:
        """Takes the problems of the certificates of gRPC applications."""
        self._controller.set_fleet_problems(exports.FLEET, tuple(found))

    def set_entrance(self, fleet: str, entrance: Document | None) -> None:
        """Takes the Service or Gateway by which clients reach the fleet; None if there is none."""
        self._addresses[fleet] = located(entrance)
        self._cluster_ips[fleet] = cluster_ips(entrance)
        self._locate(fleet, self._addresses[fleet])

    def forget(self, fleet: str) -> None:
        """The fleet is no longer kept, so nothing is known about it."""
        self._controller.set_fleet_problems(fleet, ())
        self._addresses.pop(fleet, None)
        self._cluster_ips.pop(fleet, None)
        self._locate(fleet, None)

    def _locate(self, fleet: str, found: tuple[Address, ...] | None) -> None:
        if fleet == DEFAULT_FLEET:
            self.refresh()
        else:
            told = None if found is None else addresses.of_gateway(found)
            within = addresses.of_gateway(self._cluster_ips.get(fleet, ()))
            self._controller.set_addresses(fleet, told, within)


def located(entrance: Document | None) -> tuple[Address, ...]:
    """The addresses of a Service or Gateway for clients; none as long as it has no address.

    Without a load balancer these are the addresses within the cluster. The addresses of nodes would
    have other ports, and may not be known here.
    """
    if entrance is None:
        return ()
    if entrance.get("kind") == "Gateway":
        return tuple(addresses.assigned_to_gateway(entrance.get("status")))
    if at(entrance, "spec", "type") in ("ClusterIP", "NodePort"):
        return cluster_ips(entrance)
    return addresses.addresses("", mapping(entrance.get("status")))


def cluster_ips(entrance: Document | None) -> tuple[Address, ...]:
    """The cluster IPs of a Service; none for a Gateway."""
    if entrance is None or entrance.get("kind") == "Gateway":
        return ()
    found = items(at(entrance, "spec", "clusterIPs"))
    return tuple(Address(ip=it) for it in found if isinstance(it, str) and it != "None")

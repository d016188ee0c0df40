"""What a replica answers to whoever keeps its fleets, and what it makes of what that one tells.

Between the graph (`contour.controller`), which knows what there should be, and
`contour.infrastructure`, which knows what there is. Statuses learn from here where clients reach a
fleet that we keep, and what is wrong with it.
"""

from collections.abc import Callable, Mapping, Sequence

from contour.controller import Controller
from contour.infrastructure.children import Reach
from contour.kubernetes.cluster import Cluster
from contour.kubernetes.scope import Scope
from contour.status import addresses
from contour.status.addresses import Address
from dag.fleets import Fleet, Trouble
from provisioning.templating import Document

Located = Callable[[str, tuple[Address, ...] | None], None]
"""Takes a fleet, and where clients reach it; None: that is not for us to say any more."""


class Upkeep:
    """`contour.infrastructure.term.Instance`."""

    def __init__(
        self, controller: Controller, cluster: Cluster, scope: Scope, located: Located
    ) -> None:
        self._controller = controller
        self._cluster = cluster
        self._scope = scope
        self._located = located
        self._addresses: dict[str, tuple[Address, ...]] = {}
        self._made_classes = False

    def fleets(self) -> Mapping[str, Fleet]:
        """What there is to be, by name; empty while there is no configuration."""
        return self._controller.fleets if self._controller.is_configured else {}

    def reach(self) -> Reach | None:
        """Where objects of fleets may be; None: nothing is kept."""
        if not any(it.is_managed for it in self.fleets().values()):
            return None
        home, gateway = self._scope.own, self._controller.configuration.gateway
        watched, with_classes = self._scope.namespaces, self._makes_classes()
        if gateway is None or gateway.mode == "Single":
            return Reach((home,), home=home, with_classes=with_classes)
        everywhere = tuple(dict.fromkeys((*watched, home))) if watched else ("",)
        return Reach(everywhere, with_secrets=True, home=home, with_classes=with_classes)

    def _makes_classes(self) -> bool:
        """Or has made some: who sees all namespaces may look for those of another time."""
        outer = (it.publishing.gateway for it in self.fleets().values() if it.publishing)
        self._made_classes |= any(it is not None and it.controller_name for it in outer)
        return self._made_classes or not self._scope.namespaces

    def knows_gateways(self) -> bool:
        """Whether a Gateway that is not among them is gone."""
        kinds = {"Gateway", "GatewayClass", "ContourConfiguration"}
        found = [it.state for it in self._cluster.state() if it.kind in kinds]
        return all(it.is_listed and it.phase == "current" for it in found)

    def tell(self, fleet: str, troubles: Sequence[Trouble]) -> None:
        """What is not as it should be with a fleet."""
        self._controller.trouble(fleet, tuple(troubles))

    def locate(self, fleet: str, entrance: Document | None) -> None:
        """What clients come in by, a Service or a Gateway, as it is now; None if there is none."""
        found = self._addresses[fleet] = located(entrance)
        self._located(fleet, found)

    def forget(self, fleet: str) -> None:
        """Nothing is known of a fleet any more: it is not for us to keep."""
        self._controller.trouble(fleet, ())
        self._addresses.pop(fleet, None)
        self._located(fleet, None)

    def addresses(self, fleet: str) -> tuple[Address, ...]:
        """Where clients reach a fleet that we keep."""
        return self._addresses.get(fleet, ())


def located(entrance: Document | None) -> tuple[Address, ...]:
    """Where clients reach what is behind it; nowhere, as long as it has no address.

    Without a balancer those within the cluster are told: at a node's address, which nobody here may
    know, the ports would be others.
    """
    if entrance is None:
        return ()
    if entrance.get("kind") == "Gateway":
        return tuple(addresses.assigned_to_gateway(entrance.get("status") or {}))
    spec = entrance.get("spec") or {}
    if spec.get("type") in {"ClusterIP", "NodePort"}:
        return tuple(Address(ip=it) for it in spec.get("clusterIPs") or () if it != "None")
    return addresses.addresses("", entrance.get("status"))

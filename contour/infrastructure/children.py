"""The objects of our fleets in the cluster: where they may be, and how they are followed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from contour.infrastructure import desired
from contour.infrastructure.desired import Key
from kube.client import Client
from provisioning.keeping import children, ownership
from provisioning.keeping.children import Collection
from provisioning.keeping.ownership import Ownership

KINDS = (
    "ServiceAccount",
    "Service",
    "DaemonSet",
    "Deployment",
    "PodDisruptionBudget",
    "HorizontalPodAutoscaler",
    "NetworkPolicy",
)
"""What fleets are made of."""

ATTACHED = ("TCPRoute", "Gateway")
OUTER = (*ATTACHED, "GatewayClass")
"""The objects with which a foreign Gateway leads to the shared fleet, in the order of removal."""

Children = children.Children[Key]


@dataclass(frozen=True, slots=True)
class FleetScope:
    """Where the objects of fleets may be."""

    namespaces: tuple[str, ...]
    """Empty string: in all of them."""
    with_secrets: bool = False
    """Whether each Gateway's fleet has a certificate of its own."""

    home: str = ""
    """The namespace of a foreign Gateway in front of the shared fleet; empty: none."""
    with_classes: bool = False
    """Whether such a Gateway may have a class of ours."""

    @property
    def places(self) -> Iterator[tuple[str, str]]:
        """The kinds of the objects, each with its namespaces."""
        kinds = (*KINDS, "Secret") if self.with_secrets else KINDS
        yield from product(kinds, self.namespaces)
        if self.home:
            yield from (("Gateway", self.home), ("TCPRoute", self.home))
        if self.with_classes:
            yield "GatewayClass", ""


def followed(
    client: Client, owned: Ownership, scope: FleetScope, on_change: Callable[[Key], None]
) -> Children:
    """The children of all fleets."""
    params = {"labelSelector": ownership.selector(owned.labels)}
    collections = (Collection(kind, params, namespace) for kind, namespace in scope.places)
    return Children(client, collections, desired.key_of, on_change)

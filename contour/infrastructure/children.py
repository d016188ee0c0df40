"""What of our fleets is in the cluster: where it may be, and how it is followed."""

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

OUTER = ("TCPRoute", "Gateway", "GatewayClass")
"""What somebody else's Gateway in front of the shared one is, in the order in which it goes."""

Children = children.Children[Key]


@dataclass(frozen=True, slots=True)
class Reach:
    """Where the objects of fleets may be."""

    namespaces: tuple[str, ...]
    """Empty string: in all of them."""
    with_secrets: bool = False
    """Gateways' fleets have a certificate of their own each."""

    home: str = ""
    """Where somebody else's Gateway may be in front of the shared fleet; empty: nowhere."""
    with_classes: bool = False
    """Such a Gateway may have a class of ours."""

    @property
    def places(self) -> Iterator[tuple[str, str]]:
        """The kinds of these objects, each with its namespaces."""
        kinds = (*KINDS, "Secret") if self.with_secrets else KINDS
        yield from product(kinds, self.namespaces)
        if self.home:
            yield from (("Gateway", self.home), ("TCPRoute", self.home))
        if self.with_classes:
            yield "GatewayClass", ""


def followed(
    client: Client, owned: Ownership, reach: Reach, on_change: Callable[[Key], None]
) -> Children:
    """The children of all fleets."""
    params = {"labelSelector": ownership.selector(owned.labels)}
    collections = (Collection(kind, params, namespace) for kind, namespace in reach.places)
    return Children(client, collections, desired.key_of, on_change)

"""The objects of instances in the cluster, whoever made them; followed by their labels.

Secrets are followed by the three names that an instance uses, so that no right to list all Secrets
is needed, and their contents are not kept.
"""

from collections.abc import Callable, Iterable

from contour_operator import desired
from crds import raw
from crds.raw import Raw
from kube.client import Client
from provisioning.keeping import children, objects, ownership
from provisioning.keeping.children import Collection
from provisioning.keeping.ownership import Owner
from provisioning.secrets import Names
from provisioning.templating import Document

LEAVES = ("contour", "envoy")
"""The processes that have a certificate."""

_NOT_BY_LABEL = frozenset({"Secret", "EndpointSlice"})
"""Kinds that are not followed by labels: Kubernetes copies those of a Service to its
EndpointSlices, so these would count as unwanted children and be removed."""

Labels = tuple[str, str]
"""The namespace and name of a configuration, as they are in labels."""

Children = children.Children[Labels]


def followed(client: Client, on_change: Callable[[Labels], None]) -> Children:
    """The children of all configurations."""
    return Children(client, _collections(), _of_document, on_change, excerpt)


def of(owner: Owner) -> Labels:
    """The key of a configuration's children."""
    return _of_labels(owner.labels)


def is_of_a_fleet(child: Document) -> bool:
    """Whether an object is of a fleet of Envoys, and not of the instance itself."""
    makers = (desired.MAKER, ownership.KEY_SETS, ownership.RATE_LIMITS)
    return not any(ownership.has(child, {ownership.MAKER: it}) for it in makers)


def is_of_a_gateway(child: Raw) -> bool:
    """Whether an object has the label of a fleet that an instance has made for a Gateway."""
    return ownership.GATEWAY in raw.mapping(raw.at(child, "metadata", "labels"))


def excerpt(found: Document) -> Document:
    """The parts of an object that are kept."""
    replicas = raw.at(found, "spec", "replicas")
    kept = {key: found[key] for key in ("kind", "metadata", "status", "roleRef") if key in found}
    return kept | {"spec": {"replicas": replicas}}


def _of_document(document: Document) -> Labels:
    return _of_labels(document["metadata"].get("labels") or {})


def _of_labels(labels: dict[str, str]) -> Labels:
    return labels.get(ownership.NAMESPACE, ""), labels.get(ownership.NAME, "")


def _collections() -> Iterable[Collection]:
    params = {"labelSelector": ownership.NAME}
    yield from (Collection(it, params) for it in objects.RESOURCES if it not in _NOT_BY_LABEL)
    for name in Names().all(LEAVES):
        yield Collection("Secret", params | {"fieldSelector": f"metadata.name={name}"})

"""Ownership of the objects that were made: by labels, not by ownerReferences.

For the operator and for instances that manage a fleet. An object with the labels of a configuration
is ours to change and to remove, in any namespace; one without them is not, even if it has the name
that ours would have. Labels are used because garbage collection must never remove what was handed
over. Whoever removes the labels from an object takes it over.
"""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from crds import raw
from crds.raw import Raw

NAME = "projectcontour.io/owning-configuration-name"
NAMESPACE = "projectcontour.io/owning-configuration-namespace"
MAKER = "app.kubernetes.io/managed-by"

KEY_SETS, RATE_LIMITS = "contour-keys", "contour-rate-limits"
"""Makers of what an instance makes for itself: its end is theirs, whoever keeps its fleets."""

GATEWAY = "gateway.networking.k8s.io/gateway-name"
"""The label that the Gateway API demands on objects that are made for a Gateway."""

_LONGEST_VALUE = 63


class Owner(NamedTuple):
    """The ContourConfiguration that an object was made for."""

    namespace: str
    name: str

    @property
    def labels(self) -> dict[str, str]:
        """The labels of everything that was made for it, whoever made it."""
        return {NAMESPACE: self.namespace, NAME: label_value(self.name)}

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Ownership(NamedTuple):
    """The labels of an object that was made for a configuration, by one maker."""

    owner: Owner
    maker: str

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the owner and of the maker."""
        return {**self.owner.labels, MAKER: self.maker}

    def owns(self, document: Raw) -> bool:
        """Whether the object has these labels."""
        return has(document, self.labels)


def has(document: Raw, labels: Mapping[str, str]) -> bool:
    """Whether an object has all of these labels."""
    found = raw.mapping(raw.at(document, "metadata", "labels"))
    return all(found.get(key) == value for key, value in labels.items())


def selector(labels: Mapping[str, str]) -> str:
    """A label selector for objects that have all of these labels."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def label_value(name: str) -> str:
    """The name itself, or a shorter one with a digest: names may be longer than label values."""
    if len(name) <= _LONGEST_VALUE:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name[: _LONGEST_VALUE - 17]}-{digest}"

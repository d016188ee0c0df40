"""By what we know again what we have made: labels, and no ownerReferences.

For the operator and for instances that keep a fleet. Whatever carries the mark of a configuration
is ours to change and to remove, in whatever namespace; whatever does not is not, even if it has the
name that ours would have. Garbage collection is never to remove what was handed over, hence labels.
Whoever takes the labels off an object takes it away from us.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

NAME = "projectcontour.io/owning-configuration-name"
NAMESPACE = "projectcontour.io/owning-configuration-namespace"
MAKER = "app.kubernetes.io/managed-by"

GATEWAY = "gateway.networking.k8s.io/gateway-name"
"""The label that the Gateway API asks for on what is made for a Gateway."""

_LONGEST_VALUE = 63


class Owner(NamedTuple):
    """The ContourConfiguration that an object was made for."""

    namespace: str
    name: str

    @property
    def labels(self) -> dict[str, str]:
        """Of everything that was made for it, whoever made it."""
        return {NAMESPACE: self.namespace, NAME: value(self.name)}

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Mark(NamedTuple):
    """What an object carries that somebody has made for a configuration."""

    owner: Owner
    maker: str

    @property
    def labels(self) -> dict[str, str]:
        """All of them."""
        return {**self.owner.labels, MAKER: self.maker}

    def is_on(self, document: Mapping[str, Any]) -> bool:
        """Whether the object carries it."""
        return has(document, self.labels)


def has(document: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether an object has all of these labels."""
    found = (document.get("metadata") or {}).get("labels") or {}
    return all(found.get(key) == value for key, value in labels.items())


def selector(labels: Mapping[str, str]) -> str:
    """For lists and watches: those that have all of these."""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def value(name: str) -> str:
    """Names may be longer than the value of a label."""
    if len(name) <= _LONGEST_VALUE:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name[: _LONGEST_VALUE - 17]}-{digest}"

"""What an EnvoyConfig says once its texts are read: resources as bytes, and references.

Rows of these are written beside the object itself, for the rules know no protobuf.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from crds.envoyconfig import ResourceType
from crds.envoyconfigrevision import EnvoyConfigRevision
from crds.gateway.selector import LabelSelector
from crds.meta import NamespacedName
from dag.engine.view import Table


class Fixed(NamedTuple):
    """A resource that was written in full."""

    type: ResourceType
    name: str
    body: bytes
    """The encoded protobuf message."""


class SecretValue(NamedTuple):
    """One entry of a Secret."""

    secret: NamespacedName
    key: str


class FromSecret(NamedTuple):
    """A secret of Envoy that is made of a Secret."""

    name: str
    """The name by which Envoy asks for it."""
    secret: NamespacedName
    form: Literal["tlsCertificate", "validationContext", "generic"]
    key: str = ""
    """The key of the value, for the form `generic`."""


@dataclass(frozen=True, slots=True)
class FromSlices:
    """Endpoints that are taken from EndpointSlices."""

    name: str
    """The name of the ClusterLoadAssignment."""
    namespace: str
    selector: LabelSelector
    port: str
    """The name of the port in the slices."""


Item = Fixed | FromSecret | FromSlices


@dataclass(frozen=True, slots=True)
class Content:
    """What one version of an EnvoyConfig says."""

    node: str
    """The node ID."""
    version: str
    """A version that is the same for equal content, wherever and whenever it is read."""
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Unread:
    """The content of an EnvoyConfigRevision; its resources are read when they are served."""

    node: str
    version: str
    revision: EnvoyConfigRevision


class Remark(NamedTuple):
    """Something that is wrong, or ignored, with the path of its field."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading an EnvoyConfig."""

    node: str
    version: str
    """The version of what is written, even if that is not valid; empty if there is none."""
    content: Content | None
    """None if there is an error."""
    errors: tuple[Remark, ...] = ()
    warnings: tuple[Remark, ...] = ()


def values(found: Iterable[Item]) -> frozenset[SecretValue]:
    """The entries of Secrets that resources hold as they are."""
    secrets = (it for it in found if isinstance(it, FromSecret) and it.form == "generic")
    return frozenset(SecretValue(it.secret, it.key) for it in secrets)


READINGS: Table[NamespacedName, Reading] = Table("readings of EnvoyConfigs")
"""By EnvoyConfig."""

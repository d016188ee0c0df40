"""Statuses of objects: the answers of the status rules, as values.

A status holds only what the rules derive. `observedGeneration` and `lastTransitionTime` are
merged in when a status is written (`contour.status`), or equal states would look like changes.
"""

from typing import Literal, NamedTuple

from crds.gateway.references import ParentReference
from crds.records import dataclass


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition (Kubernetes API conventions, "Typical status properties")."""

    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    message: str
    warnings: tuple[str, ...] = ()
    """The parts of the message that are warnings."""


@dataclass(frozen=True, slots=True)
class SubCondition:
    """One error or warning inside Contour's `Valid` condition."""

    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ContourStatus:
    """The status of HTTPProxy, TLSCertificateDelegation and ContourConfiguration."""

    valid: Condition
    current_status: Literal["valid", "invalid", "orphaned"]
    errors: tuple[SubCondition, ...] = ()
    warnings: tuple[SubCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class EventStatus:
    """The problems of an object whose status has no field for them: an Ingress, or a Service. They
    become Events, and rows of `contour status`."""

    problems: tuple[SubCondition, ...] = ()
    warnings: tuple[SubCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class GatewayClassStatus:
    """The status of a GatewayClass of ours."""

    conditions: tuple[Condition, ...]
    supported_features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RouteKind:
    """A kind of route that a listener takes."""

    kind: str
    group: str = "gateway.networking.k8s.io"


@dataclass(frozen=True, slots=True)
class ListenerStatus:
    """What became of one listener of a Gateway."""

    name: str
    supported_kinds: tuple[RouteKind, ...]
    attached_routes: int
    conditions: tuple[Condition, ...]


class Address(NamedTuple):
    """Where clients reach a Gateway."""

    type: str
    """`IPAddress` or `Hostname`."""
    value: str
    routability: str | None = None
    """From where it is reached: empty if not known, None if the CRDs do not have the field."""


@dataclass(frozen=True, slots=True)
class GatewayStatus:
    """The status of a Gateway of ours."""

    conditions: tuple[Condition, ...]
    listeners: tuple[ListenerStatus, ...] = ()
    attached_listener_sets: int = 0
    addresses: tuple[Address, ...] | None = None
    """None: nothing assigns addresses, so the status does not mention any."""


@dataclass(frozen=True, slots=True)
class ListenerSetStatus:
    """The status of a ListenerSet that is for a Gateway of ours."""

    conditions: tuple[Condition, ...]
    listeners: tuple[ListenerStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class AncestorStatus:
    """What one Gateway says of a policy."""

    ancestor: ParentReference
    controller_name: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class PolicyStatus:
    """The status of a policy: one entry for each Gateway of ours that it matters to."""

    ancestors: tuple[AncestorStatus, ...]


@dataclass(frozen=True, slots=True)
class ParentStatus:
    """What one parent, named as the route names it, says of a route."""

    parent: ParentReference
    controller_name: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class RouteStatus:
    """The status of a route: one entry for each parent of ours."""

    parents: tuple[ParentStatus, ...]


class RevisionReference(NamedTuple):
    """A revision of an EnvoyConfig."""

    version: str
    name: str
    """The name of the EnvoyConfigRevision; empty if there is none."""


@dataclass(frozen=True, slots=True)
class BackendStatus:
    """The status of a Backend, which has no entries for Gateways or controllers."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class EnvoyConfigStatus:
    """The status of an EnvoyConfig."""

    conditions: tuple[Condition, ...]
    desired_version: str = ""
    published_version: str = ""
    cache_state: str = ""
    revisions: tuple[RevisionReference, ...] = ()
    """The newest last."""


Status = (
    ContourStatus
    | EventStatus
    | GatewayClassStatus
    | GatewayStatus
    | ListenerSetStatus
    | RouteStatus
    | PolicyStatus
    | BackendStatus
    | EnvoyConfigStatus
)


def most_ancestors(kind: str) -> int:
    """The most ancestors in the status of an object of this kind."""
    return 32 if kind == "XBackend" else 16

"""The statuses of our kinds, for the CRD schema alone: decoding drops `status`.

Conditions follow Kubernetes, "API conventions", with the errors and warnings that Contour adds.
"""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, StringConstraints

from crds.fields import Int32, Natural64
from crds.meta import model

ConditionType = Annotated[
    str,
    StringConstraints(
        pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
        r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        max_length=316,
    ),
]
Reason = Annotated[
    str,
    StringConstraints(
        pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", min_length=1, max_length=1024
    ),
]
Message = Annotated[str, StringConstraints(max_length=32768)]
Truth = Literal["True", "False", "Unknown"]


@model
class SubCondition:
    """One thing that is wrong, or worth a warning."""

    type: ConditionType
    """What part of the object it is about."""
    status: Truth
    """True: it is so."""
    reason: Reason
    """What is wrong, for programs."""
    message: Message
    """What is wrong, for people."""


@model
class DetailedCondition:
    """A condition of an object, with what led to it."""

    type: ConditionType
    """What it is about."""
    status: Truth
    """Whether it is so."""
    observed_generation: Natural64 | None = None
    """The generation of the object that this was found on."""
    last_transition_time: AwareDatetime
    """When `status` changed."""
    reason: Reason
    """Why, for programs."""
    message: Message
    """Why, for people."""
    errors: tuple[SubCondition, ...] = ()
    """What keeps the object, or a part of it, from being served."""
    warnings: tuple[SubCondition, ...] = ()
    """What is served, but perhaps not as meant."""


Conditions = Annotated[
    tuple[DetailedCondition, ...],
    Field(
        json_schema_extra={
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        }
    ),
]


@model
class PortStatus:
    """A port of a load balancer."""

    port: Int32
    """Its number."""
    protocol: str
    """Its protocol."""
    error: ConditionType | None = None
    """What is wrong with it."""


_Atomic = Field(default=(), json_schema_extra={"x-kubernetes-list-type": "atomic"})


@model
class LoadBalancerIngress:
    """An address of a load balancer."""

    ip: str = ""
    """Its IP address."""
    hostname: str = ""
    """Its name."""
    ip_mode: str | None = None
    """How the address behaves: VIP or Proxy."""
    ports: tuple[PortStatus, ...] = _Atomic
    """Its ports."""


@model
class LoadBalancerStatus:
    """Where clients reach the object."""

    ingress: tuple[LoadBalancerIngress, ...] = _Atomic
    """Addresses."""


@model
class HTTPProxyStatus:
    """What has become of an HTTPProxy."""

    current_status: str = ""
    """`valid`, `invalid`, `orphaned`, or `NotReconciled` before anyone looked."""
    description: str = ""
    """Why."""
    load_balancer: LoadBalancerStatus = LoadBalancerStatus()
    """Where clients reach it."""
    conditions: Conditions = ()
    """`Valid`, with its errors and warnings."""


@model
class ConditionsStatus:
    """What has become of an object."""

    conditions: Conditions = ()
    """What was found, with its errors and warnings."""


@model
class ContourConfigurationStatus:
    """What has become of an instance."""

    conditions: Conditions = ()
    """`Valid` is told by the instance; `Provisioned`, `Progressing` and `Available` by the
    operator, of the instances that it makes."""
    available_contours: Int32 | None = None
    """How many of the control plane are available. Beside Contour's fields."""
    available_envoys: Int32 | None = None
    """How many Envoys are available, of fleets that we make. Beside Contour's fields."""

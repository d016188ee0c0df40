"""The statuses of our kinds, for the CRD schema alone: decoding ignores `status`.

Conditions follow the Kubernetes API conventions, with the errors and warnings that Contour adds.
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
    """One error or warning in a condition."""

    type: ConditionType
    """The part of the object that this is about, such as `RouteError` or `TLSError`."""
    status: Truth
    """The status of the error or warning, which is `True` as long as it is listed."""
    reason: Reason
    """The cause as a single word in CamelCase, which programs may rely on."""
    message: Message
    """The cause as a sentence for people, with the path of the field."""


@model
class DetailedCondition:
    """A condition of the object, with the errors and warnings that led to it."""

    type: ConditionType
    """The name of the condition, such as `Valid`; each occurs once."""
    status: Truth
    """Whether the condition holds: `True`, `False`, or `Unknown`."""
    observed_generation: Natural64 | None = None
    """The `metadata.generation` of the object that this was found on. If it is older than the
    object's, the condition may be out of date."""
    last_transition_time: AwareDatetime
    """The time at which `status` changed, in RFC 3339 form."""
    reason: Reason
    """The cause of the status as a single word in CamelCase, which programs may rely on."""
    message: Message
    """The cause of the status as a sentence for people."""
    errors: tuple[SubCondition, ...] = ()
    """What prevents the object, or a part of it, from being served."""
    warnings: tuple[SubCondition, ...] = ()
    """What is served, but perhaps not as intended, such as ignored fields."""


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
    """The state of one port of a load balancer."""

    port: Int32
    """The number of the port that clients connect to."""
    protocol: str
    """The transport protocol of the port: TCP, UDP or SCTP."""
    error: ConditionType | None = None
    """What is wrong with the port, as a word that programs may rely on."""


_Atomic = Field(default=(), json_schema_extra={"x-kubernetes-list-type": "atomic"})


@model
class LoadBalancerIngress:
    """One address at which clients reach the object: an IP address or a host name."""

    ip: str = ""
    """The IP address, if the load balancer has one."""
    hostname: str = ""
    """The host name, if the load balancer has one instead of an IP address."""
    ip_mode: str | None = None
    """Whether packets for the IP address reach the nodes with that address (`VIP`) or with that of
    the node (`Proxy`)."""
    ports: tuple[PortStatus, ...] = _Atomic
    """The state of the single ports, as the load balancer reports it."""


@model
class LoadBalancerStatus:
    """The addresses at which clients reach the object."""

    ingress: tuple[LoadBalancerIngress, ...] = _Atomic
    """The addresses of Envoy's Service, or those of `ingress.statusAddress` in the
    configuration."""


@model
class HTTPProxyStatus:
    """What the controller found out about an HTTPProxy."""

    current_status: str = ""
    """A summary: `valid`; `invalid`; `orphaned`, if no root includes it; or `NotReconciled`, until
    a controller has looked at it."""
    description: str = ""
    """The reason for `currentStatus`, in a sentence for people."""
    load_balancer: LoadBalancerStatus = LoadBalancerStatus()
    """The addresses at which clients reach the host of the HTTPProxy."""
    conditions: Conditions = ()
    """The condition `Valid`, with all errors and warnings that were found."""


@model
class ConditionsStatus:
    """What the controller found out about the object."""

    conditions: Conditions = ()
    """The condition `Valid`, with all errors and warnings that were found."""


@model
class ContourConfigurationStatus:
    """What the instance and the operator report about the configuration."""

    conditions: Conditions = ()
    """The instance writes `Valid`, about its settings. The operator writes `Provisioned`,
    `Progressing` and `Available`, about the instances that it provisions."""
    available_contours: Int32 | None = None
    """The number of available replicas of the control plane, if the operator provisions it.
    Upstream Contour does not have this field."""
    available_envoys: Int32 | None = None
    """The number of available Envoys in managed fleets. Upstream Contour does not have this
    field."""


@model
class AncestorReference:
    """An object that names this one."""

    group: str = "gateway.networking.k8s.io"
    """The API group of the object, by default `gateway.networking.k8s.io`."""
    kind: str = "Gateway"
    """The kind of the object, GatewayClass or Gateway. The default is `Gateway`."""
    namespace: str | None = None
    """The namespace of the object, if its kind has one."""
    name: str
    """The name of the object."""


@model
class PlainCondition:
    """A condition of the object, as one that names it sees it."""

    type: ConditionType
    """The name of the condition, such as `Accepted`; each occurs once."""
    status: Truth
    """Whether the condition holds: `True`, `False`, or `Unknown`."""
    observed_generation: Natural64 | None = None
    """The `metadata.generation` of the object that this was found on."""
    last_transition_time: AwareDatetime
    """The time at which `status` changed, in RFC 3339 form."""
    reason: Reason
    """The cause of the status as a single word in CamelCase, which programs may rely on."""
    message: Message
    """The cause of the status as a sentence for people, with the paths of fields."""


@model
class AncestorStatus:
    """What one controller says of the object for one that names it."""

    ancestor_ref: AncestorReference
    """The object that names this one."""
    controller_name: str
    """The controller that says so."""
    conditions: tuple[PlainCondition, ...] = Field(
        default=(),
        json_schema_extra={
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        },
    )
    """The condition `Accepted`: whether the object can be used, and what of it has no effect."""


@model
class AncestorsStatus:
    """What controllers found out about the object, by each object that names it."""

    ancestors: tuple[AncestorStatus, ...] = Field(
        default=(), max_length=16, json_schema_extra={"x-kubernetes-list-type": "atomic"}
    )
    """The GatewayClasses and Gateways that name the object, each with what is said of it."""


@model
class ObjectReference:
    """An object that the status refers to, by kind and name."""

    api_version: str = ""
    """The API group and version of the object, such as `marin3r.3scale.net/v1alpha1`."""
    kind: str = ""
    """The kind of the object, such as `EnvoyConfigRevision`."""
    name: str = ""
    """The name of the object in its namespace."""
    namespace: str = ""
    """The namespace of the object, if it is another one than here."""


@model
class RevisionReference:
    """A revision of the EnvoyConfig, by its version and as an object."""

    version: str
    """The version of the revision: a hash of its content."""
    ref: ObjectReference | None = None
    """The EnvoyConfigRevision that holds this version."""


@model
class EnvoyConfigStatus:
    """Which revision of an EnvoyConfig is served, and why."""

    cache_state: str = ""
    """`InSync`: what is written is served. `Rollback`: an older revision is served.
    `RollbackFailed`: Envoys refuse every revision."""
    published_version: str = ""
    """The version of the revision that Envoys are served now."""
    desired_version: str = ""
    """The version of what the EnvoyConfig says now, whether or not it is served."""
    revisions: tuple[RevisionReference, ...] = ()
    """The revisions that are kept, at most ten or so, the newest last."""
    conditions: Conditions = ()
    """The conditions `Valid`, `CacheOutOfSync` and `RollbackFailed`, with what is wrong."""


@model
class ProvidedVersions:
    """A version for each type of resource, which changes with the content of these resources."""

    endpoints: str = ""
    """The version of the endpoints that are served."""
    clusters: str = ""
    """The version of the clusters that are served."""
    routes: str = ""
    """The version of the route configurations that are served."""
    scoped_routes: str = ""
    """The version of the scopes of routes that are served."""
    listeners: str = ""
    """The version of the listeners that are served."""
    secrets: str = ""
    """The version of the secrets, which changes when a certificate is renewed."""
    runtimes: str = ""
    """The version of the runtime layers that are served."""
    extension_configs: str = ""
    """The version of the configurations of extensions that are served."""


@model
class EnvoyConfigRevisionStatus:
    """What became of the revision: whether it is served, and what Envoys make of it."""

    published: bool = False
    """True if this is the revision that Envoys are served now."""
    last_published_at: AwareDatetime | None = None
    """The time at which the revision was published last, in RFC 3339 form."""
    tainted: bool = False
    """True if Envoy refuses the revision. It is then not served again, unless it is deleted and so
    forgotten."""
    provides_versions: ProvidedVersions | None = None
    """The versions of its resources by type, while it is served."""
    conditions: Conditions = ()
    """`RevisionPublished`, `RevisionTainted` and `ResourcesInSync`: whether an Envoy has accepted
    all of it."""

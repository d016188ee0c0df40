"""EnvoyConfig (marin3r.3scale.net/v1alpha1): resources of xDS that users write themselves.

MARIN3R's kind, with both spellings of resources: the list `resources`, and the older
`envoyResources` with texts in JSON or YAML. A value is kept as canonical JSON, so that the spelling
of keys, comments, white space and numbers makes no difference. What a value means is Envoy's
affair: it is compared with the protobuf definitions elsewhere (`contour.rawconfig`).
"""

import json
import math
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from crds.fields import NonEmpty
from crds.gateway.selector import LabelSelector
from crds.meta import ObjectMeta, model
from crds.raw import is_list, is_mapping

ResourceType = Literal[
    "listener",
    "route",
    "scopedRoute",
    "cluster",
    "endpoint",
    "secret",
    "runtime",
    "extensionConfig",
]
Blueprint = Literal["tlsCertificate", "validationContext"]
Serialization = Literal["json", "yaml"]

MOST_RESOURCES = 2000
LONGEST_TEXT = 1 << 20

NodeID = Annotated[
    str, StringConstraints(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$")
]


def canonical(value: object) -> str:
    """The canonical JSON of a value: sorted keys, no white space, whole numbers without a point.

    Raises ValueError for numbers that JSON cannot hold.
    """
    return json.dumps(
        _plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _plain(value: object) -> object:
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    if is_mapping(value):
        return {str(key): _plain(it) for key, it in value.items()}
    return [_plain(it) for it in value] if is_list(value) else value


def _canonical_object(value: object) -> object:
    if not is_mapping(value):
        raise PydanticCustomError("object", "must be an object")
    try:
        return canonical(value)
    except (TypeError, ValueError):
        raise PydanticCustomError("object", "holds a value that JSON cannot hold") from None


JsonObject = Annotated[str, BeforeValidator(_canonical_object)]
Text = Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]


@model
class OpaqueSecretSource:
    """A value of a Secret of type Opaque."""

    name: NonEmpty
    """The name of the Secret, in the namespace of the EnvoyConfig."""
    key: NonEmpty
    """The key of the value in the Secret."""
    alias: NonEmpty
    """The name by which Envoy asks for the secret."""


@model
class EndpointSlicesSource:
    """Endpoints of the EndpointSlices that a selector matches."""

    selector: LabelSelector
    """The labels of the EndpointSlices, in the namespace of the EnvoyConfig."""
    cluster_name: NonEmpty
    """The name of the ClusterLoadAssignment: the `service_name` of an EDS cluster, or its name."""
    target_port: str
    """The name of the port in the EndpointSlices; empty for the port without a name."""


@model
class Resource:
    """One xDS resource."""

    type: ResourceType
    """The type of the resource."""
    value: JsonObject | None = None
    """The resource in the JSON form of Envoy's v3 API. A secret has none: it refers to a Secret."""
    generate_from_tls_secret: NonEmpty | None = Field(
        default=None, validation_alias="generateFromTlsSecret"
    )
    """For a secret: the name of a Secret of type kubernetes.io/tls in the same namespace. Envoy
    asks for it by that name."""
    generate_from_opaque_secret: OpaqueSecretSource | None = None
    """For a secret: a value of a Secret of type Opaque in the same namespace."""
    generate_from_endpoint_slices: EndpointSlicesSource | None = None
    """For an endpoint: EndpointSlices of the same namespace."""
    blueprint: Blueprint | None = None
    """For `generateFromTlsSecret`: whether the Secret is a certificate with its key, the default,
    or a trust bundle (`ca.crt`; `tls.crt` where there is none)."""


@model
class TextResource:
    """A resource as a text."""

    name: str = ""
    """Has no effect: the name of a resource is in its value."""
    value: Text
    """The resource as a text in the language that `serialization` names."""


@model
class SecretReference:
    """A Secret, in the namespace of the EnvoyConfig."""

    name: str = ""
    """The name of the Secret; by default the name by which Envoy asks for it."""
    namespace: str = ""
    """May be the namespace of the EnvoyConfig and no other."""


@model
class SecretResource:
    """A certificate and its key, from a Secret."""

    name: NonEmpty
    """The name by which Envoy asks for the secret."""
    ref: SecretReference = SecretReference()
    """The Secret of type kubernetes.io/tls."""


Texts = Annotated[tuple[TextResource, ...], Field(max_length=MOST_RESOURCES)]


@model
class EnvoyResources:
    """Resources by type, each as a text; the older spelling of `resources`."""

    endpoints: Texts = ()
    """ClusterLoadAssignments."""
    clusters: Texts = ()
    """Clusters."""
    routes: Texts = ()
    """RouteConfigurations."""
    scoped_routes: Texts = ()
    """ScopedRouteConfigurations."""
    listeners: Texts = ()
    """Listeners."""
    runtimes: Texts = ()
    """Runtime layers."""
    extension_configs: Texts = ()
    """TypedExtensionConfigs."""
    secrets: Annotated[tuple[SecretResource, ...], Field(max_length=MOST_RESOURCES)] = ()
    """Certificates."""


@model
class EnvoyConfigSpec:
    """Which Envoys it is for, and what they are served."""

    node_id: NodeID = Field(validation_alias="nodeID")
    """The node ID (`node.id`) of the Envoys that are served these resources."""
    serialization: Serialization = "json"
    """The language of the texts in `envoyResources`."""
    envoy_api: Literal["v3"] = Field(default="v3", validation_alias="envoyAPI")
    """The version of Envoy's API."""
    envoy_resources: EnvoyResources | None = None
    """The resources, by type, as texts. Either this or `resources` is set."""
    resources: Annotated[tuple[Resource, ...], Field(max_length=MOST_RESOURCES)] | None = None
    """The resources. Either this or `envoyResources` is set."""


@model
class EnvoyConfig:
    """The xDS resources that the Envoys of one node ID are served, as they are."""

    metadata: ObjectMeta
    spec: EnvoyConfigSpec

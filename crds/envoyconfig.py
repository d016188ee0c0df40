"""EnvoyConfig (marin3r.3scale.net/v1alpha1): resources of xDS that users write themselves.

MARIN3R's kind, with both spellings of resources: the list `resources`, and the older
`envoyResources` with texts in JSON or YAML. A value is kept as canonical JSON, so that the spelling
of keys, comments, white space and numbers makes no difference. What a value means is Envoy's
affair: it is compared with the protobuf definitions elsewhere (`contour.rawconfig`).
"""

import json
import math
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema
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


JsonObject = Annotated[
    str,
    BeforeValidator(_canonical_object),
    WithJsonSchema({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
]
Text = Annotated[str, StringConstraints(max_length=LONGEST_TEXT)]


@model
class OpaqueSecretSource:
    """A value of a Secret of type Opaque, which Envoy gets as a generic secret."""

    name: NonEmpty
    """The name of the Secret of type Opaque, which is in the namespace of the EnvoyConfig."""
    key: NonEmpty
    """The key in the `data` of the Secret whose value Envoy gets."""
    alias: NonEmpty
    """The name by which resources of the EnvoyConfig, and so Envoy, ask for the secret."""


@model
class EndpointSlicesSource:
    """Ready endpoints of all EndpointSlices of the namespace that a selector matches."""

    selector: LabelSelector
    """The labels of the EndpointSlices, which are in the namespace of the EnvoyConfig."""
    cluster_name: NonEmpty
    """The name of the ClusterLoadAssignment: the `service_name` of an EDS cluster, or its name."""
    target_port: str
    """The name of the port in the EndpointSlices; empty for the port without a name."""


@model
class Resource:
    """One xDS resource: written in full, or made of a Secret or of EndpointSlices."""

    type: ResourceType
    """The type of the resource, which decides which fields `value` may have and which of the other
    fields may be set."""
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
    """For an endpoint: the EndpointSlices of the same namespace whose ready addresses it has."""
    blueprint: Blueprint | None = None
    """For `generateFromTlsSecret`: whether the Secret is a certificate with its key, the default,
    or a trust bundle (`ca.crt`; `tls.crt` where there is none)."""


@model
class TextResource:
    """A resource of xDS as a text, in JSON or YAML."""

    name: str = ""
    """This field has no effect: the name of a resource is in its value."""
    value: Text
    """The resource as a text, in the language that `serialization` names, at most 1 MiB long."""


@model
class SecretReference:
    """A Secret that is in the namespace of the EnvoyConfig, by its name."""

    name: str = ""
    """The name of the Secret. The default is the name by which Envoy asks for it."""
    namespace: str = ""
    """The namespace of the Secret, which can only be that of the EnvoyConfig."""


@model
class SecretResource:
    """A certificate and its key, which are taken from a Secret of the namespace."""

    name: NonEmpty
    """The name by which resources of the EnvoyConfig, and so Envoy, ask for the certificate."""
    ref: SecretReference = SecretReference()
    """The Secret of type kubernetes.io/tls with the certificate and its key."""


Texts = Annotated[tuple[TextResource, ...], Field(max_length=MOST_RESOURCES)]


@model
class EnvoyResources:
    """Resources by type, each as a text; the older spelling of `resources`."""

    endpoints: Texts = ()
    """Endpoints: texts of the type `ClusterLoadAssignment` of Envoy's API, one for each cluster
    that asks for its endpoints."""
    clusters: Texts = ()
    """Upstream clusters: texts of the type `Cluster` of Envoy's API."""
    routes: Texts = ()
    """Route configurations: texts of the type `RouteConfiguration` of Envoy's API, for listeners
    that ask for their routes."""
    scoped_routes: Texts = ()
    """Scopes of routes: texts of the type `ScopedRouteConfiguration` of Envoy's API."""
    listeners: Texts = ()
    """Listeners: texts of the type `Listener` of Envoy's API, with their filter chains."""
    runtimes: Texts = ()
    """Runtime layers: texts of the type `Runtime` of Envoy's API, for a bootstrap that asks for
    them."""
    extension_configs: Texts = ()
    """Configurations of extensions: texts of the type `TypedExtensionConfig` of Envoy's API, for
    filters that ask for theirs."""
    secrets: Annotated[tuple[SecretResource, ...], Field(max_length=MOST_RESOURCES)] = ()
    """Certificates and their keys, which are taken from Secrets and never written down here."""


@model
class EnvoyConfigSpec:
    """The node ID of the Envoys that it is for, and the resources that they are served."""

    node_id: NodeID = Field(validation_alias="nodeID")
    """The node ID (`node.id`) of the Envoys that are served these resources."""
    serialization: Serialization = "json"
    """The language of the texts in `envoyResources`: `json`, which is the default, or `yaml`."""
    envoy_api: Literal["v3"] = Field(default="v3", validation_alias="envoyAPI")
    """The version of Envoy's API that the resources are written for. There is only `v3`, which is
    the default."""
    envoy_resources: EnvoyResources | None = None
    """The resources by type, each as a text: the older spelling. Either this or `resources` must be
    set."""
    resources: Annotated[tuple[Resource, ...], Field(max_length=MOST_RESOURCES)] | None = None
    """The resources, at most 2,000 of them. Either this or `envoyResources` must be set."""


@model
class EnvoyConfig:
    """The xDS resources that the Envoys of one node ID are served, as they are."""

    metadata: ObjectMeta
    spec: EnvoyConfigSpec

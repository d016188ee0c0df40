"""EnvoyPatchPolicy: JSON patches of the configuration that the Envoys of a Gateway receive.

The fields and limits are those of Envoy Gateway 1.9. Nothing is served of it unless the
configuration allows it: whoever may patch has the power over the whole fleet.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from crds.custombootstrap import JsonValue
from crds.fields import Int32
from crds.gateway.references import Group, KindName, ObjectName
from crds.meta import ObjectMeta, model

Pointer = Annotated[str, StringConstraints(max_length=1024)]

LISTENER = "type.googleapis.com/envoy.config.listener.v3.Listener"
ROUTES = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
ResourceType = Literal[
    "type.googleapis.com/envoy.config.listener.v3.Listener",
    "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
    "type.googleapis.com/envoy.config.cluster.v3.Cluster",
    "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
    "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
]


@model
class PatchTarget:
    """The Gateway or GatewayClass whose Envoys receive another configuration."""

    group: Group
    """The API group of the target: `gateway.networking.k8s.io`."""
    kind: KindName
    """`Gateway`; or `GatewayClass` where the Gateway shares the Envoys of Ingress and
    HTTPProxy."""
    name: ObjectName
    """The name of the target. A Gateway is in the namespace of the policy."""


@model
class PatchOperation:
    """One operation of a JSON patch (RFC 6902). Fields have the names of Envoy's protobuf
    definitions, such as `http_filters`."""

    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    """The operation: add, remove, replace, move, copy or test."""
    path: Pointer | None = None
    """The JSON pointer of the place that the operation is about. With `jsonPath` it begins at each
    place that this finds."""
    json_path: Annotated[str | None, StringConstraints(max_length=1024)] = None
    """A JSONPath (RFC 9535) that finds the places, one or more."""
    from_: Pointer | None = Field(default=None, validation_alias="from")
    """The JSON pointer of the place that `move` and `copy` take the value from."""
    value: JsonValue | None = None
    """The value for add, replace and test: any JSON value."""


@model
class ResourcePatch:
    """An operation on one resource, such as a listener or a cluster of the Envoys."""

    type: ResourceType
    """The type of the resource. Listeners, RouteConfigurations (of which one virtual host is
    named) and Clusters can be patched."""
    name: str
    """The name of the resource: that of Envoy Gateway, such as `default/eg/http` for a listener of
    a Gateway, or ours, such as `ingress_http`. A virtual host is named by its listener and host,
    such as `default/eg/http/www.example.com`; a cluster by namespace, Service and port, such as
    `default/backend/3000`."""
    operation: PatchOperation
    """What is changed of the resource, and where in it."""


@model
class EnvoyPatchPolicySpec:
    """The target, and what is changed in the configuration of its Envoys."""

    type: Literal["JSONPatch"]
    """How the resources are changed. The only type is `JSONPatch`, for operations of RFC 6902."""
    json_patches: tuple[ResourcePatch, ...] = ()
    """The operations, applied in this order. Those on one resource are applied all or not at
    all."""
    target_ref: PatchTarget
    """The Gateway whose Envoys get the patched configuration, or the GatewayClass of a Gateway that
    shares its Envoys."""
    priority: Int32 = 0
    """Policies of lower priority numbers are applied first; of equal ones the older. The default is
    0."""


@model
class EnvoyPatchPolicy:
    """JSON patches of the configuration that the Envoys of a Gateway receive. Nothing of it is
    served unless the configuration of the instance allows it."""

    metadata: ObjectMeta
    spec: EnvoyPatchPolicySpec
    """The target, and what is changed in the configuration of its Envoys."""

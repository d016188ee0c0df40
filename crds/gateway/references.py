"""References of the Gateway API to other objects: parents, backends, Secrets, parameters.

The defaults are those of the CRDs.
"""

from typing import Annotated, Any

from pydantic import StringConstraints

from crds.fields import Label, Port, Subdomain
from crds.meta import model
from crds.rules import rule

GROUP = "gateway.networking.k8s.io"
EXPERIMENTAL_GROUP = "gateway.networking.x-k8s.io"
"""Of kinds that are experimental as a whole."""

Group = Annotated[
    str,
    StringConstraints(
        pattern=r"^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        max_length=253,
    ),
]
"""An API group; the core group is empty."""
KindName = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$", min_length=1, max_length=63
    ),
]
ObjectName = Annotated[str, StringConstraints(min_length=1, max_length=253)]


def _has_port_if_service(reference: Any) -> bool:
    is_service = reference.group == "" and reference.kind == "Service"
    return reference.port is not None or not is_service


@model
class ParentReference:
    """The Gateway, or one of its listeners, that a route attaches to."""

    group: Group = GROUP
    kind: KindName = "Gateway"
    namespace: Label | None = None
    """If absent, the namespace of the route."""
    name: ObjectName
    section_name: Subdomain | None = None
    """The name of a listener; if absent, all listeners that allow the route."""
    port: Port | None = None


@model
class BackendObjectReference:
    """The backend of requests, normally a port of a Service."""

    group: Group = ""
    kind: KindName = "Service"
    name: ObjectName
    namespace: Label | None = None
    """If absent, the namespace of the referrer; any other requires a ReferenceGrant."""
    port: Port | None = None
    _port = rule("Must have port for Service reference", _has_port_if_service)


@model
class SecretObjectReference:
    """A reference to a certificate."""

    group: Group = ""
    kind: KindName = "Secret"
    name: ObjectName
    namespace: Label | None = None
    """If absent, the namespace of the referrer; any other requires a ReferenceGrant."""


@model
class ObjectReference:
    """An object of any kind, normally a ConfigMap or Secret with certificate authorities."""

    group: Group
    kind: KindName
    name: ObjectName
    namespace: Label | None = None


@model
class LocalObjectReference:
    """An object of any kind in the namespace of the referrer."""

    group: Group
    kind: KindName
    name: ObjectName


@model
class ParametersReference:
    """The object with the parameters of a GatewayClass."""

    group: Group
    """The API group of the object, such as `projectcontour.io`."""
    kind: KindName
    """The kind of the object, such as `ContourConfiguration`."""
    name: ObjectName
    """The name of the object that has the parameters."""
    namespace: Label | None = None
    """The namespace of the object. It must be absent for a cluster-scoped object."""

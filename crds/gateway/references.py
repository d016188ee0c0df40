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
    """The API group of the parent."""
    kind: KindName = "Gateway"
    """The kind of the parent, such as Gateway or ListenerSet."""
    namespace: Label | None = None
    """If absent, the namespace of the route."""
    name: ObjectName
    """The name of the parent."""
    section_name: Subdomain | None = None
    """The name of a listener; if absent, all listeners that allow the route."""
    port: Port | None = None
    """The port of the listeners to which the route attaches; without it, any."""


@model
class BackendObjectReference:
    """The backend of requests, normally a port of a Service."""

    group: Group = ""
    """The API group of the backend; empty for a Service."""
    kind: KindName = "Service"
    """The kind of the backend, which is Service."""
    name: ObjectName
    """The name of the backend."""
    namespace: Label | None = None
    """If absent, the namespace of the referrer; any other requires a ReferenceGrant."""
    port: Port | None = None
    """The port of the Service; it is required for a Service."""
    _port = rule("Must have port for Service reference", _has_port_if_service)


@model
class SecretObjectReference:
    """A reference to a certificate."""

    group: Group = ""
    """The API group of the object; empty for a Secret."""
    kind: KindName = "Secret"
    """The kind of the object, which is Secret."""
    name: ObjectName
    """The name of the Secret."""
    namespace: Label | None = None
    """If absent, the namespace of the referrer; any other requires a ReferenceGrant."""


@model
class ObjectReference:
    """An object of any kind, normally a ConfigMap or Secret with certificate authorities."""

    group: Group
    """The API group of the object; empty for Kubernetes' core kinds."""
    kind: KindName
    """The kind of the object."""
    name: ObjectName
    """The name of the object."""
    namespace: Label | None = None
    """The namespace of the object; another one than its own has to grant it."""


@model
class LocalObjectReference:
    """An object of any kind in the namespace of the referrer."""

    group: Group
    """The API group of the object; empty for Kubernetes' core kinds."""
    kind: KindName
    """The kind of the object."""
    name: ObjectName
    """The name of the object, in the same namespace."""


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

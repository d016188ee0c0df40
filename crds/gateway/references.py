"""How objects of the Gateway API point at others: parents, backends, secrets, parameters.

The defaults are those of the CRDs: an absent group and kind mean what most users want to say.
"""

from typing import Annotated, Any

from pydantic import StringConstraints

from crds.fields import Label, Port, Subdomain
from crds.meta import model
from crds.rules import rule

GROUP = "gateway.networking.k8s.io"

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
    """The Gateway, or one listener of it, that a route wants to be attached to."""

    group: Group = GROUP
    kind: KindName = "Gateway"
    namespace: Label | None = None
    """The route's own, if absent."""
    name: ObjectName
    section_name: Subdomain | None = None
    """The name of a listener; every listener that allows the route, if absent."""
    port: Port | None = None


@model
class BackendObjectReference:
    """Where requests go: a port of a Service, as a rule."""

    group: Group = ""
    kind: KindName = "Service"
    name: ObjectName
    namespace: Label | None = None
    """The referrer's own, if absent; any other one needs a ReferenceGrant."""
    port: Port | None = None
    _port = rule("Must have port for Service reference", _has_port_if_service)


@model
class SecretObjectReference:
    """A certificate."""

    group: Group = ""
    kind: KindName = "Secret"
    name: ObjectName
    namespace: Label | None = None
    """The referrer's own, if absent; any other one needs a ReferenceGrant."""


@model
class ObjectReference:
    """An object of any kind, as a rule a ConfigMap or a Secret with certificate authorities."""

    group: Group
    kind: KindName
    name: ObjectName
    namespace: Label | None = None


@model
class LocalObjectReference:
    """An object of any kind in the referrer's namespace."""

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

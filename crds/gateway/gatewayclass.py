"""GatewayClass: which controller serves the Gateways of a class (cluster-scoped)."""

from typing import Annotated

from pydantic import StringConstraints

from crds.gateway.references import ParametersReference
from crds.meta import ObjectMeta, model

CONTROLLER_NAME = (
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
    r"\/[A-Za-z0-9\/\-._~%!$&'()*+,;=:]+$"
)
ControllerName = Annotated[
    str, StringConstraints(pattern=CONTROLLER_NAME, min_length=1, max_length=253)
]
"""A domain and a path, such as `projectcontour.io/gateway-controller`."""


@model
class GatewayClassSpec:
    """The controller of the class, and its parameters."""

    controller_name: ControllerName
    """The controller that serves Gateways of the class; it cannot be changed later."""
    parameters_ref: ParametersReference | None = None
    """A reference to a ContourConfiguration."""
    description: Annotated[str, StringConstraints(max_length=64)] | None = None
    """A text for people; it has no effect."""


@model
class GatewayClass:
    """A class of Gateways."""

    metadata: ObjectMeta
    spec: GatewayClassSpec

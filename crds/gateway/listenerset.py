"""ListenerSet: listeners that another team adds to a Gateway (GEP-1713).

Its listeners have the fields of a Gateway's. The rules in `dag` decide whether the Gateway accepts
them.
"""

from pydantic import Field

from crds.fields import Label
from crds.gateway.gateway import LISTENERS_ARE_UNIQUE, NAMES_ARE_UNIQUE, Listener
from crds.gateway.references import GROUP, Group, KindName, ObjectName
from crds.meta import ObjectMeta, model


@model
class ParentGatewayReference:
    """The Gateway that the listeners are added to."""

    group: Group = GROUP
    """The API group of the parent, which is that of the Gateway API."""
    kind: KindName = "Gateway"
    """The kind of the parent, which is Gateway."""
    name: ObjectName
    """The name of the Gateway to which the listeners are added."""
    namespace: Label | None = None
    """If absent, the namespace of the ListenerSet."""


@model
class ListenerSetSpec:
    """A Gateway, and the listeners that are added to it."""

    parent_ref: ParentGatewayReference
    listeners: tuple[Listener, ...] = Field(min_length=1, max_length=64)
    _names = NAMES_ARE_UNIQUE
    _places = LISTENERS_ARE_UNIQUE


@model
class ListenerSet:
    """Additional listeners of a Gateway."""

    metadata: ObjectMeta
    spec: ListenerSetSpec

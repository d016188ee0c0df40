"""ListenerSet: listeners that are added to a Gateway by somebody else (GEP-1713).

Its listeners have the fields of a Gateway's. Whether the Gateway takes them is for the rules.
"""

from pydantic import Field

from crds.fields import Label
from crds.gateway.gateway import LISTENERS_ARE_TOLD_APART, NAMES_ARE_UNIQUE, Listener
from crds.gateway.references import GROUP, Group, KindName, ObjectName
from crds.meta import ObjectMeta, model


@model
class ParentGatewayReference:
    """The Gateway that the listeners are for."""

    group: Group = GROUP
    kind: KindName = "Gateway"
    name: ObjectName
    namespace: Label | None = None
    """The set's own, if absent."""


@model
class ListenerSetSpec:
    """A Gateway, and the listeners it is to have."""

    parent_ref: ParentGatewayReference
    listeners: tuple[Listener, ...] = Field(min_length=1, max_length=64)
    _names = NAMES_ARE_UNIQUE
    _places = LISTENERS_ARE_TOLD_APART


@model
class ListenerSet:
    """More places where traffic enters a Gateway."""

    metadata: ObjectMeta
    spec: ListenerSetSpec

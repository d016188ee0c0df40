"""ReferenceGrant: which objects of other namespaces may refer to objects of its namespace."""

from pydantic import Field

from crds.fields import Label
from crds.gateway.references import Group, KindName, ObjectName
from crds.meta import ObjectMeta, model


@model
class ReferenceGrantFrom:
    """The objects of one kind in one namespace that may refer."""

    group: Group
    """The API group of the objects that may refer."""
    kind: KindName
    """The kind of the objects that may refer, such as HTTPRoute."""
    namespace: Label
    """The namespace of the objects that may refer."""


@model
class ReferenceGrantTo:
    """The objects that may be referred to."""

    group: Group
    """The API group of the objects that may be referred to; empty for Services and Secrets."""
    kind: KindName
    """The kind of the objects that may be referred to, such as Service."""
    name: ObjectName | None = None
    """If absent, all objects of the kind."""


@model
class ReferenceGrantSpec:
    """Each of `from` may refer to each of `to`."""

    from_: tuple[ReferenceGrantFrom, ...] = Field(
        validation_alias="from", min_length=1, max_length=16
    )
    to: tuple[ReferenceGrantTo, ...] = Field(min_length=1, max_length=16)


@model
class ReferenceGrant:
    """Permission for references into the grant's namespace."""

    metadata: ObjectMeta
    spec: ReferenceGrantSpec

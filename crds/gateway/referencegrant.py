"""ReferenceGrant: who may refer to objects of the grant's namespace from another one."""

from pydantic import Field

from crds.fields import Label
from crds.gateway.references import Group, KindName, ObjectName
from crds.meta import ObjectMeta, model


@model
class ReferenceGrantFrom:
    """Objects of one kind in one namespace, which may refer."""

    group: Group
    kind: KindName
    namespace: Label


@model
class ReferenceGrantTo:
    """Objects that may be referred to."""

    group: Group
    kind: KindName
    name: ObjectName | None = None
    """Every object of the kind, if absent."""


@model
class ReferenceGrantSpec:
    """Each of `from` may refer to each of `to`."""

    from_: tuple[ReferenceGrantFrom, ...] = Field(
        validation_alias="from", min_length=1, max_length=16
    )
    to: tuple[ReferenceGrantTo, ...] = Field(min_length=1, max_length=16)


@model
class ReferenceGrant:
    """Permission for references into the namespace it is in."""

    metadata: ObjectMeta
    spec: ReferenceGrantSpec

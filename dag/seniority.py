"""Who comes first where only one can win: the older object, then the one whose name sorts first.

Objects from files have no age: they order by namespace and name alone, before those that have
one.
"""

from typing import NamedTuple

from crds.meta import NamespacedName, ObjectMeta


class Senior(NamedTuple):
    """An object's place in the order of precedence; less is first."""

    created: float
    """Seconds since the epoch; 0 where the object does not say."""
    key: NamespacedName


def senior(metadata: ObjectMeta) -> Senior:
    """The place of the object that has this metadata."""
    created = metadata.creation_timestamp
    return Senior(created.timestamp() if created else 0.0, metadata.key)

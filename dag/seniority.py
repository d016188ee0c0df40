"""Precedence where only one object can win: the older one, then the one whose name sorts first.

Names sort as one text with the namespace, `namespace/name`: `a-b/x` is before `a/x`. Objects from
files have no age: they sort by this text alone, before those that have an age.
"""

from typing import NamedTuple

from crds.meta import NamespacedName, ObjectMeta


class Senior(NamedTuple):
    """An object's place in the order of precedence; less is first."""

    created: float
    """Seconds since the epoch; 0 where the object does not say."""
    text: str
    """The key as it is written."""
    key: NamespacedName


def senior(metadata: ObjectMeta) -> Senior:
    """The place of the object that has this metadata."""
    created = metadata.creation_timestamp
    return of(metadata.key, created.timestamp() if created else 0.0)


def of(key: NamespacedName, created: float = 0.0) -> Senior:
    """The place of an object that was created then."""
    return Senior(created, str(key), key)

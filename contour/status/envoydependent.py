"""Statuses that a new leader holds back, because they depend on Envoys that have not reported yet.

A leader gets the reports about their Envoys from the other replicas, which takes a moment after its
election. Until then it must not revoke statuses that its predecessor wrote because of such reports:
that a Gateway or ListenerSet is programmed, or that Envoy refuses a version of an object. All other
statuses are written at once, such as those of objects that users changed while there was no leader.
"""

from contour.status import merging
from contour.status.merging import Author, Stored
from crds.meta import ObjectRef

_DEPEND = frozenset({"Gateway", "ListenerSet"})
"""Kinds whose status depends on Envoys, whatever the generation."""
_SPEAK_OF_ENVOYS = frozenset({"ContourConfiguration"})
"""Kinds whose warnings may be about Envoys."""
_AS_IF_REFUSED = frozenset(
    {
        ("Valid", "False"),
        ("PartiallyInvalid", "True"),
        ("Programmed", "False"),
        ("CacheOutOfSync", "True"),
    }
)
"""Conditions that an object has if Envoy refuses a part of it (`dag.refusals`)."""


def depends_on_envoys(subject: ObjectRef, stored: Stored, generation: int, author: Author) -> bool:
    """Whether Envoys that have not reported yet may be the reason for the stored status.

    A status of an older generation is outdated, whatever the reason.
    """
    if subject.kind in _DEPEND:
        return True
    if merging.newest_generation(stored, author) != generation:
        return False
    return subject.kind in _SPEAK_OF_ENVOYS or any(
        (it.get("type"), it.get("status")) in _AS_IF_REFUSED
        for it in merging.own_conditions(stored, author)
    )

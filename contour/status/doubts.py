"""What a new leader does not tell yet: what depends on Envoys of which it has not heard.

A leader learns from the other replicas what their Envoys say, and that takes a moment after it has
come to lead. Until then it must not take back what its predecessor said for such a reason: that a
Gateway is programmed, or that Envoy refuses a version of an object. Everything else is told at
once, such as what users changed while nobody led.
"""

from contour.status import merging
from contour.status.merging import Stored, Voice
from crds.meta import ObjectRef

_DEPEND = frozenset({"Gateway"})
"""Kinds whose status says what Envoys have, of whatever version."""
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
"""Conditions that an object has when Envoy refuses something of it (`dag.refusals`)."""


def depends_on_envoys(subject: ObjectRef, stored: Stored, generation: int, voice: Voice) -> bool:
    """Whether Envoys that are yet to be heard may be the reason for what stands there.

    What was told of an older generation is outdated, whatever the reason.
    """
    if subject.kind in _DEPEND:
        return True
    if merging.newest_generation(stored, voice) != generation:
        return False
    return subject.kind in _SPEAK_OF_ENVOYS or any(
        (it.get("type"), it.get("status")) in _AS_IF_REFUSED
        for it in merging.own_conditions(stored, voice)
    )

"""What the author of an object of any kind can be told, whatever the rules of its kind find.

One constructor per thing. In the status of an HTTPProxy these are sub-conditions; on objects of the
Gateway API warnings stand in the message of `Accepted`, errors in a condition of their type.
Elsewhere: where in which object (`places`), how they join a status (`dag.asides`).
"""

from crds.meta import ObjectRef
from dag.problems import Problem


def unknown_field(subject: ObjectRef, text: str) -> Problem:
    """A field that this release does not know: that of a newer one, or a typing error."""
    return Problem(subject, "SpecError", "UnknownField", text, "warning")

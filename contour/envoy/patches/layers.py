"""What is served if Envoy refuses a patched resource: the same without the last policy.

So each part of a patched resource is a stack: each layer names the part that replaces it. Only the
status of its policy shows the refusal, because nothing else is lost.
"""

from collections.abc import Iterable

from contour.envoy.patches.applying import Layer
from contour.xds import resources
from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag.problems.patches import KIND


def stacked(plain: resources.Part, layers: Iterable[Layer]) -> resources.Part:
    """A part after all policies; `plain` is the part without them."""
    found = plain
    for it in layers:
        if it.body != found.body:
            upper = replace(found, body=it.body, digest=resources.digest(it.body))
            found = layered(upper, it.policy, found)
    return found


def layered(
    upper: resources.Part, policy: NamespacedName, below: resources.Part | None
) -> resources.Part:
    """A part after one policy, which falls back to the part before it."""
    return replace(upper, origins=(ObjectRef(KIND, *policy),), without=below)

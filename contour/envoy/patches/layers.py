"""What is served where Envoy refuses what a patch makes: the same without the last policy.

So the parts of a patched resource are a stack: each says what stands in for it. Only its policy is
told that it is refused, for nobody else loses anything by that.
"""

from collections.abc import Iterable

from contour.envoy.patches.applying import Layer
from contour.xds import resources
from crds.meta import NamespacedName, ObjectRef
from crds.records import replace
from dag.problems.patches import KIND


def stacked(plain: resources.Part, layers: Iterable[Layer]) -> resources.Part:
    """A part as all policies want it; `plain` is as it is without them."""
    found = plain
    for it in layers:
        if it.body != found.body:
            upper = replace(found, body=it.body, digest=resources.digest(it.body))
            found = layered(upper, it.policy, found)
    return found


def layered(
    upper: resources.Part, policy: NamespacedName, below: resources.Part | None
) -> resources.Part:
    """A part as a policy wants it, over what it was before."""
    return replace(upper, origins=(ObjectRef(KIND, *policy),), without=below)

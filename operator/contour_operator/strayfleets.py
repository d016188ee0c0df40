"""Fleets that an instance has made for Gateways in namespaces where it no longer may.

An instance whose watched namespaces change is restarted and has its rights only in the new ones, so
the operator removes the fleets that it has made elsewhere. In mode `Single` it has no such rights
at all; it removes its fleets itself, but one that was restarted meanwhile would not.
"""

from collections.abc import Iterable, Sequence

from contour_operator import children, desired, removal
from crds import raw
from crds.contourconfiguration import ContourConfiguration
from crds.raw import Raw


def strays(every: Iterable[Raw], wanted: Iterable[Raw]) -> Sequence[Raw]:
    """The children that belong to fleets of Gateways in namespaces where no wanted binding grants
    the rights for them, in the order of removal."""
    bindings = [it for it in wanted if desired.is_for_fleets_of_gateways(it)]
    found = [
        it
        for it in every
        if it["kind"] in removal.FLEET
        and children.is_of_a_gateway(it)
        and not any(desired.gives_in(binding, _namespace(it)) for binding in bindings)
    ]
    return sorted(found, key=lambda it: removal.FLEET.index(str(it["kind"])))


def are_removed_by(binding: Raw, found: Iterable[Raw], configuration: ContourConfiguration) -> bool:
    """Whether the instance may be removing some of them, by the rights that a binding grants."""
    return desired.is_for_fleets_of_gateways(binding) and any(
        desired.gives_in(binding, _namespace(it)) and desired.watches(configuration, _namespace(it))
        for it in found
    )


def _namespace(child: Raw) -> str:
    return str(raw.at(child, "metadata", "namespace") or "")

"""What an instance has made for Gateways where it may do so no more.

One that watches other namespaces than before is started anew and has its rights in these alone, so
the fleets that it has made elsewhere are the operator's to remove. In mode `Single` it has no such
rights at all; it removes its fleets itself, which one that was started meanwhile would not do.
"""

from collections.abc import Iterable, Sequence

from contour_operator import desired, removal
from crds import raw
from crds.contourconfiguration import ContourConfiguration
from crds.raw import Raw
from provisioning.keeping import ownership


def strays(
    every: Iterable[Raw], wanted: Iterable[Raw], configuration: ContourConfiguration
) -> Sequence[Raw]:
    """Of all children those of fleets of Gateways in namespaces where no binding that is wanted
    gives the rights to them, first what clients come in by."""
    if desired.has_handed_over_fleets(configuration):
        return ()
    bindings = [it for it in wanted if desired.is_for_fleets_of_gateways(it)]
    found = [
        it
        for it in every
        if _is_of_a_gateway(it)
        and not any(desired.gives_in(binding, _namespace(it)) for binding in bindings)
    ]
    return sorted(found, key=lambda it: removal.FLEET.index(str(it["kind"])))


def are_removed_by(binding: Raw, found: Iterable[Raw], configuration: ContourConfiguration) -> bool:
    """Whether the instance may be removing some of them, by the rights that a binding gives."""
    return desired.is_for_fleets_of_gateways(binding) and any(
        desired.gives_in(binding, _namespace(it)) and desired.watches(configuration, _namespace(it))
        for it in found
    )


def _is_of_a_gateway(child: Raw) -> bool:
    labels = raw.mapping(raw.at(child, "metadata", "labels"))
    return ownership.GATEWAY in labels and child["kind"] in removal.FLEET


def _namespace(child: Raw) -> str:
    return str(raw.at(child, "metadata", "namespace") or "")

"""Everything that the author of an ExtensionService can be told, in upstream's words.

One constructor per thing. Elsewhere: where in which object (`places`).
"""

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place

KIND = "ExtensionService"


def spec(extension: NamespacedName) -> Place:
    """The specification of an ExtensionService."""
    return Place(ObjectRef(KIND, *extension))


def not_valid(place: Place, reason: str, text: str) -> Problem:
    """A policy without which the service is not asked."""
    is_certificate = reason == "CACertificateNotDelegated"
    return place.error("TLSError" if is_certificate else "SpecError", reason, text)


def service_unresolved(place: Place, reason: str, why: str) -> Problem:
    """A Service that cannot be asked."""
    return place.error("ServiceError", reason, why)


def endpoints_left_out(place: Place, why: str) -> Problem:
    """The Service has endpoints at addresses that cannot be served."""
    return place.warning("ServiceError", "EndpointsLeftOut", why)


def ignored_field(place: Place) -> Problem:
    """A field that changes nothing here."""
    return place.warning("SpecError", "IgnoredField", "has no effect on an ExtensionService")

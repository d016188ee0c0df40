"""Problems of ExtensionServices, in upstream's words."""

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import Contour, ErrorType, Own
from dag.problems.shared import OfSecrets, error

KIND = "ExtensionService"


def spec(extension: NamespacedName) -> Place:
    """The specification of an ExtensionService."""
    return Place(ObjectRef(KIND, *extension))


timeout_not_valid = error(ErrorType.SpecError, Contour.TimeoutPolicyNotValid)
validation_without_tls = error(ErrorType.SpecError, Contour.InconsistentProtocol)
UPSTREAM = OfSecrets(
    error(ErrorType.SpecError, Contour.TLSUpstreamValidation),
    error(ErrorType.TLSError, Contour.CACertificateNotDelegated),
)
"""A service whose certificate cannot be checked, so it is not called."""

service_unresolved = error(ErrorType.ServiceError, Contour.ServiceUnresolvedReference)
"""A Service that cannot be called."""
client_certificate_not_valid = error(ErrorType.TLSError, Contour.SecretNotValid)
"""Envoy cannot show the client certificate of the configuration to the service."""
external_name = error(ErrorType.ServiceError, Contour.UnsupportedServiceType)
"""A Service of type ExternalName."""


def endpoints_left_out(place: Place, why: str) -> Problem:
    """The Service has endpoints at addresses that cannot be served."""
    return place.warning(ErrorType.ServiceError, Own.EndpointsLeftOut, why)


def ignored_field(place: Place) -> Problem:
    """A field that changes nothing here."""
    text = "has no effect on an ExtensionService"
    return place.warning(ErrorType.SpecError, Contour.IgnoredField, text)

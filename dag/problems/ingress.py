"""Problems of Ingresses.

Upstream Contour only logs these; here they have types and reasons like those of HTTPProxy. There is
one constructor for each problem. Elsewhere: the places of problems (`places`).
"""

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import Contour, ErrorType, Own
from dag.problems.shared import OfSecrets, error

KIND = "Ingress"


def spec(ingress: NamespacedName) -> Place:
    """The specification of an Ingress."""
    return Place(ObjectRef(KIND, *ingress))


def annotation(ingress: NamespacedName, name: str) -> Place:
    """An annotation of an Ingress."""
    return Place(ObjectRef(KIND, *ingress), f"metadata.annotations[{name}]")


def ignored(place: Place, why: str) -> Problem:
    """An annotation or a field that changes nothing."""
    return place.warning(ErrorType.SpecError, Contour.IgnoredField, f"{why}; it has no effect")


def path_not_valid(place: Place, path: str, why: str) -> Problem:
    """A path that cannot be served."""
    return place.error(ErrorType.PathError, Own.PathNotValid, f"{path!r} {why}")


def duplicate_path(place: Place, host: str, owner: ObjectRef) -> Problem:
    """A path of a host that belongs to another Ingress, or was written twice."""
    text = f"the same path of host {host} belongs to {owner}, which takes precedence"
    return place.error(ErrorType.PathError, Own.DuplicatePath, text)


def resource_not_supported(place: Place) -> Problem:
    """A backend that is no Service."""
    text = "only Services are served; the path is answered with 503"
    return place.error(ErrorType.BackendError, Own.UnsupportedBackend, text)


def backend_unresolved(place: Place, why: str) -> Problem:
    """A Service that cannot take traffic."""
    text = f"{why}; the path is answered with 503"
    return place.error(ErrorType.BackendError, Contour.ServiceUnresolvedReference, text)


def unauthorized(spec: Place, why: str) -> Problem:
    """The authorization service of the configuration cannot be asked, so every host is closed."""
    text = f"{why}; every path is answered with 503"
    return spec.error(ErrorType.AuthError, Contour.ExtensionServiceNotFound, text)


def client_certificate_not_valid(place: Place, why: str) -> Problem:
    """A Service to which Envoy cannot show the client certificate of the configuration."""
    return place.error(ErrorType.TLSError, Contour.SecretNotValid, why)


def protocol_not_known(place: Place, why: str) -> Problem:
    """The Service says of its port that it speaks what is not known here."""
    return place.warning(ErrorType.SpecError, Contour.IgnoredField, why)


def endpoints_left_out(place: Place, why: str) -> Problem:
    """The Service has endpoints at addresses that cannot be served."""
    return place.warning(ErrorType.ServiceError, Own.EndpointsLeftOut, why)


_NOT_OVER_TLS = "; its hosts are not served over TLS"
SECRET = OfSecrets(
    error(ErrorType.TLSError, Contour.SecretNotValid, _NOT_OVER_TLS),
    error(ErrorType.TLSError, Contour.DelegationNotPermitted, _NOT_OVER_TLS),
)
"""The certificate of some hosts."""
tls_config_not_valid = error(ErrorType.TLSError, Contour.TLSConfigNotValid, _NOT_OVER_TLS)
"""Versions of TLS that leave none."""


def other_secret(place: Place, host: str, secret: NamespacedName, owner: ObjectRef) -> Problem:
    """A host that is served with the Secret of another Ingress."""
    text = f"host {host} is served with Secret {secret} of {owner}, which takes precedence"
    return place.error(ErrorType.TLSError, Own.DuplicateHost, text)


def other_versions(place: Place, host: str, versions: str, owner: ObjectRef) -> Problem:
    """A host that is served with the TLS versions of another Ingress."""
    text = f"host {host} is served over TLS {versions} as {owner} says, which takes precedence"
    return place.warning(ErrorType.SpecError, Contour.IgnoredField, text)

"""Everything that the author of an Ingress can be told.

Upstream Contour only logs these; here they have types and reasons like those of HTTPProxy. One
constructor per thing. Elsewhere: where in which object (`places`).
"""

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place

KIND = "Ingress"


def spec(ingress: NamespacedName) -> Place:
    """The specification of an Ingress."""
    return Place(ObjectRef(KIND, *ingress))


def annotation(ingress: NamespacedName, name: str) -> Place:
    """An annotation of an Ingress."""
    return Place(ObjectRef(KIND, *ingress), f"metadata.annotations[{name}]")


def ignored_annotation(place: Place, why: str) -> Problem:
    """An annotation that changes nothing."""
    return place.warning("SpecError", "IgnoredField", f"{why}; it has no effect")


def path_not_valid(place: Place, path: str, why: str) -> Problem:
    """A path that cannot be served."""
    return place.error("PathError", "PathNotValid", f"{path!r} {why}")


def duplicate_path(place: Place, host: str, owner: ObjectRef) -> Problem:
    """A path of a host that belongs to another Ingress, or was written twice."""
    text = f"the same path of host {host} belongs to {owner}, which takes precedence"
    return place.error("PathError", "DuplicatePath", text)


def resource_not_supported(place: Place) -> Problem:
    """A backend that is no Service."""
    text = "only Services are served; the path is answered with 503"
    return place.error("BackendError", "UnsupportedBackend", text)


def backend_unresolved(place: Place, why: str) -> Problem:
    """A Service that cannot take traffic."""
    text = f"{why}; the path is answered with 503"
    return place.error("BackendError", "ServiceUnresolvedReference", text)


def endpoints_left_out(place: Place, why: str) -> Problem:
    """The Service has endpoints at addresses that cannot be served."""
    return place.warning("ServiceError", "EndpointsLeftOut", why)


def secret_not_named(place: Place) -> Problem:
    """TLS without a Secret."""
    return place.error("TLSError", "SecretNotValid", "secretName is missing")


def secret_not_valid(place: Place, secret: NamespacedName, why: str) -> Problem:
    """A Secret that cannot serve."""
    text = f"Secret {secret} {why}; its hosts are not served over TLS"
    return place.error("TLSError", "SecretNotValid", text)


def delegation_not_permitted(place: Place, secret: NamespacedName) -> Problem:
    """A Secret of another namespace that was not delegated to this one."""
    namespace = place.subject.namespace
    text = f"Secret {secret} is not delegated to namespace {namespace}; not served over TLS"
    return place.error("TLSError", "DelegationNotPermitted", text)


def tls_config_not_valid(place: Place, text: str) -> Problem:
    """Versions of TLS that leave none."""
    return place.error("TLSError", "TLSConfigNotValid", f"{text}; not served over TLS")


def other_secret(place: Place, host: str, secret: NamespacedName, owner: ObjectRef) -> Problem:
    """A host that is served with the Secret of another Ingress."""
    text = f"host {host} is served with Secret {secret} of {owner}, which takes precedence"
    return place.error("TLSError", "DuplicateHost", text)

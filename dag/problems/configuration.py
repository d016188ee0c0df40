"""Problems of ContourConfigurations.

Upstream Contour has no status for it, so most reasons are ours.
"""

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import Contour, ErrorType, Own
from dag.problems.shared import OfAuthorization, error

KIND = "ContourConfiguration"


def spec(configuration: NamespacedName) -> Place:
    """The specification of a ContourConfiguration."""
    return Place(ObjectRef(KIND, *configuration))


invalid_value = error(ErrorType.SpecError, Own.InvalidValue)
"""An invalid value; the default is used in its place."""
unresolved = error(ErrorType.SpecError, Own.UnresolvedReference)
"""An object that is named but does not exist, or cannot be used."""
AUTHORIZATION = OfAuthorization(*[unresolved] * len(OfAuthorization._fields))


def several_configurations(place: Place, other: NamespacedName) -> Problem:
    """Several ContourConfigurations, of which none is chosen."""
    text = f"defaults hold while there are several ContourConfigurations; also {other}"
    return Problem(place.subject, ErrorType.SpecError, Own.SeveralConfigurations, text)


def unsupported_guard(place: Place) -> Problem:
    """A field that is to guard every host and is not served."""
    text = "is not served yet; until then every host is answered with 503"
    return place.error(ErrorType.SpecError, Own.UnsupportedField, text)


def ignored_field(place: Place, why: str) -> Problem:
    """A field without effect."""
    return place.warning(ErrorType.SpecError, Contour.IgnoredField, why)


def restart_needed(place: Place, where: str = "") -> Problem:
    """A field that takes effect when the process is started again."""
    return ignored_field(place, f"takes effect at the next start{where}")


def not_applied(place: Place, text: str) -> Problem:
    """A setting of the process itself that it could not apply."""
    return Problem(place.subject, ErrorType.SpecError, Own.NotApplied, text)


def extension_fails(place: Place, text: str) -> Problem:
    """An extension that does not answer as it should."""
    return place.error(ErrorType.ExtensionError, Own.NotAnswered, text)


def extension_remark(place: Place, text: str) -> Problem:
    """Parts of an extension's answers are not read, and the answers are taken."""
    return place.warning(ErrorType.ExtensionError, Own.AnswerNotRead, text)


def extension_kind_unread(place: Place, why: str) -> Problem:
    """A kind of an extension whose objects cannot be read: rules that refer to one are closed."""
    text = f"{why}; rules that refer to an object that is not known answer 500"
    return unresolved(place, text)


def left_alone(place: Place, text: str) -> Problem:
    """A namespace of EnvoyConfigs in which somebody else keeps revisions."""
    at = place.at("discovery").at("namespaces")
    return at.warning(ErrorType.SpecError, Own.NotApplied, f"nothing is written in {text}")


def no_listener(place: Place, protocol: str, gateway: NamespacedName | None, has: str) -> Problem:
    """Hosts of Ingress and HTTPProxy that the Gateway in charge leaves without a listener."""
    text = (
        f"hosts of Ingress and HTTPProxy are not served over {protocol}: "
        f"Gateway {gateway} decides the ports and has {has}"
    )
    at = place.at("envoy").at("externalPorts")
    return at.warning(ErrorType.ListenerError, Contour.ErrorIdentifyingListener, text)


def old_release(place: Place, who: str, built_for: str) -> Problem:
    """Envoys that are older than the release that this version is tested with."""
    text = (
        f"{who} older than {built_for}: this version of Contour is not tested with older releases;"
        " configuration that they are known not to load is left out for them"
    )
    return Problem(place.subject, ErrorType.EnvoyError, Own.OldRelease, text, "warning")


# The fleet of Envoys.


def fleet_not_provisioned(place: Place, text: str) -> Problem:
    """The fleet cannot be made; `place` is the field that it is about."""
    return place.error(ErrorType.FleetError, Own.NotProvisioned, text)


def certificate_not_made(place: Place, text: str) -> Problem:
    """The certificate of the gRPC applications of a namespace."""
    at = place.at("xdsServer").at("grpcClients").at("certificateNamespaces")
    return at.error(ErrorType.FleetError, Own.NotProvisioned, text)


def counter_not_provisioned(place: Place, text: str, is_error: bool) -> Problem:
    """The rate limit service for RateLimitFilters is not as it should be."""
    if is_error:
        return place.error(ErrorType.FleetError, Own.NotProvisioned, text)
    return place.warning(ErrorType.FleetError, Own.Progressing, text)


def counted_by_leader(place: Place) -> Problem:
    """A rate limit service without a Redis, which cannot be more than one process."""
    text = (
        "without `redis` the replica that leads counts, in memory: counts start again when another"
        " replica leads, and until Envoys know it requests are not counted"
    )
    return place.warning(ErrorType.FleetError, Own.CountedInMemory, text)


def gateways_without_fleet(place: Place) -> Problem:
    """Gateways for which neither this configuration nor that of their class asks for a fleet."""
    text = "is not set, so no fleet is made for Gateways whose class does not set it either"
    return (
        place.at("envoy")
        .at("networkPublishing")
        .warning(ErrorType.FleetError, Own.NotProvisioned, text)
    )


def fleet_waits(place: Place, text: str) -> Problem:
    """The fleet is not as it should be yet; `place` is the field that it is about."""
    return place.warning(ErrorType.FleetError, Own.Progressing, text)


def fleet_changed_by_others(place: Place, text: str) -> Problem:
    """Objects of the fleet that somebody else writes too; `place` is the field that it is about."""
    return place.warning(ErrorType.FleetError, Own.ChangedByOthers, text)

"""Problems of objects of any kind, in addition to those that the rules of the kind find.

One constructor per thing. In the status of an HTTPProxy these are sub-conditions; on objects of the
Gateway API warnings are in the message of `Accepted`, errors in a condition of their type.
Elsewhere: the places of problems (`places`), how these join a status (`dag.warnings.anykind`).
"""

from collections.abc import Iterable

from crds.meta import NamespacedName, ObjectRef
from dag.problems import Problem
from dag.problems.places import Place
from dag.problems.reasons import ConditionType, Contour, ErrorType, Own


def unknown_field(subject: ObjectRef, text: str) -> Problem:
    """A field that this release does not know: that of a newer one, or a typing error."""
    return Problem(subject, ErrorType.SpecError, Own.UnknownField, text, "warning")


GUARD = ConditionType.UnservedGuard
"""The condition of objects of the Gateway API for errors of this module."""


def annotation(subject: ObjectRef, name: str, service: NamespacedName | None = None) -> Place:
    """An annotation of an object, or of a Service that it leads to: a Service has no status."""
    where = f"Service {service}: " if service is not None else ""
    return Place(subject, f"{where}metadata.annotations[{name}]")


STANDS_FOR_NO_HEADER = "'*' stands for no header where credentials are allowed"
"""Why a `*` among the exposed headers has no effect."""


def foreign_guard(place: Place, project: str, instead: str, *, is_closed: bool) -> Problem:
    """An annotation of another controller that is to guard something."""
    effect = "so what it guards is closed" if is_closed else "so what it guards is open"
    text = f"belongs to {project} and guards nothing here, {effect}{_use(instead)}"
    return place.error(ErrorType.SpecError, Own.ForeignGuard, text)


def foreign_annotation(place: Place, project: str, instead: str) -> Problem:
    """An annotation of another controller that changes what is answered."""
    text = f"belongs to {project} and has no effect here{_use(instead)}"
    return place.warning(ErrorType.SpecError, Own.ForeignAnnotation, text)


def foreign_tuning(subject: ObjectRef, names: Iterable[str]) -> Problem:
    """Annotations of other controllers without which nothing is missing."""
    place = Place(subject, "metadata.annotations")
    text = f"have no effect here, and need none: {', '.join(names)}"
    return place.warning(ErrorType.SpecError, Own.ForeignAnnotation, text)


def unknown_annotation(place: Place, near: str) -> Problem:
    """An annotation under our prefix that is not read on this kind."""
    text = "is not known on this kind and has no effect"
    return place.warning(
        ErrorType.SpecError,
        Own.UnknownAnnotation,
        f"{text}; did you mean {near}?" if near else text,
    )


def ignored(place: Place, why: str) -> Problem:
    """An annotation of ours, on a Service, whose value changes nothing."""
    return place.warning(ErrorType.SpecError, Contour.IgnoredField, f"{why}; it has no effect")


def local_addresses(place: Place, why: str) -> Problem:
    """Addresses of this machine, on a Service, that get no traffic."""
    return place.warning(ErrorType.SpecError, Own.LocalAddresses, why)


def certificate(place: Place, ref: ObjectRef, phase: str, moment: str) -> Problem:
    """A certificate that is not valid yet, has expired, or expires soon."""
    reason, text = _OF_CERTIFICATES[phase]
    return place.warning(ErrorType.TLSError, reason, f"the certificate of {ref} {text} {moment}")


_OF_CERTIFICATES = {
    "early": (Own.CertificateNotYetValid, "is not valid before"),
    "ending": (Own.CertificateExpiring, "expires on"),
    "ended": (Own.CertificateExpired, "expired on"),
}
"""Reason and words, by phase (`dag.warnings.validity`)."""


def _use(instead: str) -> str:
    return f"; use {instead}" if instead else ""


def left_out(subject: ObjectRef, what: str, who: str, since: str) -> Problem:
    """Some Envoys are too old for a part of the object, and get the rest; `who`:
    `1 of 7 Envoys (…)`."""
    text = f"{what}: left out on {who}, which cannot load it: it needs Envoy {since}"
    return Problem(subject, ErrorType.EnvoyError, Own.NotOnEveryEnvoy, text, "warning")


def refused(subject: ObjectRef, who: str, words: str) -> Problem:
    """Envoy refuses something of it, in these words; `who`: `1 of 7 Envoys (…)`, if not all do."""
    text = _refused("it", who)
    return Problem(subject, ErrorType.EnvoyError, Own.Refused, f"{text}: {words}")


def certificate_refused(place: Place, ref: ObjectRef, who: str, words: str) -> Problem:
    """Envoy refuses a certificate, or authorities, that a field of the object leads to, or a filter
    chain with them."""
    text = _refused(f"TLS settings with {ref}", who)
    return place.error(ErrorType.EnvoyError, Own.Refused, f"{text}: {words}")


def _refused(what: str, who: str) -> str:
    if not who:
        return f"Envoy refuses {what}; the last version that it accepted, if any, is still served"
    verbs = ("refuses", "has") if who.startswith("1 ") else ("refuse", "have")
    return f"{who} {verbs[0]} {what} and still {verbs[1]} the last accepted version"


def declined(subject: ObjectRef, who: str, words: str) -> Problem:
    """gRPC clients or servers refuse a part of the object, in these words."""
    text = f"{who} refuse it and keep the last version that they accepted: {words}"
    return Problem(subject, ErrorType.EnvoyError, Own.Refused, text)


def unfinished(subject: ObjectRef, words: str) -> Problem:
    """Extensions have not answered for hosts of the object, or not usably."""
    return Problem(subject, ErrorType.ExtensionError, Own.NotAnswered, words)


def version_refused(subject: ObjectRef, why: str) -> Problem:
    """The newest version of the object cannot be used."""
    text = f"the newest version is not valid; the last valid one is still served: {why}"
    return Problem(subject, ErrorType.SpecError, Own.Refused, text)

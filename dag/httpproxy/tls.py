"""How a root's host is served over TLS: the Secret, and the versions that clients may speak.

Source: HTTPProxy reference, "TLS". A host whose TLS cannot be served is not served over TLS at
all; what plain HTTP then does is told in `expansion`.
"""

from typing import cast

from crds import virtualhost as crd
from crds.meta import NamespacedName
from dag import configuration, delegation, nodes, secrets, settings
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place, Refused
from dag.view import View


def termination(view: View, place: Place, tls: crd.TLS) -> Findings[nodes.Tls | None]:
    """The TLS of the host; None if there is none, because its author is told why."""
    try:
        if tls.passthrough and tls.secret_name:
            text = "passthrough and secretName cannot both be set"
            raise Refused(problems.tls_config_not_valid(place, text))
        if tls.passthrough:
            return None  # told as a field that is not served yet
        minimum = yield from _version(
            place.at("minimumProtocolVersion"), tls.minimum_protocol_version
        )
        maximum = yield from _version(
            place.at("maximumProtocolVersion"), tls.maximum_protocol_version
        )
        limits = _within(view, place, minimum or "1.2", maximum or "1.3")
        return nodes.Tls(_secret(view, place.at("secretName"), tls.secret_name), *limits)
    except Refused as refused:
        yield refused.problem
        return None


def _version(place: Place, text: str) -> Findings[configuration.TlsVersion | None]:
    if text in ("1.2", "1.3"):
        return cast(configuration.TlsVersion, text)
    if text:
        yield problems.ignored_field(place, f"{text!r} is not 1.2 or 1.3 and has no effect")
    return None


def _within(
    view: View, place: Place, minimum: configuration.TlsVersion, maximum: configuration.TlsVersion
) -> tuple[configuration.TlsVersion, configuration.TlsVersion]:
    """What the host and the configuration both allow."""
    everywhere = view.ask(settings.tls_versions, ())
    lowest, highest = max(minimum, everywhere.minimum), min(maximum, everywhere.maximum)
    if lowest > highest:
        text = f"no version of TLS is left between {lowest} and {highest}"
        raise Refused(problems.tls_config_not_valid(place, text))
    return lowest, highest


def _secret(view: View, place: Place, written: str) -> NamespacedName:
    name = _reference(place, written)
    if not delegation.is_permitted(view, delegation.Use(name, place.subject.namespace)):
        raise Refused(problems.delegation_not_permitted(place, name))
    if refusal := view.ask(secrets.refusal, name):
        raise Refused(problems.secret_not_valid(place, name, refusal))
    return name


def _reference(place: Place, written: str) -> NamespacedName:
    match written.split("/"):
        case [""]:
            text = "one of secretName and passthrough must be set"
            raise Refused(problems.tls_config_not_valid(place, text))
        case [name]:
            return NamespacedName(place.subject.namespace, name)
        case [namespace, name] if namespace and name:
            return NamespacedName(namespace, name)
        case _:
            raise Refused(problems.secret_name_not_valid(place, written))

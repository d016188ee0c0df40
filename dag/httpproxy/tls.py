"""How a root's host is served over TLS: the Secret, the versions, the certificates of clients.

Source: HTTPProxy reference, "TLS". A host whose TLS cannot be served is not served over TLS at
all, and its connections are closed if they are those of a `tcpproxy`; what plain HTTP then does is
told in `schemes`.
"""

from crds import virtualhost as crd
from crds.httpproxy import HTTPProxy
from crds.meta import NamespacedName
from dag import nodes
from dag.configuration import settings
from dag.engine.view import View
from dag.httpproxy import clients, streamguards
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place
from dag.references import delegation, secrets


def termination(view: View, place: Place, root: HTTPProxy) -> Findings[nodes.Tls | None]:
    """How TLS is terminated; None if it is not, or cannot be, after yielding why.

    Refused if the check of client certificates cannot be served.
    """
    tls = root.spec.virtualhost.tls if root.spec.virtualhost is not None else None
    if tls is None:
        return None
    try:
        if tls.passthrough:
            _check_passthrough(place, tls, root)
            return None
        minimum = yield from _version(
            place.at("minimumProtocolVersion"), tls.minimum_protocol_version
        )
        maximum = yield from _version(
            place.at("maximumProtocolVersion"), tls.maximum_protocol_version
        )
        limits = _within(view, place, minimum or "1.2", maximum or "1.3")
        secret = _secret(view, place.at("secretName"), tls.secret_name)
        at = place.at("clientValidation")
        asked = yield from clients.validation(view, at, tls.client_validation)
        return nodes.Tls(secret, *limits, clients=asked)
    except Refused as refused:
        if refused.problem.closes:
            raise
        yield refused.problem
        return None


def secure_host(
    place: Place,
    root: HTTPProxy,
    termination: nodes.Tls | None,
    stream: nodes.Stream | None,
) -> nodes.SecureHost | None:
    """What happens to the connections of the host; None if TLS is not served."""
    tls = root.spec.virtualhost.tls if root.spec.virtualhost is not None else None
    is_passed_through = tls is not None and tls.passthrough and not tls.secret_name
    if root.spec.tcpproxy is not None:
        is_served = stream is not None and (termination is not None or is_passed_through)
        return nodes.SecureHost(termination, (place.subject,), stream) if is_served else None
    return nodes.SecureHost(termination, (place.subject,)) if termination is not None else None


def unserved(place: Place, root: HTTPProxy) -> nodes.SecureHost | None:
    """What closes the connections of a host whose `tcpproxy` cannot be served, or whose clients
    have to show certificates: no wider host and no Ingress may take them. None for other hosts, of
    whose requests `dag.hosts` takes care."""
    tls = root.spec.virtualhost.tls if root.spec.virtualhost is not None else None
    is_checked = tls is not None and tls.client_validation is not None
    if root.spec.tcpproxy is None and not is_checked:
        return None
    return nodes.SecureHost(None, (place.subject,), streamguards.CLOSED)


def _check_passthrough(place: Place, tls: crd.TLS, root: HTTPProxy) -> None:
    if tls.secret_name:
        text = "passthrough and secretName cannot both be set"
        raise Refused(problems.tls_config_not_valid(place, text))
    if tls.client_validation is not None or tls.enable_fallback_certificate:
        text = "passthrough leaves TLS to the backend, with clientValidation and fallback"
        raise Refused(problems.passthrough_incompatible(place, text))
    if root.spec.tcpproxy is None:
        text = "passthrough needs a tcpproxy that takes the connections"
        raise Refused(problems.tls_config_not_valid(place, text))


def _version(place: Place, text: str) -> Findings[nodes.TlsVersion | None]:
    known = nodes.TLS_VERSIONS
    if text in known:
        return known[known.index(text)]
    if text:
        yield problems.ignored_field(place, f"{text!r} is not 1.2 or 1.3 and has no effect")
    return None


def _within(
    view: View, place: Place, minimum: nodes.TlsVersion, maximum: nodes.TlsVersion
) -> tuple[nodes.TlsVersion, nodes.TlsVersion]:
    """The TLS versions that both the host and the configuration allow."""
    everywhere = view.ask(settings.tls_versions, ())
    lowest: nodes.TlsVersion = max(minimum, everywhere.minimum)
    highest: nodes.TlsVersion = min(maximum, everywhere.maximum)
    if lowest > highest:
        text = f"no version of TLS is left between {lowest} and {highest}"
        raise Refused(problems.tls_config_not_valid(place, text))
    return lowest, highest


def _secret(view: View, place: Place, written: str) -> NamespacedName:
    if not written:
        text = "one of secretName and passthrough must be set"
        raise Refused(problems.tls_config_not_valid(place, text))
    name = delegation.secret(view, place, written, problems.SECRET)
    if refusal := view.ask(secrets.refusal, name):
        raise Refused(problems.SECRET.not_valid(place, refusal.message))
    return name

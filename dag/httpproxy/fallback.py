"""Whether a host also serves TLS clients that send no server name, with the fallback certificate.

Guards that identify clients are incompatible with it, for such connections pass none of them.
Source: Contour documentation, "Fallback Certificate".
"""

from crds.virtualhost import VirtualHost
from dag.configuration import settings
from dag.engine.view import View
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place
from dag.references import delegation, secrets


def is_fallback(view: View, place: Place, host: VirtualHost, *, is_stream: bool) -> Findings[bool]:
    """Whether it does; if not, though it is wanted, its author is told why."""
    if host.tls is None or not host.tls.enable_fallback_certificate:
        return False
    at = place.at("tls").at("enableFallbackCertificate")
    if is_stream:
        text = "has no effect: without a server name, connections find no tcpproxy"
        yield problems.ignored_field(at, text)
        return False
    if host.tls.client_validation or host.authorization or host.jwt_providers:
        text = "clients without a server name pass no clientValidation, authorization or JWT"
        yield problems.fallback_incompatible(at, text)
        return False
    secret = view.ask(settings.fallback_certificate, ())
    if secret is None:
        text = "the configuration names no fallback certificate"
        yield problems.fallback_not_present(at, text)
        return False
    if not delegation.is_permitted(view, delegation.Use(secret, place.subject.namespace)):
        text = delegation.refusal(secret, place.subject.namespace)
        yield problems.fallback_not_delegated(at, text)
        return False
    if refusal := view.ask(secrets.refusal, secret):
        yield problems.fallback_not_valid(at, refusal.message)
        return False
    return True

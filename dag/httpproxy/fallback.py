"""Whether a host also serves TLS clients that send no server name, with the fallback certificate.

Guards that identify clients are incompatible with it, for such connections pass none of them. No
such connection reaches a host while the host `*` forwards them unread.
Source: Contour documentation, "Fallback Certificate".
"""

from collections.abc import Iterable, Iterator

from crds.virtualhost import VirtualHost
from dag import entrypoints
from dag.configuration import settings
from dag.engine.view import View
from dag.problems import Problem
from dag.problems import httpproxy as problems
from dag.problems.places import Findings, Place
from dag.references import delegation, secrets
from dag.values import hostnames


def is_fallback(view: View, place: Place, host: VirtualHost, *, is_stream: bool) -> Findings[bool]:
    """Whether it does; if not, though it is wanted, its author is told why."""
    if host.tls is None or not host.tls.enable_fallback_certificate:
        return False
    at = _field(place)
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


def hidden(view: View, place: Place, fqdns: Iterable[str]) -> Iterator[Problem]:
    """Why hosts that serve such clients get none of them. For the status alone: the claims of
    hosts decide what `*` does, and `dag.hosts` what Gateways do."""
    if view.ask(entrypoints.forwards_unread, hostnames.EVERY):
        text = "has no effect: connections without a server name are those of the host '*', unread"
        yield problems.ignored_field(_field(place), text)
    for fqdn in fqdns:
        if view.ask(entrypoints.gateway_tls, fqdn) is not None:
            text = f"has no effect for {fqdn}, where a Gateway terminates TLS"
            yield problems.ignored_field(_field(place), text)


def _field(place: Place) -> Place:
    return place.at("tls").at("enableFallbackCertificate")

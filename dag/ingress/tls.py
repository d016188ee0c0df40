"""How the hosts of an Ingress are served over TLS.

A Secret of another namespace, which an annotation names, must be delegated to that of the Ingress.
An entry that cannot be used does not change plain HTTP; over TLS no wider host takes what is meant
for its hosts (`dag.hosts`). Source: Ingress documentation, "TLS".
Elsewhere: who wins where several Ingresses bring a Secret for one host (`claims`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.ingress import Ingress, IngressTLS
from crds.meta import NamespacedName
from dag import nodes
from dag.configuration import reading, settings
from dag.engine.view import View
from dag.ingress import annotations
from dag.problems import Problem, Refused
from dag.problems import ingress as problems
from dag.problems.places import Findings, Place
from dag.references import delegation, secrets


class Termination(NamedTuple):
    """How TLS is terminated for a host of an Ingress."""

    host: str
    tls: nodes.Tls | None
    """None: it cannot be terminated, though the Ingress asks for it."""
    place: Place


def terminations(view: View, ingress: Ingress) -> Iterator[Termination | Problem]:
    """The TLS of every host that asks for any."""
    if not ingress.spec.tls:
        return
    spec = problems.spec(ingress.metadata.key)
    versions: reading.TlsVersions | None = None
    try:
        versions = yield from _versions(view, spec, ingress)
    except Refused as refused:
        yield refused.problem
    for index, entry in enumerate(ingress.spec.tls):
        place, tls = spec.at("tls", index), None
        try:
            if versions is not None:
                tls = nodes.Tls(_secret(view, place, ingress, entry), *versions)
        except Refused as refused:
            yield refused.problem
        yield from (Termination(host.lower(), tls, place) for host in entry.hosts)


def ineffective(ingress: Ingress) -> Iterator[Problem]:
    """Warnings of entries, and of their hosts, that are those of no rule."""
    spec = problems.spec(ingress.metadata.key)
    ruled = {it.host.lower() for it in ingress.spec.rules if it.host}
    for index, entry in enumerate(ingress.spec.tls):
        place = spec.at("tls", index)
        if not entry.hosts:
            yield problems.ignored(place, "names no hosts")
        for number, host in enumerate(entry.hosts):
            if host.lower() not in ruled:
                at = place.at("hosts", number)
                yield problems.ignored(at, f"{host!r} is the host of no rule of this Ingress")


def _versions(view: View, place: Place, ingress: Ingress) -> Findings[reading.TlsVersions]:
    """The TLS versions that both the Ingress and the configuration allow."""
    everywhere = view.ask(settings.tls_versions, ())
    minimum = yield from annotations.tls_version(ingress, "minimum")
    maximum = yield from annotations.tls_version(ingress, "maximum")
    lowest: nodes.TlsVersion = max(minimum, everywhere.minimum)
    highest: nodes.TlsVersion = min(maximum, everywhere.maximum)
    if lowest > highest:
        text = f"no version of TLS is left between {lowest} and {highest}"
        raise Refused(problems.tls_config_not_valid(place.at("tls"), text))
    return reading.TlsVersions(lowest, highest)


def _secret(view: View, place: Place, ingress: Ingress, entry: IngressTLS) -> NamespacedName:
    if not entry.secret_name:
        raise Refused(problems.SECRET.not_valid(place, "secretName is missing"))
    at, own = place.at("secretName"), place.subject.namespace
    elsewhere = ingress.metadata.annotations.get(annotations.CERTIFICATE_NAMESPACE)
    secret = NamespacedName(elsewhere or own, entry.secret_name)
    if not delegation.is_permitted(view, delegation.Use(secret, own)):
        raise Refused(problems.SECRET.not_delegated(at, delegation.refusal(secret, own)))
    if refusal := view.ask(secrets.refusal, secret):
        raise Refused(problems.SECRET.not_valid(at, refusal.message))
    return secret

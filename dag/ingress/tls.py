"""Which hosts of an Ingress are served over TLS, and with which Secret of its namespace.

A Secret that cannot serve leaves its hosts on plain HTTP. Source: Ingress documentation, "TLS".
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds.ingress import Ingress, IngressTLS
from crds.meta import NamespacedName
from dag import nodes, secrets, settings
from dag.problems import Problem
from dag.problems import ingress as problems
from dag.problems.places import Place, Refused
from dag.view import View


class Termination(NamedTuple):
    """How TLS is terminated for a host of an Ingress."""

    host: str
    tls: nodes.Tls
    place: Place


def terminations(view: View, ingress: Ingress) -> Iterator[Termination | Problem]:
    """The TLS of every host that has any."""
    for index, entry in enumerate(ingress.spec.tls):
        place = problems.spec(ingress.metadata.key).at("tls", index)
        try:
            tls = _tls(view, place, entry)
            yield from (Termination(host.lower(), tls, place) for host in entry.hosts)
        except Refused as refused:
            yield refused.problem


def _tls(view: View, place: Place, entry: IngressTLS) -> nodes.Tls:
    if not entry.secret_name:
        raise Refused(problems.secret_not_named(place))
    secret = NamespacedName(place.subject.namespace, entry.secret_name)
    if refusal := view.ask(secrets.refusal, secret):
        raise Refused(problems.secret_not_valid(place.at("secretName"), secret, refusal))
    versions = view.ask(settings.tls_versions, ())
    return nodes.Tls(secret, versions.minimum, versions.maximum)

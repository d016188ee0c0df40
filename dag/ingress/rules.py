"""The routes that the rules and the default backend of an Ingress make.

A rule without paths sends its host to the default backend. Source: Ingress documentation,
"Ingress rules", "DefaultBackend". Elsewhere: which requests a path takes (`paths`), where they go
(`backends`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds import ingress as crd
from dag import nodes
from dag.ingress import backends, paths
from dag.problems import Problem
from dag.problems import ingress as problems
from dag.problems.places import Place, Refused
from dag.view import View

EVERY_HOST = "*"


class Written(NamedTuple):
    """A route for a host, and where it was written."""

    host: str
    route: nodes.Route
    place: Place
    is_default: bool = False
    """The default backend of every host gives way to any rule."""


def routes(view: View, ingress: crd.Ingress) -> Iterator[Written | Problem]:
    """Every route of an Ingress."""
    place, spec = problems.spec(ingress.metadata.key), ingress.spec
    for index, rule in enumerate(spec.rules):
        at, host = place.at("rules", index), rule.host.lower() or EVERY_HOST
        if rule.http is not None:
            for number, path in enumerate(rule.http.paths):
                yield from _route(view, at.at("http").at("paths", number), host, path)
        elif spec.default_backend is not None:
            yield from _catch_all(view, at, host, spec.default_backend)
    if spec.default_backend is not None:
        at = place.at("defaultBackend")
        for found in _catch_all(view, at, EVERY_HOST, spec.default_backend):
            yield found._replace(is_default=True) if isinstance(found, Written) else found


def _route(
    view: View, place: Place, host: str, path: crd.HTTPIngressPath
) -> Iterator[Written | Problem]:
    try:
        match = nodes.Match(paths.path(place.at("path"), path))
    except Refused as refused:
        yield refused.problem
        return
    action = yield from backends.action(view, place.at("backend"), path.backend)
    yield Written(host, nodes.Route(match, action, place.subject), place)


def _catch_all(
    view: View, place: Place, host: str, backend: crd.IngressBackend
) -> Iterator[Written | Problem]:
    action = yield from backends.action(view, place, backend)
    yield Written(host, nodes.Route(nodes.Match(), action, place.subject), place)

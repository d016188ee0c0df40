"""The routes that the rules and the default backend of an Ingress make.

A rule without paths sends its host to the default backend. Source: Ingress documentation,
"Ingress rules", "DefaultBackend". Elsewhere: which requests a path takes (`paths`), where they go
(`backends`), how they are forwarded (`annotations`).
"""

from collections.abc import Iterator
from typing import NamedTuple

from crds import ingress as crd
from dag import nodes
from dag.engine.view import View
from dag.ingress import annotations, backends, paths
from dag.problems import Problem, Refused
from dag.problems import ingress as problems
from dag.problems.places import Place

EVERY_HOST = "*"


class HostRoute(NamedTuple):
    """A route for a host, and where it was written."""

    host: str
    route: nodes.Route
    place: Place
    is_default: bool = False
    """The default backend of every host gives way to any rule."""


class RequestedRoute(NamedTuple):
    """A backend, and the requests that are to go there."""

    place: Place
    host: str
    backend: crd.IngressBackend
    path: crd.HTTPIngressPath | None = None  # None takes every path
    is_default: bool = False


def hosts(ingress: crd.Ingress) -> Iterator[str]:
    """The hosts of rules that ask for routes, whether these can be served or not."""
    return (it.host for it in _wishes(ingress) if not it.is_default)


def routes(view: View, ingress: crd.Ingress) -> Iterator[HostRoute | Problem]:
    """Every route of an Ingress."""
    forwarding = yield from annotations.forwarding(ingress)
    for wish in _wishes(ingress):
        yield from _route(view, wish, forwarding)


def _wishes(ingress: crd.Ingress) -> Iterator[RequestedRoute]:
    place, spec = problems.spec(ingress.metadata.key), ingress.spec
    for index, rule in enumerate(spec.rules):
        at, host = place.at("rules", index), rule.host.lower() or EVERY_HOST
        if rule.http is not None:
            for number, path in enumerate(rule.http.paths):
                yield RequestedRoute(at.at("http").at("paths", number), host, path.backend, path)
        elif spec.default_backend is not None:
            yield RequestedRoute(at, host, spec.default_backend)
    if spec.default_backend is not None:
        yield RequestedRoute(
            place.at("defaultBackend"), EVERY_HOST, spec.default_backend, is_default=True
        )


def _route(
    view: View, wish: RequestedRoute, forwarding: annotations.Forwarding
) -> Iterator[HostRoute | Problem]:
    place, path = wish.place, wish.path
    try:
        match = nodes.Match(paths.path(place.at("path"), path)) if path else nodes.Match()
    except Refused as refused:
        yield refused.problem
        return
    written = (path.path if path else "") or "/"
    at = place.at("backend") if path else place
    backend = yield from backends.backend(view, at, wish.backend)
    action = _action(backend, forwarding, written)
    yield HostRoute(wish.host, nodes.Route(match, action, place.subject), place, wish.is_default)


def _action(
    backend: nodes.Backend | None, forwarding: annotations.Forwarding, path: str
) -> nodes.Action:
    if backend is None:
        return backends.NOWHERE
    return nodes.Forward(
        (backend,),
        timeout=forwarding.timeout,
        retry=forwarding.retry,
        websockets=path in forwarding.websocket_paths,
    )

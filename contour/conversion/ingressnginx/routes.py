"""The routes of an HTTPProxy for one path of an Ingress."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from contour.conversion.ingressnginx import annotations, paths
from contour.conversion.ingressnginx.annotations import Piece
from contour.conversion.ingressnginx.given import Given
from contour.conversion.ingressnginx.paths import Match
from contour.conversion.told import Document
from crds.ingress import HTTPIngressPath
from dag.values import regexes


class Place(NamedTuple):
    """A path of a host, as one Ingress writes it."""

    given: Given
    path: HTTPIngressPath
    piece: Piece
    """What the annotations of the Ingress add."""
    is_left_out: bool = False
    """Whether the Ingress is not converted."""
    is_default: bool = False
    """Whether it is a default backend."""

    @property
    def text(self) -> str:
        """The path as nginx gets it."""
        return paths.written(self.path)

    @property
    def key(self) -> tuple[str, str]:
        """Equal for places of which only one is used, and among which a canary chooses."""
        return self.text, self.path.path_type

    @property
    def target(self) -> str:
        """What the path is rewritten to; empty if it is not."""
        found = self.given.value("rewrite-target")
        return found if found != self.text else ""


def routes(place: Place, canary: Place | None, matches: Iterable[Match]) -> Iterator[Document]:
    """The routes of a path, with the canary that gets a part of its requests.

    Raises UnconvertibleError.
    """
    for match in matches:
        if match.is_closed:
            yield closed(match)
        elif redirect := _redirect(place.given):
            yield {"conditions": list(match.conditions), "requestRedirectPolicy": redirect}
        else:
            for more, services in _split(place, canary):
                yield _route(place, (*match.conditions, *more), match.replacement, services)


def closed(match: Match) -> Document:
    """The route of requests that are answered 503."""
    return {"conditions": list(match.conditions), "directResponsePolicy": {"statusCode": 503}}


def _route(
    place: Place,
    conditions: Sequence[Document],
    replacement: str | None,
    services: Sequence[Document],
) -> Document:
    route: dict[str, object] = {"conditions": list(conditions), "services": list(services)}
    if "maxRequestBytes" not in place.piece.route:
        route["enableWebsockets"] = True
    if replacement is not None:
        route["pathRewritePolicy"] = {"replacePrefix": [{"replacement": replacement}]}
    return route | place.piece.route


def _split(
    place: Place, canary: Place | None
) -> Iterator[tuple[Sequence[Document], Sequence[Document]]]:
    """Further conditions, and the Services for the requests that meet them.

    A header takes precedence over a cookie, a cookie over the weight; `never` excludes a request
    from the canary, whatever follows (ingress-nginx's user guide, "Canary").
    """
    usual = service(place)
    if canary is None:
        yield (), [usual]
        return
    other = service(canary._replace(piece=place.piece))  # a canary has the settings of its path
    for chosen, refused in _chosen(canary.given):
        yield [chosen], [other]
        if refused:
            yield [refused], [usual]
    total = max(canary.given.number("canary-weight-total") or 0, 100)  # as in ingress-nginx
    weight = min(canary.given.number("canary-weight") or 0, total)
    if weight:
        yield (), [usual | {"weight": total - weight}, other | {"weight": weight}]
    else:
        yield (), [usual]


def _chosen(given: Given) -> Iterator[tuple[Document, Document]]:
    """Conditions that choose the canary, each with the one that excludes it, or none."""
    if header := given.value("canary-by-header"):
        if value := given.value("canary-by-header-value"):
            yield _header(header, exact=value), {}
        elif pattern := given.value("canary-by-header-pattern"):
            if not regexes.refusal(found := annotations.anywhere(pattern)):
                yield _header(header, regex=found), {}
        else:
            yield _header(header, exact="always"), _header(header, exact="never")
    if cookie := given.value("canary-by-cookie"):
        yield _cookie(cookie, "always"), _cookie(cookie, "never")


def _header(name: str, **operator: str) -> Document:
    return {"header": {"name": name, **operator}}


def _cookie(name: str, value: str) -> Document:
    return {"cookie": {"name": name, "exact": value}}


def service(place: Place) -> dict[str, object]:
    """The Service of a path. Raises UnconvertibleError."""
    backend = place.path.backend.service
    if backend is None:
        raise paths.UnconvertibleError("its backend is no Service")
    port = place.given.port(backend)
    if port is None:
        name = f"{place.given.namespace}/{backend.name}"
        raise paths.UnconvertibleError(
            f"the port {backend.port.name} has to be a number; with Service {name} among the"
            " manifests its number is known"
        )
    return {"name": backend.name, "port": port, **place.piece.service}


def _redirect(given: Given) -> Document:
    """The redirect that answers all requests of an Ingress; empty without one."""
    for kind, usual in (("temporal-redirect", 302), ("permanent-redirect", 301)):
        if url := given.value(kind):
            code = given.number(f"{kind}-code")
            return _to(url) | {"statusCode": code if code in _CODES else usual}
    return {}


_CODES = frozenset({301, 302, 303, 307, 308})


def _to(url: str) -> dict[str, object]:
    keeps_path = url.endswith("$request_uri")
    plain = url.removesuffix("$request_uri")
    if "$" in plain:
        raise paths.UnconvertibleError(f"the redirect to {url!r} has variables of nginx")
    try:
        found = urlsplit(plain)
        parts: dict[str, object] = {"scheme": found.scheme, "hostname": found.hostname}
        parts["port"] = found.port
    except ValueError:
        raise paths.UnconvertibleError(f"the redirect to {url!r} leads to no URL") from None
    if not keeps_path:
        query = f"?{found.query}" if found.query else ""
        parts["path"] = (re.sub(r"/{2,}", "/", found.path) or "/") + query
    return {name: value for name, value in parts.items() if value}

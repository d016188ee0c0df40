"""Which calls a match of a GRPCRoute matches, and which of two matches takes precedence.

Gateway API, "GRPCRouteMatch": precedence goes to more characters of the service, then of the
method, then to more headers. A call is a request for the path `/service/method`.
"""

from collections.abc import Iterable, Iterator

from crds.gateway import grpcroute as crd
from dag import nodes
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.values import headers, regexes


def refusals(match: crd.GRPCRouteMatch, at: Place) -> Iterator[Problem]:
    """Why a match cannot be served."""
    method = match.method
    if method is not None and method.type == "RegularExpression":
        for text in (method.service, method.method):
            if text and (why := regexes.refusal(text)):
                yield problems.rule_dropped(at.at("method"), f"{text!r} {why}")
                return
        whole = _path(method)
        if isinstance(whole, nodes.Regex) and (why := regexes.refusal(whole.expression)):
            yield problems.rule_dropped(at.at("method"), f"{whole.expression!r} {why}")
    for index, it in enumerate(match.headers):
        is_regex = it.type == "RegularExpression"
        if why := regexes.refusal(it.value) if is_regex else headers.value_refusal(it.value):
            yield problems.rule_dropped(at.at("headers", index), f"{it.value!r} {why}")


def node(match: crd.GRPCRouteMatch) -> nodes.Match:
    """The node of a match without refusals."""
    wanted: dict[str, nodes.ValueMatch] = {}
    for it in match.headers:
        operator = nodes.ValueMatch("exact" if it.type == "Exact" else "regex", it.value)
        wanted.setdefault(it.name.lower(), operator)
    return nodes.Match(
        path=_path(match.method),
        headers=tuple(nodes.HeaderMatch(*it) for it in sorted(wanted.items())),
        is_grpc=True,
    )


def in_order(routes: Iterable[nodes.Route]) -> tuple[nodes.Route, ...]:
    """The most specific match first; of equal ones, those that are given first."""
    return tuple(sorted(routes, key=lambda it: _rank(it.match)))


def _path(method: crd.GRPCMethodMatch | None) -> nodes.Path:
    if method is None:
        return nodes.Prefix("/")
    service, name = method.service or "", method.method or ""
    if method.type == "RegularExpression":
        return nodes.Regex(f"/{f'({service})' if service else ANY}/{f'({name})' if name else ANY}")
    if service and name:
        return nodes.Exact(f"/{service}/{name}")
    if service:
        return nodes.Segments(f"/{service}")
    return nodes.Regex(f"/{ANY}/{regexes.quoted(name)}")


ANY = "[^/]+"
"""Every service, or every method."""


def _rank(match: nodes.Match) -> tuple[int, int, int]:
    service, method = _lengths(match.path)
    return -service, -method, -len(match.headers)


def _lengths(path: nodes.Path) -> tuple[int, int]:
    match path:
        case nodes.Exact(text) | nodes.Segments(text):
            service, _, method = text[1:].partition("/")
            return len(service), len(method)
        case nodes.Regex(text):
            service, method = _halves(text)
            return _length(service), _length(method)
        case _:
            return 0, 0


def _halves(text: str) -> tuple[str, str]:
    """The expression of the service and that of the method, as `_path` wrote them."""
    if text.startswith(f"/{ANY}/"):
        return ANY, text[len(ANY) + 2 :]
    end = text.rfind(f")/{ANY}") if text.endswith(f"/{ANY}") else text.rfind(")/(")
    return text[1 : end + 1], text[end + 2 :]


def _length(expression: str) -> int:
    if expression == ANY:
        return 0
    return len(expression.removeprefix("(").removesuffix(")"))

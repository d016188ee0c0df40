"""Which requests a match of an HTTPRoute matches (Gateway API, "HTTPRouteMatch").

Prefixes consist of path segments. If a header or query parameter is named twice, the first counts;
header names are case-insensitive, parameter names are not. Expressions are RE2.
"""

from collections.abc import Iterable, Iterator, Sequence

from crds.gateway import matches as crd
from dag import nodes
from dag.problems import Problem
from dag.problems import gateway as problems
from dag.problems.places import Place
from dag.values import headers, regexes

_Valued = crd.HTTPHeaderMatch | crd.HTTPQueryParamMatch


def refusals(match: crd.HTTPRouteMatch, at: Place) -> Iterator[Problem]:
    """Why a match cannot be served."""
    if match.path.type == "RegularExpression" and (why := regexes.refusal(match.path.value)):
        yield problems.rule_dropped(at.at("path").at("value"), f"{match.path.value!r} {why}")
    yield from _value_refusals(match.headers, at, "headers")
    yield from _value_refusals(match.query_params, at, "queryParams")


def node(match: crd.HTTPRouteMatch) -> nodes.Match:
    """The node of a match without refusals."""
    by_header = _first((it.name.lower(), _value(it)) for it in match.headers)
    by_parameter = _first((it.name, _value(it)) for it in match.query_params)
    return nodes.Match(
        path=_path(match.path),
        method=match.method or "",
        headers=tuple(nodes.HeaderMatch(*it) for it in by_header),
        queries=tuple(nodes.QueryMatch(*it) for it in by_parameter),
    )


def _value_refusals(found: Sequence[_Valued], at: Place, field: str) -> Iterator[Problem]:
    for index, match in enumerate(found):
        if why := _value_refusal(match):
            yield problems.rule_dropped(at.at(field, index), f"{match.value!r} {why}")


def _value_refusal(match: _Valued) -> str | None:
    if match.type == "RegularExpression":
        return regexes.refusal(match.value)
    return headers.value_refusal(match.value)


def _value(match: _Valued) -> nodes.ValueMatch:
    return nodes.ValueMatch("exact" if match.type == "Exact" else "regex", match.value)


def _first(
    named: Iterable[tuple[str, nodes.ValueMatch]],
) -> Iterable[tuple[str, nodes.ValueMatch]]:
    found: dict[str, nodes.ValueMatch] = {}
    for name, value in named:
        found.setdefault(name, value)
    return sorted(found.items())


def _path(match: crd.HTTPPathMatch) -> nodes.Path:
    match match.type:
        case "Exact":
            return nodes.Exact(match.value)
        case "RegularExpression":
            return nodes.Regex(match.value)
        case _:
            segments = match.value.rstrip("/")
            return nodes.Segments(segments) if segments else nodes.Prefix("/")

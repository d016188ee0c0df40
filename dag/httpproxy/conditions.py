"""Match conditions: one block of them narrows the requests that an include or route is given.

A block is a set: the order in which its conditions are written has no meaning. Prefixes of includes
are put in front of what follows, with double slashes collapsed; headers and query parameters add
up. Conditions that no request can meet, and ambiguous blocks, are refused. Source: HTTPProxy
reference, "MatchCondition". Elsewhere: headers and query parameters (`headermatches`,
`querymatches`).
"""

import re
from collections.abc import Iterable, Iterator

from crds import conditions as crd
from dag import nodes
from dag.httpproxy import headermatches, querymatches
from dag.problems import Refused
from dag.problems import httpproxy as problems
from dag.problems.places import Place
from dag.values import paths, regexes

MAX_CONDITIONS = 100
"""The most conditions of one route, with those of the includes that lead to it."""

MAX_PATH = 4096
"""Characters."""


def narrowed(
    place: Place, inherited: nodes.Match, conditions: Iterable[crd.MatchCondition]
) -> nodes.Match:
    """The inherited match and all conditions of a block; Refused if no request can meet them.

    `place` is the route or the include.
    """
    block, at = tuple(conditions), place.at("conditions")
    if len(block) + len(inherited.headers) + len(inherited.queries) > MAX_CONDITIONS:
        text = f"more than {MAX_CONDITIONS} conditions, with those of includes"
        raise Refused(problems.path_conditions_not_valid(at, text))
    path = _path(at, _prefix(inherited), block)
    method, header_matches = headermatches.narrowed(at, inherited, block)
    query_matches = querymatches.narrowed(at, inherited.queries, block)
    return nodes.Match(path, method, header_matches, query_matches)


def check_by_prefix(place: Place, block: Iterable[crd.MatchCondition]) -> None:
    """Refused if an include may not have these: only a prefix can be continued below it."""
    for index, kind, _ in _paths(block):
        if kind != "prefix":
            text = "an include narrows by prefix, not by exact or regex"
            at = place.at("conditions", index).at(kind)
            raise Refused(problems.path_conditions_not_valid(at, text))


def _prefix(inherited: nodes.Match) -> str:
    if not isinstance(inherited.path, nodes.Prefix):
        raise TypeError(f"includes narrow by prefix only, not by {inherited.path}")
    return inherited.path.path


def _path(at: Place, inherited: str, block: tuple[crd.MatchCondition, ...]) -> nodes.Path:
    written = list(_paths(block))
    if len(written) > 1:
        text = "more than one of prefix, exact and regex"
        raise Refused(problems.path_conditions_not_valid(at, text))
    if not written:
        return nodes.Prefix(inherited)
    index, kind, text = written[0]
    found = _narrowed_path(inherited, kind, text)
    if isinstance(found, str):
        raise Refused(problems.path_conditions_not_valid(at.item(index).at(kind), found))
    return found


def _narrowed_path(inherited: str, kind: str, text: str) -> nodes.Path | str:
    """The path, or why there is none."""
    if not text.startswith("/"):
        return f"{text[:60]!r} must start with /"
    if len(inherited + text) > MAX_PATH:
        return f"has more than {MAX_PATH} characters, with those of includes"
    if kind == "regex":
        return _expression(inherited.rstrip("/"), text)
    path = _single_slashes(inherited + text)
    if refusal := paths.refusal(path, is_beginning=kind == "prefix"):
        return f"{path[:60]!r} {refusal}"
    return nodes.Prefix(path) if kind == "prefix" else nodes.Exact(path)


def _expression(prefix: str, text: str) -> nodes.Path | str:
    """The prefix of includes with an expression behind it as one expression, or why that is
    refused.

    The expression is first checked on its own, so that it cannot close a group of the joined one.
    """
    expression = regexes.after(prefix, text)
    for it in (text, expression):
        if refusal := regexes.refusal(it):
            return f"{it[:60]!r} {refusal}"
    return nodes.Regex(expression)


def _paths(block: Iterable[crd.MatchCondition]) -> Iterator[tuple[int, str, str]]:
    for index, it in enumerate(block):
        written = (("prefix", it.prefix), ("exact", it.exact), ("regex", it.regex))
        yield from ((index, kind, text) for kind, text in written if text)


_SLASHES = re.compile("//+")


def _single_slashes(path: str) -> str:
    return str(_SLASHES.sub("/", path))

"""Match conditions: one block of them narrows the requests that an include or route is given.

A block is a set: the order in which its conditions are written has no meaning. Prefixes of
includes are put in front of what follows, with double slashes collapsed; headers and query
parameters add up. Conditions that no request can meet, and blocks that are not clear, are
refused. Source: HTTPProxy reference, "MatchCondition". Elsewhere: headers and query parameters
(`headermatches`, `querymatches`).
"""

import re
from collections.abc import Iterable, Iterator

from crds import conditions as crd
from dag import nodes, regexes
from dag.httpproxy import headermatches, querymatches
from dag.httpproxy.clarity import NotClear

MAX_CONDITIONS = 100
"""Of one route, with those of the includes that lead to it."""

MAX_PATH = 4096
"""Characters."""


def narrowed(inherited: nodes.Match, conditions: Iterable[crd.MatchCondition]) -> nodes.Match:
    """The inherited match and all conditions of a block; NotClear says why there is none."""
    block = tuple(conditions)
    if len(block) + len(inherited.headers) + len(inherited.queries) > MAX_CONDITIONS:
        raise NotClear("Path", f"more than {MAX_CONDITIONS} conditions, with those of includes")
    path = _path(_prefix(inherited), block)
    method, header_matches = headermatches.narrowed(inherited, block)
    queries = (it.query_parameter for it in block if it.query_parameter is not None)
    query_matches = querymatches.narrowed(inherited.queries, queries)
    return nodes.Match(path, method, header_matches, query_matches)


def is_by_prefix(block: Iterable[crd.MatchCondition]) -> bool:
    """Whether an include may have these conditions: exact paths and expressions cannot go on."""
    return not any(it.exact or it.regex for it in block)


def _prefix(inherited: nodes.Match) -> str:
    if not isinstance(inherited.path, nodes.Prefix):
        raise TypeError(f"includes narrow by prefix only, not by {inherited.path}")
    return inherited.path.path


def _path(inherited: str, block: tuple[crd.MatchCondition, ...]) -> nodes.Path:
    written = list(_paths(block))
    if len(written) > 1:
        raise NotClear("Path", "more than one of prefix, exact and regex")
    if not written:
        return nodes.Prefix(inherited)
    kind, text = written[0]
    if not text.startswith("/"):
        raise NotClear("Path", f"{kind} {text!r} must start with /")
    if len(inherited + text) > MAX_PATH:
        raise NotClear(
            "Path", f"{kind} has more than {MAX_PATH} characters, with those of includes"
        )
    if kind == "regex":
        return _regex(regexes.quoted(inherited.rstrip("/")) + text)
    path = _single_slashes(inherited + text)
    return nodes.Prefix(path) if kind == "prefix" else nodes.Exact(path)


def _paths(block: tuple[crd.MatchCondition, ...]) -> Iterator[tuple[str, str]]:
    for it in block:
        written = (("prefix", it.prefix), ("exact", it.exact), ("regex", it.regex))
        yield from ((kind, text) for kind, text in written if text)


def _regex(expression: str) -> nodes.Regex:
    if refusal := regexes.refusal(expression):
        raise NotClear("Path", f"regex {expression!r} {refusal}")
    return nodes.Regex(expression)


_SLASHES = re.compile("//+")


def _single_slashes(path: str) -> str:
    return str(_SLASHES.sub("/", path))

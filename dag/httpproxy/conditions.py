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
from dag import nodes
from dag.httpproxy import headermatches, querymatches
from dag.httpproxy.clarity import NotClear, within
from dag.values import paths, regexes

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
    query_matches = querymatches.narrowed(inherited.queries, block)
    return nodes.Match(path, method, header_matches, query_matches)


def check_by_prefix(block: Iterable[crd.MatchCondition]) -> None:
    """NotClear if an include may not have these: exact paths and expressions cannot go on."""
    for index, kind, _ in _paths(block):
        if kind != "prefix":
            text = "an include narrows by prefix, not by exact or regex"
            raise NotClear("Path", text, f"[{index}].{kind}")


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
    index, kind, text = written[0]
    with within(index, kind):
        return _narrowed_path(inherited, kind, text)


def _narrowed_path(inherited: str, kind: str, text: str) -> nodes.Path:
    if not text.startswith("/"):
        raise NotClear("Path", f"{text[:60]!r} must start with /")
    if len(inherited + text) > MAX_PATH:
        text = f"has more than {MAX_PATH} characters, with those of includes"
        raise NotClear("Path", text)
    if kind == "regex":
        return _regex(regexes.quoted(inherited.rstrip("/")) + text)
    path = _single_slashes(inherited + text)
    if refusal := paths.refusal(path, is_beginning=kind == "prefix"):
        raise NotClear("Path", f"{path[:60]!r} {refusal}")
    return nodes.Prefix(path) if kind == "prefix" else nodes.Exact(path)


def _paths(block: Iterable[crd.MatchCondition]) -> Iterator[tuple[int, str, str]]:
    for index, it in enumerate(block):
        written = (("prefix", it.prefix), ("exact", it.exact), ("regex", it.regex))
        yield from ((index, kind, text) for kind, text in written if text)


def _regex(expression: str) -> nodes.Regex:
    if refusal := regexes.refusal(expression):
        raise NotClear("Path", f"{expression!r} {refusal}")
    return nodes.Regex(expression)


_SLASHES = re.compile("//+")


def _single_slashes(path: str) -> str:
    return str(_SLASHES.sub("/", path))

"""Paths of which nginx rewrites the beginning, and where they come among the others of a host.

An HTTPProxy replaces only what a condition `prefix` matches, which has regard to case and comes
after all expressions. So a path whose rewrite is more than that is not converted; neither is one
that a path would come before here which comes after it in nginx. What differs in case alone is
closed where another path would get it.
"""

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from contour.conversion.ingressnginx.paths import Match, UnconvertibleError, beginning, expression
from contour.conversion.told import Document
from dag.values import paths, regexes


class Rewrite(NamedTuple):
    """The prefix that is replaced."""

    prefix: str
    match: Match


def rewrite(text: str, target: str) -> Rewrite:
    """The few forms in which a prefix is replaced and what follows it is kept.

    Raises UnconvertibleError.
    """
    kept = re.fullmatch(r"(?P<to>/[^$]*)\$(?P<group>[12])", target)
    for form in _FORMS:
        found = re.fullmatch(form.expression, text)
        if found is not None and kept is not None and kept["group"] == form.group:
            return _replaced(found["prefix"] or "/", kept["to"], form.rest)
    raise UnconvertibleError(
        f"the rewrite of {text!r} to {target!r} is more than the replacement of a prefix"
    )


def _replaced(prefix: str, to: str, rest: str) -> Rewrite:
    if refusal := paths.refusal(prefix, is_beginning=True):
        raise UnconvertibleError(f"{prefix!r} {refusal}")
    conditions: tuple[Document, ...] = ({"prefix": prefix},)
    if rest and not (prefix == "/" and rest == _BARE):
        conditions = (*conditions, _path(f"{re.escape(prefix)}{rest}"))
        return Rewrite(prefix, Match(conditions, to))
    return Rewrite(prefix, Match(conditions, to if to != prefix else None))


def _path(regex: str) -> Document:
    """The header is the path with its query."""
    return {"header": {"name": ":path", "regex": regex}}


class _Form(NamedTuple):
    expression: str
    group: str
    """The one that is kept."""
    rest: str
    """What follows the prefix in the path with its query; empty for anything."""


_BARE = "(?:[/?].*)?"
_FORMS = (
    _Form(r"\^?(?P<prefix>/[\w\-./~%]*?)\(/\|\$\)\(\.\*\)\$?", "2", _BARE),
    _Form(r"\^?(?P<prefix>/(?:[\w\-./~%]*/)?)\(\.\*\)\$?", "1", ""),
    _Form(r"\^?(?P<prefix>/(?:[\w\-./~%]*/)?)\(\.\+\)\$?", "1", "[^?].*"),
)


def displaced(found: Collection[str], prefixes: Mapping[str, str]) -> dict[str, str]:
    """The rewritten paths that would lose requests to a path behind them, each with that path.

    `found`: all paths of a host; `prefixes`: of those that are rewritten. One that is not converted
    is an expression, and comes before others in turn.
    """
    left: dict[str, str] = {}
    while lost := _lost(found, {it: prefixes[it] for it in prefixes if it not in left}):
        left |= lost
    return left


def _lost(found: Collection[str], prefixes: Mapping[str, str]) -> dict[str, str]:
    return {
        path: other
        for path, prefix in prefixes.items()
        for other in found
        if first(path, other)
        and other != "/"
        and (other not in prefixes or len(prefixes[other]) > len(prefix))
        and may_meet(path, other)
    }


def first(path: str, other: str) -> bool:
    """Whether nginx looks at a path before another one of a host with expressions."""
    return (len(path), path) > (len(other), other)


def may_meet(path: str, other: str) -> bool:
    """Whether one request may match two expressions, by the literal beginnings of them."""
    starts = (beginning(it, is_regex=True).lower() for it in (path, other))
    return all(one == two or "." in {one, two} for one, two in zip(*starts, strict=False))


def other_case(text: str, prefix: str) -> Match | None:
    """What a rewritten path matches only without regard to case, closed; None without letters.

    Raises UnconvertibleError.
    """
    differs = _differing(prefix[1:])
    if not differs:
        return None
    found = f"/{differs}.*"
    if refusal := regexes.refusal(found):
        raise UnconvertibleError(f"{found!r} {refusal}")
    return Match((expression(text), _path(found)), is_closed=True)


def _differing(text: str) -> str:
    """An expression for texts whose letters are not all these; empty without letters."""
    found = ""
    for it in reversed(text):
        same = f"{re.escape(it)}{found}" if found else ""
        if it.isalpha() or it == ".":
            found = f"(?:[^{it}]|{same})" if same else f"[^{it}]"
        else:
            found = same
    return found

"""Paths whose beginning nginx rewrites, and their precedence among the paths of a host.

An HTTPProxy replaces only what a condition `prefix` matches, which is case-sensitive and comes
after all regular expressions. So a path with a more complex rewrite is not converted; neither is
one that would lose requests to a path that comes after it in nginx. Requests that differ only in
case are closed if another path would get them.
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
    kept = re.fullmatch(r"(?P<to>/(?:[^$?#]*/)?)\$(?P<group>[12])", target)
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
    if rest:
        conditions = (*conditions, _path(f"{re.escape(prefix)}{rest}"))
        return Rewrite(prefix, Match(conditions, to))
    return Rewrite(prefix, Match(conditions, to if to != prefix else None))


def _path(regex: str) -> Document:
    """The header is the path with its query."""
    return {"header": {"name": ":path", "regex": regex}}


class _Form(NamedTuple):
    expression: str
    group: str
    """The group that is kept."""
    rest: str
    """What follows the prefix in the path with its query; empty for anything."""


_BARE = "(?:[/?].*)?"
_FORMS = (
    _Form(r"\^?(?P<prefix>/[\w\-./~%]*?)\(/\|\$\)\(\.\*\)\$?", "2", _BARE),
    _Form(r"\^?(?P<prefix>/(?:[\w\-./~%]*/)?)\(\.\*\)\$?", "1", ""),
    _Form(r"\^?(?P<prefix>/(?:[\w\-./~%]*/)?)\(\.\+\)\$?", "1", "[^?].*"),
)


def displaced(found: Collection[str], prefixes: Mapping[str, str]) -> dict[str, str]:
    """The rewritten paths that would lose requests to a later path, each with that path.

    `found`: all paths of a host; `prefixes`: of those that are rewritten. A path that is not
    converted becomes an expression, so it may displace others in turn.
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
    """Whether nginx tries a path before another one, in a host with regular expressions."""
    return (len(path), path) > (len(other), other)


def may_meet(path: str, other: str) -> bool:
    """Whether a request may match both expressions, judged by their literal beginnings."""
    starts = (beginning(it, is_regex=True).lower() for it in (path, other))
    return all(one == two or "." in {one, two} for one, two in zip(*starts, strict=False))


def other_case(text: str, prefix: str) -> Match | None:
    """A closed match for requests that match a rewritten path only case-insensitively; None if it
    has no letters.

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
    """An expression for texts that differ in case from this one; empty without letters."""
    found = ""
    for it in reversed(text):
        same = f"{re.escape(it)}{found}" if found else ""
        if it.isalpha() or it == ".":
            found = f"(?:[^{it}]|{same})" if same else f"[^{it}]"
        else:
            found = same
    return found

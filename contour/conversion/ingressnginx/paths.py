"""The conditions of an HTTPProxy that match what nginx matches for a path of an Ingress.

`Exact` is one path. `Prefix` is a path and all below it, so it takes two routes here, where a
prefix is compared character by character. As soon as one Ingress of a host has regular expressions,
or rewrites, all other paths of that host are regular expressions at whose end anything may follow
(ingress-nginx's user guide, "Regular expressions in paths").
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from contour.conversion.told import Document
from crds.ingress import HTTPIngressPath
from dag.values import regexes


class Match(NamedTuple):
    """Conditions of a route, and what replaces the prefix that they match; None: it stays."""

    conditions: tuple[Document, ...]
    replacement: str | None = None


class UnconvertibleError(Exception):
    """A path whose meaning cannot be written as an HTTPProxy; the text says why."""


def matches(path: HTTPIngressPath, target: str, *, is_regex: bool) -> list[Match]:
    """The conditions of a path; `target`: the annotation `rewrite-target`, empty without one.

    Raises UnconvertibleError.
    """
    written = path.path or "/"
    if path.path_type == "Exact":
        if target and target != written:
            raise UnconvertibleError("the rewrite of an exact path has no counterpart")
        return [Match(({"exact": written},))]
    if target:
        return list(_rewritten(written, target))
    if is_regex:
        return [Match((_expression(written),))]
    if path.path_type == "ImplementationSpecific":
        return [Match(({"prefix": written},))]
    return [Match((it,)) for it in _below(written)]


def _below(path: str) -> Iterator[Document]:
    """A path and all paths below it."""
    bare = path.rstrip("/")
    yield {"prefix": f"{bare}/"}
    if bare:
        yield {"exact": bare}


def _expression(written: str) -> Document:
    """nginx compares from the first character on, without regard to case."""
    if _LITERAL.fullmatch(written):
        return {"prefix": written}
    body = written.removeprefix("^")
    if not body.startswith("/"):
        raise UnconvertibleError(f"the expression {written!r} does not begin with /")
    if why := regexes.refusal(body):
        raise UnconvertibleError(f"the expression {written!r} {why}")
    rest = body[1:-1] if body.endswith("$") else f"{body[1:]}.*"
    return {"regex": f"/(?i:{rest})"}


_LITERAL = re.compile(r"/[\w\-./~%@:,=&+!]*")
"""A path in which only dots could be meant as anything else than themselves."""


def _rewritten(written: str, target: str) -> Iterator[Match]:
    """The few forms in which a prefix is replaced and what follows it is kept."""
    kept = re.fullmatch(r"(?P<to>/[^$]*)\$(?P<group>[12])", target)
    for expression, group, has_bare in _FORMS:
        found = re.fullmatch(expression, written)
        if found is None or kept is None or kept["group"] != group:
            continue
        prefix, to = found["prefix"] or "/", kept["to"]
        if has_bare and prefix != "/":
            # The header is the path with its query; without it, /foobar would match as well.
            below = {"name": ":path", "regex": f"{re.escape(prefix)}(?:[/?].*)?"}
            yield Match(({"prefix": prefix}, {"header": below}), to)
        else:
            yield Match(({"prefix": prefix},), to if to != prefix else None)
        return
    if target == written and _LITERAL.fullmatch(written):
        raise UnconvertibleError("all paths below it become this one path")
    raise UnconvertibleError(
        f"the rewrite of {written!r} to {target!r} is more than the replacement of a prefix"
    )


_FORMS = (
    (r"\^?(?P<prefix>/[\w\-./~%]*?)\(/\|\$\)\(\.\*\)\$?", "2", True),
    (r"\^?(?P<prefix>/(?:[\w\-./~%]*/)?)\(\.\*\)\$?", "1", False),
    (r"\^?(?P<prefix>/(?:[\w\-./~%]*/)?)\(\.\+\)\$?", "1", False),
)
"""The expression, the group that is kept, and whether the prefix matches without a slash, too."""

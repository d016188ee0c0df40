"""The conditions of an HTTPProxy that match what nginx matches for a path of an Ingress.

`Exact` is one path. `Prefix` is a path and all below it, so it takes two routes here, where a
prefix is compared character by character. As soon as one Ingress of a host has regular expressions,
or rewrites, all paths of that host are regular expressions, whatever their type: without regard to
case, and at their end anything may follow (ingress-nginx's user guide, "Regular expressions in
paths"). nginx takes the first that matches, the longest written one first, as Envoy does with
expressions here (`dag.ordering`). So each gets the same length on top; only `/`, which matches
everything and comes last in both, stays a prefix. Elsewhere: rewritten paths (`rewrites`).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from contour.conversion.told import Document
from crds.ingress import HTTPIngressPath
from dag.values import paths, regexes


class Match(NamedTuple):
    """Conditions of a route, and what is done with the requests that meet them."""

    conditions: tuple[Document, ...]
    replacement: str | None = None
    """What replaces the prefix that they match; None: it stays."""
    is_closed: bool = False
    """Whether the requests are answered 503."""


class Host(NamedTuple):
    """What the conversion of a path has to know about the other paths of its host."""

    is_regex: bool
    exact: frozenset[str]
    """The paths of type Exact."""


class UnconvertibleError(Exception):
    """A path whose meaning cannot be written as an HTTPProxy; the text says why."""


def written(path: HTTPIngressPath) -> str:
    """A path as nginx gets it."""
    return path.path or "/"


def matches(path: HTTPIngressPath, host: Host) -> list[Match]:
    """The conditions of a path that is not rewritten. Raises UnconvertibleError."""
    text = written(path)
    if host.is_regex:
        return [Match((expression(text),))]
    found = list(_plain(path, host))
    for it in found:
        for kind, value in it.items():
            if refusal := paths.refusal(str(value), is_beginning=kind == "prefix"):
                raise UnconvertibleError(f"{text!r} {refusal}")
    return [Match((it,)) for it in found]


def closed(path: HTTPIngressPath, host: Host) -> list[Match]:
    """Conditions for everything that a path may match, to close it.

    If the path cannot be converted, they match its literal beginning.
    """
    try:
        found = matches(path, host)
    except UnconvertibleError:
        text = written(path)
        start = beginning(text, is_regex=host.is_regex)
        found = [Match(({"regex": _longer(start, text)} if host.is_regex else {"prefix": start},))]
    return [it._replace(is_closed=True) for it in found]


def _plain(path: HTTPIngressPath, host: Host) -> Iterator[Document]:
    text = written(path)
    bare = text.rstrip("/")
    if path.path_type == "Exact":
        yield {"exact": text}
    elif path.path_type == "ImplementationSpecific":
        yield {"prefix": text}
    else:
        yield {"prefix": f"{bare}/"}
        if bare and bare not in host.exact:
            yield {"exact": bare}


def expression(text: str) -> Document:
    """The condition for a path of a host with expressions. Raises UnconvertibleError."""
    body = text.removeprefix("^")
    if text == "/":
        return {"prefix": "/"}
    if not body.startswith("/"):
        raise UnconvertibleError(f"the expression {text!r} does not begin with /")
    if refusal := regexes.refusal(body):
        raise UnconvertibleError(f"the expression {text!r} {refusal}")
    if _has_alternatives(body):
        raise UnconvertibleError(f"the expression {text!r} has alternatives outside of a group")
    found = _longer(body, text)
    if refusal := regexes.refusal(found):
        raise UnconvertibleError(f"{found!r} {refusal}")
    return {"regex": found}


def _longer(body: str, text: str) -> str:
    """The expression, made longer so that it ranks like `text` among those of its host.

    A flag that is repeated has no other effect.
    """
    flags = "i" * (1 + min(len(text), _MOST) - min(len(body), _MOST))
    return f"/(?{flags}:{body[1:]}.*)"


_MOST = 900
"""Characters up to which the rank is kept: expressions are limited to 1024."""


def _has_alternatives(text: str) -> bool:
    """Whether an expression has a | outside of all groups and classes."""
    shorter = re.sub(r"\\.|\[\^?\]?[^\]]*\]", "", text)
    while shorter != (found := re.sub(r"\([^()]*\)", "", shorter)):
        shorter = found
    return "|" in shorter


def beginning(text: str, *, is_regex: bool) -> str:
    """The characters with which everything begins that a path matches; a dot stands for any
    character."""
    if is_regex and _has_alternatives(text):
        return "/"
    body = text.removeprefix("^") if is_regex else text
    found = _LITERAL.match(body)
    start = found[0] if found else "/"
    is_repeated = is_regex and body[len(start) : len(start) + 1] in {"?", "*", "{"}
    return (start[:-1] if is_repeated else start) or "/"


_LITERAL = re.compile(r"/[\w\-./~%@:,=&!]*", re.ASCII)
"""Characters that mean themselves in an expression, and those before them."""

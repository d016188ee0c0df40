"""Matches of routes: the conditions that requests must meet."""

from typing import Literal, NamedTuple

from crds.records import dataclass
from dag.nodes.texts import HeaderMatch, ValueMatch


@dataclass(frozen=True, slots=True)
class Exact:
    """The whole path."""

    path: str


@dataclass(frozen=True, slots=True)
class Prefix:
    """The beginning of the path as a string: `/foo` matches `/foobar`."""

    path: str


@dataclass(frozen=True, slots=True)
class Segments:
    """The first elements of the path: `/foo` matches `/foo` and `/foo/bar`, not `/foobar`."""

    path: str
    """Without trailing slash; the prefix of everything is `Prefix("/")`."""


@dataclass(frozen=True, slots=True)
class Regex:
    """An RE2 expression that the whole path must match; it compiled when the node was made."""

    expression: str


Path = Exact | Prefix | Segments | Regex


@dataclass(frozen=True, slots=True)
class QueryMatch:
    """A condition on one query parameter; the name is case-sensitive."""

    name: str
    value: ValueMatch


class CookieMatch(NamedTuple):
    """A condition on the value of a cookie of this name."""

    name: str
    operator: Literal["exact", "regex"]
    value: str
    """As it was written."""
    expression: str
    """What the whole header `Cookie` must match; it compiled when the node was made."""


@dataclass(frozen=True, slots=True)
class Match:
    """The conditions of a route, all of which must hold. Routes with equal matches conflict."""

    path: Path = Prefix("/")
    method: str = ""  # any, if empty
    headers: tuple[HeaderMatch, ...] = ()  # sorted, without duplicates
    queries: tuple[QueryMatch, ...] = ()  # sorted, without duplicates
    is_grpc: bool = False
    """Only requests of gRPC (by their content type)."""
    drawn: int | None = None
    """Only requests for which a number below this one is drawn, from 0 to a million; None: all."""
    cookies: tuple[CookieMatch, ...] = ()  # sorted, without duplicates

"""Requests that a route takes, made up from what it asks for."""

from collections.abc import Iterator

from dag import nodes
from dag.evaluation import matching
from dag.evaluation.requests import Request
from dag.values import hostnames


def made_up(host: str, at: nodes.Listener | None, match: nodes.Match) -> Iterator[Request]:
    """A few requests that the match takes; none where a regular expression is not plain text."""
    is_secure = at is not None and at.protocol == "HTTPS"
    headers = [it for it in map(_header, match.headers) if it is not None]
    if match.is_grpc:
        headers.append(("content-type", "application/grpc"))
    cookies = "; ".join(f"{it.name}={it.value}" for it in match.cookies)
    headers += [("cookie", cookies)] if cookies else []
    queries = "&".join(f"{it.name}={_value(it.value)}" for it in match.queries)
    for path in _paths(match.path):
        request = Request(
            host=_name(host),
            path=path + (f"?{queries}" if queries else ""),
            method=match.method or "GET",
            headers=tuple(headers),
            port=at.port if at is not None else 80,
            is_secure=is_secure,
        )
        if next(matching.failures(match, request), None) is None:
            yield request


def joined(one: nodes.Match, other: nodes.Match) -> nodes.Match | None:
    """A match of requests that both take, if there can be some; the narrower of both paths."""
    if one.method and other.method and one.method != other.method:
        return None
    return nodes.Match(
        _narrower(one.path, other.path),
        one.method or other.method,
        tuple(dict.fromkeys((*one.headers, *other.headers))),
        tuple(dict.fromkeys((*one.queries, *other.queries))),
        one.is_grpc or other.is_grpc,
        cookies=tuple(sorted({*one.cookies, *other.cookies})),
    )


def _narrower(one: nodes.Path, other: nodes.Path) -> nodes.Path:
    if isinstance(one, nodes.Exact) or isinstance(other, nodes.Exact):
        return one if isinstance(one, nodes.Exact) else other
    if isinstance(one, nodes.Regex) or isinstance(other, nodes.Regex):
        return other if isinstance(one, nodes.Regex) else one
    return one if len(one.path) >= len(other.path) else other


def _name(host: str) -> str:
    return host.replace("*", "any", 1) if hostnames.is_wildcard(host) else host


def _paths(path: nodes.Path) -> Iterator[str]:
    match path:
        case nodes.Exact():
            yield path.path
        case nodes.Prefix():
            yield path.path
            yield f"{path.path}any"
        case nodes.Segments():
            yield path.path
            yield f"{path.path}/any"
        case nodes.Regex():
            yield path.expression


def _header(wanted: nodes.HeaderMatch) -> tuple[str, str] | None:
    """A header that meets the condition; None where it must not be there."""
    if wanted.name.startswith(":"):
        return None
    if wanted.inverted:
        is_absent = wanted.value.operator == "present" or wanted.missing_as_empty
        return None if is_absent else (wanted.name, f"not-{wanted.value.value}")
    return wanted.name, _value(wanted.value)


def _value(wanted: nodes.ValueMatch) -> str:
    return "any" if wanted.operator == "present" else wanted.value

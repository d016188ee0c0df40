"""Requests that match routes, made up from the conditions of the routes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from dag import nodes
from dag.comparison.samples import MOST, crossed, samples
from dag.evaluation import matching
from dag.evaluation.requests import Request
from dag.values import hostnames, paths


def made_up(host: str, at: nodes.Listener | None, *matches: nodes.Match) -> Iterator[Request]:
    """A few requests that satisfy all of the matches; none if no such values are found."""
    headers, queries = _headers(matches), _queries(matches)
    names, methods = _names(host, headers), _methods(headers)
    plain = {name: it for name, it in headers.items() if name not in _PSEUDO}
    values = (*map(_values, plain.values()), *map(_parameters, queries.values()))
    for name, method, path, *rest in _every(names, methods, _paths(matches, headers), *values):
        sent = list(zip((*plain, *queries), rest, strict=True))
        request = Request(
            host=str(name),
            path=_with_query(str(path), [f"{key}={it}" for key, it in sent[len(plain) :]]),
            method=str(method),
            headers=tuple((key, it) for key, it in sent[: len(plain)] if it is not None),
            port=at.port if at is not None else 80,
            is_secure=at is not None and at.protocol == "HTTPS",
        )
        if not any(failure for match in matches for failure in matching.failures(match, request)):
            yield request


def joined(one: nodes.Match, other: nodes.Match) -> nodes.Match | None:
    """A match of the requests that satisfy both, with the narrower path; None if none can."""
    if one.method and other.method and one.method != other.method:
        return None
    if not _meet(one.path, other.path):
        return None
    return nodes.Match(
        _narrower(one.path, other.path),
        one.method or other.method,
        tuple(dict.fromkeys((*one.headers, *other.headers))),
        tuple(dict.fromkeys((*one.queries, *other.queries))),
        one.is_grpc or other.is_grpc,
        cookies=tuple(sorted({*one.cookies, *other.cookies})),
    )


def others_left(match: nodes.Match, every: Iterable[nodes.Match]) -> nodes.Match | None:
    """A match of requests that violate the inverted header conditions of other matches; None if
    there are none on headers about which this match says nothing."""
    own = {it.name for it in match.headers}
    met = {it.name: it for one in every for it in one.headers if it.inverted}
    left = (nodes.HeaderMatch(it.name, it.value) for it in met.values() if it.name not in own)
    found = nodes.Match(headers=tuple(left))
    return found if found.headers else None


def _meet(one: nodes.Path, other: nodes.Path) -> bool:
    """Whether one path can match both; for regular expressions that is not known, so True."""
    if isinstance(one, nodes.Exact):
        return matching.is_path(other, one.path)
    if isinstance(other, nodes.Exact):
        return matching.is_path(one, other.path)
    if isinstance(one, nodes.Regex) or isinstance(other, nodes.Regex):
        return True
    return one.path.startswith(other.path) or other.path.startswith(one.path)


def _narrower(one: nodes.Path, other: nodes.Path) -> nodes.Path:
    if isinstance(one, nodes.Exact) or isinstance(other, nodes.Exact):
        return one if isinstance(one, nodes.Exact) else other
    if isinstance(one, nodes.Regex) or isinstance(other, nodes.Regex):
        return other if isinstance(one, nodes.Regex) else one
    return one if len(one.path) >= len(other.path) else other


Choices = Sequence[str | None]
"""The values that one part of a request may have; None stands for no value at all."""

_Headers = Mapping[str, Sequence[nodes.HeaderMatch]]
_PSEUDO = frozenset({":method", ":path", ":authority", "host"})
_CALL = nodes.HeaderMatch("content-type", nodes.ValueMatch("regex", r"application/grpc(\+.+)?"))


def _headers(matches: Iterable[nodes.Match]) -> _Headers:
    """The conditions on each header; cookies, the method and the content type of calls are some."""
    found: dict[str, list[nodes.HeaderMatch]] = {}
    for match in matches:
        method = nodes.HeaderMatch(":method", nodes.ValueMatch("exact", match.method))
        cookies = (nodes.ValueMatch("regex", it.expression) for it in match.cookies)
        for wanted in (
            *((method,) if match.method else ()),
            *match.headers,
            *(nodes.HeaderMatch("cookie", it) for it in cookies),
            *((_CALL,) if match.is_grpc else ()),
        ):
            found.setdefault(wanted.name, []).append(wanted)
    return found


def _queries(matches: Iterable[nodes.Match]) -> Mapping[str, Sequence[nodes.ValueMatch]]:
    found: dict[str, list[nodes.ValueMatch]] = {}
    for it in (query for match in matches for query in match.queries):
        found.setdefault(it.name, []).append(it.value)
    return found


def _every(*places: Choices) -> list[tuple[str | None, ...]]:
    found: list[tuple[str | None, ...]] = [()]
    for choices in places:
        found = [(*some, one) for some, one in crossed(found, choices)]
    return found


def _names(host: str, headers: _Headers) -> Choices:
    """Names for which the host stands: with a wildcard, of one label more and of two."""
    wanted = (*headers.get(":authority", ()), *headers.get("host", ()))
    usual = [host.replace("*", it, 1) for it in ("any", "any.any")]
    others = (it for it in _made_for(wanted) if _is_name_of(it, host))
    return _meeting(wanted, (*usual, *others))


def _is_name_of(text: str, host: str) -> bool:
    name = Request(text).name
    return hostnames.refusal(name) is None and hostnames.covers(host, name)


def _methods(headers: _Headers) -> Choices:
    wanted = headers.get(":method", ())
    usual = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS") if wanted else ("GET",)
    return _meeting(wanted, (*usual, *filter(str.isalpha, _made_for(wanted))))


def _paths(matches: Sequence[nodes.Match], headers: _Headers) -> Choices:
    """Paths as every match wants them, with a query where a condition on `:path` has one."""
    wanted = headers.get(":path", ())
    every = (*(path for it in matches for path in _paths_of(it.path)), *_made_for(wanted))
    met = (it for it in every if all(matching.is_path(one.path, _bare(it)) for one in matches))
    return _meeting(wanted, met)


def _bare(path: str) -> str:
    return path.partition("?")[0]


def _with_query(path: str, pairs: Sequence[str]) -> str:
    sign = "&" if "?" in path else "?"
    return f"{path}{sign}{'&'.join(pairs)}" if pairs else path


def _paths_of(path: nodes.Path) -> Iterator[str]:
    match path:
        case nodes.Exact():
            yield path.path
        case nodes.Prefix():
            yield path.path
            yield f"{path.path}any"
            yield f"{path.path}{'any' if path.path.endswith('/') else ''}/any"
        case nodes.Segments():
            yield path.path
            yield f"{path.path}/any"
        case nodes.Regex():
            yield from filter(_is_sent, samples(path.expression))


def _is_sent(path: str) -> bool:
    """Whether Envoy looks for a route by exactly this path, neither changing nor refusing it."""
    return "//" not in path and paths.refusal(path) is None


def _values(wanted: Sequence[nodes.HeaderMatch]) -> Choices:
    """Values that meet all conditions on one header; first of all none, if it may be missing."""
    made = _made_for(wanted)
    each = (_made_for([it])[:1] for it in wanted)
    return _meeting(wanted, (None, *made, *_ANY, "; ".join(chain.from_iterable(each))))


def _meeting(wanted: Sequence[nodes.HeaderMatch], values: Iterable[str | None]) -> Choices:
    met = (
        it
        for it in dict.fromkeys(values)
        if (it is None or _is_value(it)) and _meets_all(wanted, it)
    )
    return tuple(met)[:MOST]


def _meets_all(wanted: Sequence[nodes.HeaderMatch], value: str | None) -> bool:
    lines = () if value is None else (value,)
    return all(matching.is_header(it, lines) for it in wanted)


def _is_value(text: str) -> bool:
    """Whether this can be the value of a header, as it is."""
    return text.isascii() and (not text or text.isprintable()) and text == text.strip()


def _parameters(wanted: Sequence[nodes.ValueMatch]) -> Choices:
    """Values that meet all conditions on one query parameter."""
    in_order = sorted(wanted, key=lambda it: _PARTS.index(it.operator))
    made = [text for it in in_order for text in _texts(it)]
    every = dict.fromkeys((*made, "".join(it.value for it in in_order)))
    met = (it for it in every if all(matching.is_value(one, it) for one in wanted))
    return [it for it in met if _is_value(it) and {" ", "&", "#"}.isdisjoint(it)][:MOST]


_PARTS = ("prefix", "exact", "regex", "contains", "present", "suffix")
"""Operators, in the order in which their texts are joined to a value that meets them all."""


def _made_for(wanted: Iterable[nodes.HeaderMatch]) -> list[str]:
    return [text for it in wanted if not it.inverted for text in _texts(it.value)]


_ANY = ("any", "other", "1")


def _texts(wanted: nodes.ValueMatch) -> Sequence[str]:
    """Texts that meet one condition, the simplest first."""
    text = wanted.value
    match wanted.operator:
        case "exact":
            return (text, text.swapcase())
        case "prefix":
            return (text, f"{text}any")
        case "suffix":
            return (text, f"any{text}")
        case "contains":
            return (text, f"any{text}any")
        case "regex":
            return samples(text)
        case "present":
            return _ANY

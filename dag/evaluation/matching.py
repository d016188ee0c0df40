"""Whether a route takes a request, and if not, which of its conditions fails (Envoy, "RouteMatch").

Conditions are looked at in Envoy's order: the path, headers, the query.
"""

from collections.abc import Iterator, Sequence

from dag import nodes
from dag.evaluation.requests import Request
from dag.values import regexes


def failures(match: nodes.Match, request: Request) -> Iterator[str]:
    """The conditions of a route that a request does not meet, each as the end of a sentence."""
    if not is_path(match.path, request.bare_path):
        yield f"the path {request.bare_path} is not {described(match.path)}"
    if match.method and request.method != match.method:
        yield f"the method {request.method} is not {match.method}"
    if request.method == "TRACE" and not match.method:
        yield "the route does not ask for the method TRACE by name"
    yield from _of_fields(match, request)
    if match.is_grpc and not request.is_call:
        yield "the content type is not that of gRPC"


def _of_fields(match: nodes.Match, request: Request) -> Iterator[str]:
    for wanted in match.headers:
        if not is_header(wanted, request.values(wanted.name)):
            yield f"the header {wanted.name} is not {_told_value(wanted.value, wanted.inverted)}"
    for query in match.queries:
        if not is_query(query, request):
            yield f"the query parameter {query.name} is not {_told_value(query.value)}"
    for cookie in match.cookies:
        if not any(regexes.matches(cookie.expression, it) for it in request.values("cookie")):
            yield f"the cookie {cookie.name} is not {cookie.operator} {cookie.value!r}"


def is_path(wanted: nodes.Path, path: str) -> bool:
    """Whether a path without its query is the wanted one."""
    match wanted:
        case nodes.Exact():
            return path == wanted.path
        case nodes.Prefix():
            return path.startswith(wanted.path)
        case nodes.Segments():
            return path == wanted.path or path.startswith(wanted.path + "/")
        case nodes.Regex():
            return regexes.matches(wanted.expression, path)


def is_header(wanted: nodes.HeaderMatch, values: Sequence[str]) -> bool:
    """Whether a header with these values is as wanted: one of them, or none if it is inverted.

    A missing header meets no condition on its value, not even an inverted one, unless it counts
    as empty; it does meet that it must not be there.
    """
    if not values and wanted.missing_as_empty:
        values = ("",)
    if wanted.value.operator == "present":
        return bool(values) != wanted.inverted
    if not values:
        return False
    return any(is_value(wanted.value, it) for it in values) != wanted.inverted


def is_query(wanted: nodes.QueryMatch, request: Request) -> bool:
    """Whether the first parameter of that name is as wanted."""
    found = next((value for name, value in request.queries() if name == wanted.name), None)
    if found is None:
        return False
    return wanted.value.operator == "present" or is_value(wanted.value, found)


def is_value(wanted: nodes.ValueMatch, text: str) -> bool:
    """Whether a text is as wanted."""
    if wanted.operator == "regex":
        return regexes.matches(wanted.value, text)
    value = wanted.value.lower() if wanted.ignore_case else wanted.value
    found = text.lower() if wanted.ignore_case else text
    match wanted.operator:
        case "exact":
            return found == value
        case "prefix":
            return found.startswith(value)
        case "suffix":
            return found.endswith(value)
        case "contains":
            return value in found
        case "present":
            return True


def described(path: nodes.Path) -> str:
    """A condition on the path, for people."""
    match path:
        case nodes.Exact():
            return f"exactly {path.path}"
        case nodes.Prefix():
            return f"a string that begins with {path.path}"
        case nodes.Segments():
            return f"{path.path} or below it"
        case nodes.Regex():
            return f"matched by the regular expression {path.expression}"


def _told_value(wanted: nodes.ValueMatch, inverted: bool = False) -> str:
    words = "present" if wanted.operator == "present" else f"{wanted.operator} {wanted.value!r}"
    return f"other than {words}" if inverted else words

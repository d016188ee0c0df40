"""How Envoy normalizes a request before it looks for a route (Envoy, "HTTP connection manager").

Paths get their normal form (RFC 3986, section 6.2.2), or are refused or redirected, as the settings
say; so routes never see `..`, and no backend sees another path than the one that was matched.
"""

import re

from crds.records import replace
from dag.configuration.reading import Settings
from dag.evaluation.requests import Request, has_port
from dag.evaluation.trace import Answer

_ESCAPED_SLASH = re.compile(r"%(?:2f|5c)", re.IGNORECASE)
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")


def normal(request: Request, settings: Settings) -> Request | Answer:
    """The request as routes see it, or Envoy's answer to it."""
    edge = settings.edge
    if not request.host:
        return Answer(400, "the request names no host")
    if edge.underscores == "Reject" and any("_" in name for name, _ in request.headers):
        return Answer(400, "the name of a header has an underscore")
    path = _normal_path(request.path, settings)
    if edge.escaped_slashes != "Keep" and _ESCAPED_SLASH.search(path.partition("?")[0]):
        if edge.escaped_slashes == "Reject":
            return Answer(400, "the path has an escaped slash")
        path = _normal_path(_unescaped(path), settings)
        if edge.escaped_slashes == "UnescapeAndRedirect" and request.is_call:
            return Answer(400, "the path has an escaped slash, and gRPC knows no redirects")
        if edge.escaped_slashes == "UnescapeAndRedirect":
            cause = "the path has an escaped slash; the client is sent to the path without"
            return Answer(307, cause, path)
    if "," in request.host or "@" in request.host or request.host.endswith(":"):
        return Answer(400, "the request names several hosts, or no proper one")
    host = _without_dot(request.host) if settings.strip_trailing_host_dot else request.host
    headers = request.headers
    if edge.underscores == "Drop":
        headers = tuple(it for it in headers if "_" not in it[0])
    return replace(request, host=host, path=path, headers=headers)


def _without_dot(host: str) -> str:
    name, colon, port = host.rpartition(":") if has_port(host) else (host, "", "")
    return name.removesuffix(".") + colon + port


def _normal_path(path: str, settings: Settings) -> str:
    bare, question, query = path.partition("?")
    if settings.edge.normalize_path:
        bare = _without_dots(_ESCAPE.sub(_decoded, bare.replace("\\", "/")))
    if settings.merge_slashes:
        bare = re.sub("/{2,}", "/", bare)
    return bare + question + query


def _decoded(found: re.Match[str]) -> str:
    """A character that needs no escape; others stay as they are."""
    character = chr(int(found[1], 16))
    return character if _UNRESERVED.fullmatch(character) else found[0]


def _without_dots(path: str) -> str:
    """Without `.` and `..` (RFC 3986, section 5.2.4); empty segments stay."""
    kept: list[str] = []
    segments = path.split("/")
    for number, it in enumerate(segments):
        is_last = number == len(segments) - 1
        if it == "..":
            if len(kept) > 1:
                kept.pop()
        elif it != ".":
            kept.append(it)
            continue
        if is_last:
            kept.append("")
    return "/".join(kept) or "/"


def _unescaped(path: str) -> str:
    bare, question, query = path.partition("?")
    bare = re.sub("%2f", "/", bare, flags=re.IGNORECASE)
    return re.sub("%5c", "/", bare, flags=re.IGNORECASE) + question + query

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
_UNSAFE = re.compile(r'["<>^`{|}]')
"""Characters that Envoy escapes where clients do not."""
_PARAMETERS = re.compile(r"(?<=/)(\.\.?);[^/]*")
"""Path parameters of a dot segment, which is one all the same: `/..;a=b` is `/..`."""
_METHODS = frozenset({
    "ACL", "BIND", "CHECKOUT", "COPY", "DELETE", "GET", "HEAD", "LINK", "LOCK", "MERGE",
    "MKACTIVITY", "MKCALENDAR", "MKCOL", "MOVE", "MSEARCH", "NOTIFY", "OPTIONS", "PATCH", "POST",
    "PROPFIND", "PROPPATCH", "PURGE", "PUT", "QUERY", "REBIND", "REPORT", "SEARCH", "SOURCE",
    "SUBSCRIBE", "TRACE", "UNBIND", "UNLINK", "UNLOCK", "UNSUBSCRIBE",
})  # fmt: skip
"""Those that Envoy's parser of HTTP/1 knows, without CONNECT, which names no path there."""


def normal(request: Request, settings: Settings) -> Request | Answer:
    """The request as routes see it, or Envoy's answer to it."""
    if malformed := _malformation(request, settings):
        return Answer(400, malformed)
    path = _seen_path(request, settings)
    if isinstance(path, Answer):
        return path
    if "," in request.host or "@" in request.host or request.host.endswith(":"):
        return Answer(400, "the request names several hosts, or no proper one")
    host = _without_dot(request.host) if settings.strip_trailing_host_dot else request.host
    headers = request.headers
    if settings.edge.underscores == "Drop":
        headers = tuple(it for it in headers if "_" not in it[0])
    return replace(request, host=host, path=path, headers=headers)


def _malformation(request: Request, settings: Settings) -> str:
    """Why nothing is made of a request; empty if something is."""
    if request.method not in _METHODS and not request.is_http3:
        return f"Envoy takes no {request.method} with a path over HTTP/1.1"
    if request.method == "QUERY" and request.header("content-type") is None:
        return "a QUERY says no type of its content"
    if not request.host:
        return "the request names no host"
    if settings.edge.underscores == "Reject" and any("_" in name for name, _ in request.headers):
        return "the name of a header has an underscore"
    if settings.edge.normalize_path and "%00" in request.bare_path:
        return "the path has an escaped NUL"
    return ""


def _seen_path(request: Request, settings: Settings) -> str | Answer:
    """The path in its normal form; slashes are unescaped before it gets that."""
    wanted = settings.edge.escaped_slashes
    if wanted == "Keep" or not _ESCAPED_SLASH.search(request.bare_path):
        return _normal_path(request.path, settings)
    if wanted == "Reject":
        return Answer(400, "the path has an escaped slash")
    path = _normal_path(_unescaped(request.path), settings)
    if wanted == "UnescapeAndForward":
        return path
    if request.is_call:
        return Answer(400, "the path has an escaped slash, and gRPC knows no redirects")
    return Answer(
        307, "the path has an escaped slash; the client is sent to the path without", path
    )


def _without_dot(host: str) -> str:
    name, colon, port = host.rpartition(":") if has_port(host) else (host, "", "")
    return name.removesuffix(".") + colon + port


def _normal_path(path: str, settings: Settings) -> str:
    bare, question, query = path.partition("?")
    if settings.edge.normalize_path:
        bare = _PARAMETERS.sub(r"\1", bare).replace("\\", "/")
        bare = _UNSAFE.sub(_encoded, _without_dots(_ESCAPE.sub(_decoded, bare)))
    if settings.merge_slashes:
        bare = re.sub("/{2,}", "/", bare)
    return bare + question + query


def _decoded(found: re.Match[str]) -> str:
    """A character that needs no escape; others stay as they are."""
    character = chr(int(found[1], 16))
    return character if _UNRESERVED.fullmatch(character) else found[0]


def _encoded(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


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

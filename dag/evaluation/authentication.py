"""The keys and passwords that a request must show: whether it shows any.

Only Envoy knows the right ones, so whether they are right is not known here.
"""

from collections.abc import Iterator
from urllib.parse import unquote_plus

from dag import nodes
from dag.evaluation.requests import Request

UNDECIDED = "authentication: Envoy compares the key or the password"
"""The note of the trace if a request has credentials."""


def lacking(node: nodes.Authentication, request: Request) -> str:
    """Which credential a request lacks, in one sentence; empty if it shows all of them."""
    if node.key_sources and not any(_shows(it, request) for it in node.key_sources):
        places = ", ".join(f"{it.kind} {it.name}" for it in node.key_sources)
        return f"API key: the request has none ({places})"
    if node.has_passwords and not _has_password(request):
        return "basic authentication: the request has no name and password"
    return ""


def _shows(source: nodes.KeySource, request: Request) -> bool:
    if source.kind == "header":
        return request.header(source.name) is not None
    if source.kind == "query":
        return any(unquote_plus(name) == source.name for name, _ in request.queries())
    return source.name in cookies(request)


def cookies(request: Request) -> Iterator[str]:
    """The names of its cookies."""
    for name, value in request.headers:
        if name == "cookie":
            yield from (it.partition("=")[0].strip() for it in value.split(";"))


def _has_password(request: Request) -> bool:
    return (request.header("authorization") or "").lower().startswith("basic ")

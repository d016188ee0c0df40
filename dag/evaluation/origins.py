"""CSRF: whether a request comes from a page of another host, which may change nothing."""

from dag import nodes
from dag.evaluation import matching
from dag.evaluation.requests import Request

ALL = 1_000_000
"""The value of `Csrf.enforced` if it is enforced on every request."""
_CHANGING = ("POST", "PUT", "DELETE", "PATCH")


def refusal(node: nodes.Csrf, request: Request) -> str:
    """Why CSRF protection may refuse a request, in one sentence; empty if it may not."""
    if request.method not in _CHANGING:
        return ""
    source = _host(request.header("origin") or "") or _host(request.header("referer") or "")
    if not source:
        return "CSRF: the request has neither Origin nor Referer"
    if source == request.host or any(_is_one(it, source) for it in node.origins):
        return ""
    return f"CSRF: a page of {source} sends it"


def _is_one(wanted: nodes.ValueMatch, source: str) -> bool:
    return wanted.operator == "present" or matching.is_value(wanted, source)


def _host(url: str) -> str:
    """The host and the port of a URL; a text that is no URL is returned as it is."""
    _, sign, rest = url.partition("://")
    if not sign:
        return url
    for end in "/?#":
        rest = rest.partition(end)[0]
    return rest

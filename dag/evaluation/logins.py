"""The login that a request must show: whether it shows any.

Only Envoy has the key, so whether the cookies are right is not known here.
"""

from typing import NamedTuple

from dag import nodes
from dag.evaluation import authentication, matching
from dag.evaluation.requests import Request

UNDECIDED = "login: Envoy verifies the cookies"
"""The note of the trace if a request has cookies of a login."""


REDIRECT = 302
"""Envoy's filter sends it past the route, which changes no header of it."""


class Refusal(NamedTuple):
    """The answer to a request that may not pass."""

    status: int
    words: str


def refusal(node: nodes.Login, request: Request) -> Refusal | None:
    """The answer to a request, whether its cookies are right or not; None if that depends on them,
    or if it needs no login."""
    if is_passed(node, request):
        return None
    if request.bare_path == node.logout:
        return Refusal(REDIRECT, "login: the request ends it")
    if _shows(node, request):
        return None
    if request.bare_path == node.callback:
        return None if _has_begun(node, request) else Refusal(401, "login: nobody has begun it")
    if any(matching.is_header(it, request.values(it.name)) for it in node.denied):
        return Refusal(401, "login: the request has none, and is not to be redirected")
    words = f"login: the request has none, and is sent to {node.endpoints.authorization}"
    return Refusal(REDIRECT, words)


def is_passed(node: nodes.Login, request: Request) -> bool:
    """Whether a request needs no login, but a token."""
    return any(matching.is_header(it, request.values(it.name)) for it in node.passed)


def _has_begun(node: nodes.Login, request: Request) -> bool:
    """Whether a request has the cookie of a login under way; each login names its own."""
    return any(it.startswith(node.cookies.nonce) for it in authentication.cookies(request))


def _shows(node: nodes.Login, request: Request) -> bool:
    """Whether it has the cookies by which Envoy finds a login, or renews one."""
    names = set(authentication.cookies(request))
    if node.refreshes and node.cookies.refresh_token in names:
        return True
    return {node.cookies.hmac, node.cookies.expires} <= names

"""What is known of a client, as the proxies before Envoy tell it (Envoy, "X-Forwarded-For").

Envoy writes it before it looks for a route, whose conditions may be about it.
"""

import ipaddress
from collections.abc import Iterable, Sequence

from crds.records import replace
from dag import nodes
from dag.evaluation.requests import Request
from dag.evaluation.trace import Answer


def located(request: Request, at: nodes.ClientAddress) -> Request | Answer:
    """The request with the address of its client, or Envoy's answer to one that has none."""
    found = _found(request, at)
    if not found and at.fails_closed:
        return Answer(403, f"the header {at.header} has no address of the client")
    return replace(request, client=found)


def with_client_headers(
    request: Request, at: nodes.ClientAddress, ids: nodes.RequestId | None
) -> Request:
    """The request with the headers by which Envoy tells of its client, and its ID.

    What clients say of it is kept only where proxies are trusted.
    """
    is_first = not at.proxies and not at.header
    given = dict(request.headers)
    written: dict[str, str] = {}
    if (is_first and not at.hops) or _SCHEME not in given:
        written[_SCHEME] = request.scheme
    if is_first:
        written["x-envoy-external-address"] = request.address("Remote")
    is_kept = _ID in given and not (is_first and ids == "Generate")
    if not is_kept and ids not in ("Preserve", "Disable"):
        written[_ID] = SOME_ID
    others = (it for it in request.headers if it[0] not in written)
    return replace(request, headers=(*others, *written.items()))


_SCHEME = "x-forwarded-proto"
_ID = "x-request-id"
SOME_ID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
"""Stands for the random one."""


def _found(request: Request, at: nodes.ClientAddress) -> str:
    """The address of the client; empty if it is that of the peer."""
    if at.header:
        return _parsed(request.header(at.header) or "")
    forwarded = (request.header("x-forwarded-for") or "").split(",")
    if at.proxies:
        return _beyond(forwarded, request.source, at.proxies)
    return _parsed(forwarded[-at.hops]) if 0 < at.hops <= len(forwarded) else ""


def _beyond(forwarded: Sequence[str], peer: str, proxies: Iterable[str]) -> str:
    """The last address that is not of a trusted proxy, else the first one."""
    trusted = [ipaddress.ip_network(it) for it in proxies]
    address = ""
    for text in (peer, *reversed(forwarded)):
        found = _parsed(text)
        if not found or not any(ipaddress.ip_address(found) in it for it in trusted):
            return found if text is not peer else ""
        address = found
    return address


def _parsed(text: str) -> str:
    """An address; empty if it is none."""
    try:
        return str(ipaddress.ip_address(text.strip(" \t")))
    except ValueError:
        return ""

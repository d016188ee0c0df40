"""The address of a client, as the proxies before Envoy forward it (Envoy, "X-Forwarded-For")."""

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

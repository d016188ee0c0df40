"""The port of a redirect (Gateway API, "HTTPRequestRedirectFilter.port").

The one given, else the well-known one of the scheme if a scheme is given, else the listener's.
The well-known port of the scheme is left out. So a redirect is complete only when the listener is
known.
"""

from dataclasses import replace

from dag import hostnames, nodes
from dag.gateway.doors import Door

_WELL_KNOWN = {"http": 80, "https": 443}


def completed(route: nodes.Route, door: Door, host: str) -> nodes.Route:
    """The route as one listener serves it for one host."""
    if not isinstance(route.action, nodes.Redirect):
        return route
    return replace(route, action=_redirect(route.action, door, host))


def _redirect(redirect: nodes.Redirect, door: Door, host: str) -> nodes.Redirect:
    usual = _WELL_KNOWN[redirect.scheme or door.protocol.lower()]
    port = redirect.port or (usual if redirect.scheme else door.port)
    if port != usual:
        return replace(redirect, port=port)
    if not redirect.scheme and not redirect.port:
        # The client already is on this port, however it came to reach it.
        return replace(redirect, port=None)
    # Envoy keeps the port of the request's host, so the host is named to be rid of it.
    named = redirect.host if hostnames.is_wildcard(host) else redirect.host or host
    return replace(redirect, host=named, port=None)

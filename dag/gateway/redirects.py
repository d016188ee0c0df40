"""The port of a redirect (Gateway API, "HTTPRequestRedirectFilter.port").

The one given, else the well-known one of the scheme if a scheme is given, else the listener's. The
well-known port of the scheme is left out. So a redirect is complete only when the listener is
known.
"""

from dataclasses import replace

from dag import nodes
from dag.gateway.doors import Door

_WELL_KNOWN = {"http": 80, "https": 443}


def completed(route: nodes.Route, door: Door) -> nodes.Route:
    """The route as one listener serves it."""
    if not isinstance(route.action, nodes.Redirect):
        return route
    return replace(route, action=_redirect(route.action, door))


def _redirect(redirect: nodes.Redirect, door: Door) -> nodes.Redirect:
    scheme = redirect.scheme or door.protocol.lower()
    usual = _WELL_KNOWN[scheme]
    port = redirect.port or (usual if redirect.scheme else door.port)
    if port != usual:
        return replace(redirect, port=port)
    if redirect.scheme or redirect.port:
        # A scheme without a port means its usual one, whatever port the client wrote.
        return replace(redirect, scheme=scheme, port=None)
    return redirect

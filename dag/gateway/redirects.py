"""The port of a redirect (Gateway API, "HTTPRequestRedirectFilter.port").

The one given, else the well-known one of the scheme if a scheme is given, else the listener's. The
well-known port of the scheme is left out. So a redirect is complete only when the listener is
known.
"""

from crds.records import replace
from dag import nodes
from dag.gateway.servedlisteners import ServedListener
from dag.values import hostnames

_WELL_KNOWN = {"http": 80, "https": 443}


def completed(route: nodes.Route, owner: ServedListener, host: str) -> nodes.Route:
    """The route as one listener serves it for one host."""
    if not isinstance(route.action, nodes.Redirect):
        return route
    return replace(route, action=_redirect(route.action, owner, host))


def _redirect(redirect: nodes.Redirect, owner: ServedListener, host: str) -> nodes.Redirect:
    scheme = redirect.scheme or owner.protocol.lower()
    usual = _WELL_KNOWN[scheme]
    port = redirect.port or (usual if redirect.scheme else owner.port)
    if port != usual or _would_stay(redirect, owner, host):
        return replace(redirect, port=port)
    if redirect.scheme or redirect.port:
        # A scheme without a port means its usual one, whatever port the client wrote.
        return replace(redirect, scheme=scheme, port=None)
    return redirect


def _would_stay(redirect: nodes.Redirect, owner: ServedListener, host: str) -> bool:
    """Envoy keeps the port that the client wrote, unless it is a usual one or the host is named."""
    is_named = redirect.host is not None or not hostnames.is_wildcard(host)
    return not is_named and owner.port not in _WELL_KNOWN.values()

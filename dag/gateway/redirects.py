"""The port of a redirect (Gateway API, "HTTPRequestRedirectFilter.port").

It is the given port; else, if a scheme is given, the well-known port of that; else the listener's.
The well-known port of the scheme is left out. So a redirect is complete only when the listener is
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
        # A scheme without a port means its well-known port, whatever port the client wrote.
        return replace(redirect, scheme=scheme, port=None)
    return redirect


def _would_stay(redirect: nodes.Redirect, owner: ServedListener, host: str) -> bool:
    """Whether Envoy would keep the client's port: no host is set, the port not well-known."""
    is_named = redirect.host is not None or not hostnames.is_wildcard(host)
    return not is_named and owner.port not in _WELL_KNOWN.values()

"""Redirects from plain HTTP to HTTPS on the same host, for Ingress and HTTPProxy alike."""

from dag import entrypoints, nodes, ports
from dag.engine.view import View


def to_https(view: View) -> nodes.Redirect | nodes.Respond:
    """A redirect to the port at which clients find the HTTPS listener, left out if it is 443.

    If there is no HTTPS listener, the answer is 503: a redirect would lead nowhere, and serving the
    request in the clear would expose what is meant for TLS.
    """
    listener = view.ask(entrypoints.secure_listener, ())
    if listener is None:
        return nodes.Respond(503)
    port = ports.seen(view, listener)
    return nodes.Redirect(301, scheme="https", port=None if port == 443 else port)

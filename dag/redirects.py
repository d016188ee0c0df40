"""The redirect from plain HTTP to the same host behind TLS, for Ingress and HTTPProxy alike."""

from dag import listeners, nodes
from dag.view import View


def to_https(view: View) -> nodes.Redirect:
    """To the port that users see, which is left out where it is the usual one."""
    listener = view.ask(listeners.secure_listener, ())
    port = listener.port if listener is not None else 443
    return nodes.Redirect(301, scheme="https", port=None if port == 443 else port)

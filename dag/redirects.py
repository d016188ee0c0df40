"""From plain HTTP to the same host behind TLS, for Ingress and HTTPProxy alike."""

from dag import entrypoints, nodes, tables
from dag.engine.view import View


def to_https(view: View) -> nodes.Redirect | nodes.Respond:
    """To the port at which clients find the listener, left out where it is 443.

    Where no listener serves TLS, what was meant for it is answered with 503: a redirect would lead
    nowhere, and to serve it in the clear would open it.
    """
    listener = view.ask(entrypoints.secure_listener, ())
    if listener is None:
        return nodes.Respond(503)
    port = _seen(view, listener)
    return nodes.Redirect(301, scheme="https", port=None if port == 443 else port)


def _seen(view: View, listener: nodes.Listener) -> int:
    """The port that clients ask for.

    A Service, or whoever chose the local port, lets clients ask for the listener's port. A
    process that serves one machine and binds another port by itself has nobody who translates it.
    """
    machine = view.read(tables.HOST_PORTS, ())
    if machine is None or listener.port in dict(machine.overrides):
        return listener.port
    return listener.bind_port

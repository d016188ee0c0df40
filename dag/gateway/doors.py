"""What the listeners of a Gateway ask of routes: the part of them that attachment depends on.

Apart from what serves them (`listeners`): a certificate that breaks must not make thousands of
routes attach anew, and a broken listener still counts its routes. Which kinds of routes fit which
protocol: Gateway API, "ListenerStatus.supportedKinds".
"""

from collections.abc import Mapping
from dataclasses import dataclass

from crds.gateway.gateway import Listener, RouteNamespaces
from crds.gateway.references import GROUP
from crds.meta import NamespacedName
from dag import hostnames, settings, tables
from dag.configuration import Ports
from dag.statuses import RouteKind
from dag.view import View, query

KINDS: Mapping[str, tuple[RouteKind, ...]] = {
    "HTTP": (RouteKind("HTTPRoute", GROUP),),
    "HTTPS": (RouteKind("HTTPRoute", GROUP),),
}
"""The kinds of routes that are served, by protocol; a protocol that is absent is not served."""


@dataclass(frozen=True, slots=True)
class Door:
    """A listener, as routes see it."""

    section: str
    """Its name in the Gateway."""
    listener: str
    """The name of the Envoy listener."""
    protocol: str
    port: int
    host: str
    """`*` for every host."""
    kinds: tuple[RouteKind, ...]
    """The kinds of routes that it takes, and that we serve."""
    namespaces: RouteNamespaces


@query
def doors(view: View, gateway: NamespacedName) -> tuple[Door, ...]:
    """The listeners of a Gateway, in its order."""
    found, ports = view.read(tables.GATEWAYS, gateway), view.ask(settings.ports, ())
    return tuple(_door(it, ports) for it in found.spec.listeners) if found else ()


def _door(listener: Listener, ports: Ports) -> Door:
    return Door(
        section=listener.name,
        listener=_name(listener.protocol, listener.port, ports),
        protocol=listener.protocol,
        port=listener.port,
        host=listener.hostname or hostnames.EVERY,
        kinds=_kinds(listener),
        namespaces=listener.allowed_routes.namespaces,
    )


def _name(protocol: str, port: int, ports: Ports) -> str:
    """The name of Ingress and HTTPProxy on their ports, so that a Gateway takes those over."""
    if (protocol, port) == ("HTTP", ports.http):
        return "ingress_http"
    if (protocol, port) == ("HTTPS", ports.https):
        return "ingress_https"
    return f"{protocol.lower()}-{port}"


def _kinds(listener: Listener) -> tuple[RouteKind, ...]:
    served = KINDS.get(listener.protocol, ())
    wanted = {(it.group, it.kind) for it in listener.allowed_routes.kinds}
    return tuple(it for it in served if not wanted or (it.group, it.kind) in wanted)

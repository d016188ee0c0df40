"""What listeners ask of routes: the part of them that attachment depends on.

They are listeners of a Gateway or of a ListenerSet. This is separate from whether they are served
(`listeners`): a broken certificate must not make thousands of routes attach anew, and a broken
listener still counts its routes. Which kinds of routes fit which protocol: Gateway API,
"ListenerStatus.supportedKinds".
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from crds.gateway.gateway import Listener, RouteNamespaces
from crds.gateway.references import GROUP
from crds.meta import ObjectRef
from crds.records import dataclass
from dag import tables
from dag.configuration import settings
from dag.configuration.reading import Ports
from dag.engine.view import View, query
from dag.gateway import certificates
from dag.statuses import RouteKind
from dag.values import hostnames

Family = Literal["HTTP", "HTTPS", "TCP", "UDP"]
"""The kind of protocol of a port. Listeners of one family can share it; HTTPS and TLS are one."""

FAMILIES: Mapping[str, Family] = {
    "HTTP": "HTTP",
    "HTTPS": "HTTPS",
    "TLS": "HTTPS",
    "TCP": "TCP",
    "UDP": "UDP",
}
"""By protocol; a protocol that is absent is not served."""

_KINDS: Mapping[str, tuple[RouteKind, ...]] = {
    "HTTP": (RouteKind("HTTPRoute", GROUP), RouteKind("GRPCRoute", GROUP)),
    "HTTPS": (RouteKind("HTTPRoute", GROUP), RouteKind("GRPCRoute", GROUP)),
    "TLS": (RouteKind("TLSRoute", GROUP),),
    "TCP": (RouteKind("TCPRoute", GROUP),),
    "UDP": (RouteKind("UDPRoute", GROUP),),
}
_TERMINATED_KINDS = (*_KINDS["TLS"], *_KINDS["TCP"])
"""The route kinds of a TLS listener that terminates TLS: what it decrypts is a TCP stream."""


class Section(NamedTuple):
    """One listener of a Gateway or ListenerSet."""

    holder: ObjectRef
    name: str


@dataclass(frozen=True, slots=True)
class ListenerSpec:
    """A listener, as routes see it."""

    section: Section
    listener: str
    """The name of the Envoy listener."""
    protocol: str
    port: int
    host: str
    """`*` for every host."""
    kinds: tuple[RouteKind, ...]
    """The kinds of routes that it allows and that we serve."""
    namespaces: RouteNamespaces
    allows_certificates: bool = False
    """Routes may bring certificates for their hosts."""

    @property
    def family(self) -> Family | None:
        """The family of its protocol; None if the protocol is not served."""
        return FAMILIES.get(self.protocol)


@query
def specs(view: View, holder: ObjectRef) -> tuple[ListenerSpec, ...]:
    """The listeners of a Gateway or ListenerSet, in its order."""
    found, ports = view.read(tables.BY_KIND[holder.kind], holder.key), view.ask(settings.ports, ())
    return tuple(_spec(it, holder, ports) for it in found.spec.listeners) if found else ()


def _spec(listener: Listener, holder: ObjectRef, ports: Ports) -> ListenerSpec:
    return ListenerSpec(
        section=Section(holder, listener.name),
        listener=_name(listener, ports),
        protocol=listener.protocol,
        port=listener.port,
        host=listener.hostname or hostnames.EVERY,
        kinds=_kinds(listener),
        namespaces=listener.allowed_routes.namespaces,
        allows_certificates=certificates.allows_others(listener),
    )


def _name(listener: Listener, ports: Ports) -> str:
    """The name of the Envoy listener; on ports of Ingress and HTTPProxy theirs, to share it."""
    family = FAMILIES.get(listener.protocol, listener.protocol)
    if (family, listener.port) == ("HTTP", ports.http):
        return "ingress_http"
    if (family, listener.port) == ("HTTPS", ports.https):
        return "ingress_https"
    return f"{family.lower()}-{listener.port}"


def terminates(listener: Listener) -> bool:
    """Whether TLS ends at a listener."""
    is_passed = listener.tls is not None and listener.tls.mode == "Passthrough"
    return FAMILIES.get(listener.protocol) == "HTTPS" and not is_passed


def _kinds(listener: Listener) -> tuple[RouteKind, ...]:
    is_ended = listener.protocol == "TLS" and terminates(listener)
    served = _TERMINATED_KINDS if is_ended else _KINDS.get(listener.protocol, ())
    wanted = {(it.group, it.kind) for it in listener.allowed_routes.kinds}
    return tuple(it for it in served if not wanted or (it.group, it.kind) in wanted)

"""Our own annotations, by the kind of object on which they are read.

Those that users write. What our own programs write on objects that they make is not listed, so only
kinds of which we make none are looked at. Where each is read: `dag.classes`, `dag.ingress`,
`dag.limits`, `dag.services`, `dag.gateway.overrides`.
"""

from collections.abc import Mapping

PREFIX = "projectcontour.io/"

_CLASS = f"{PREFIX}ingress.class"
_ROUTE: frozenset[str] = frozenset()

OURS: Mapping[str, frozenset[str]] = {
    "Ingress": frozenset(
        {
            _CLASS,
            "ingress.kubernetes.io/force-ssl-redirect",
            f"{PREFIX}num-retries",
            f"{PREFIX}per-try-timeout",
            f"{PREFIX}request-timeout",
            f"{PREFIX}response-timeout",
            f"{PREFIX}retry-on",
            f"{PREFIX}tls-cert-namespace",
            f"{PREFIX}tls-maximum-protocol-version",
            f"{PREFIX}tls-minimum-protocol-version",
            f"{PREFIX}websocket-routes",
        }
    ),
    "HTTPProxy": frozenset({_CLASS}),
    "HTTPRoute": frozenset({f"{PREFIX}certificate"}),
    "GRPCRoute": _ROUTE,
    "TLSRoute": _ROUTE,
    "TCPRoute": _ROUTE,
    "UDPRoute": _ROUTE,
    "Gateway": frozenset(),
    "ListenerSet": frozenset(),
    "Service": frozenset(
        {
            f"{PREFIX}local-addresses",
            f"{PREFIX}max-connections",
            f"{PREFIX}max-pending-requests",
            f"{PREFIX}max-requests",
            f"{PREFIX}max-retries",
            f"{PREFIX}per-host-max-connections",
            f"{PREFIX}upstream-protocol.h2",
            f"{PREFIX}upstream-protocol.h2c",
            f"{PREFIX}upstream-protocol.tls",
        }
    ),
}
"""By kind."""


def unknown(annotations: Mapping[str, str], kind: str) -> tuple[str, ...]:
    """Annotations under our prefix that nothing reads on this kind, sorted."""
    ours = OURS[kind]
    return tuple(sorted(it for it in annotations if it.startswith(PREFIX) and it not in ours))

"""Which hosts Ingress and HTTPProxy claim, by what they want: indexes over the claims.

Elsewhere: what becomes of the claims of all APIs for one host (`dag.hosts`).
"""

from collections.abc import Iterator

from dag import nodes
from dag.engine.view import Index, View
from dag.httpproxy import claims as httpproxy_claims
from dag.ingress import claims as ingress_claims
from dag.values import hostnames


def _fallbacks(fqdn: str, found: nodes.Claim) -> Iterator[tuple[str, str]]:
    if found.is_fallback:
        yield hostnames.EVERY, fqdn


FALLBACKS: Index[str, str] = Index("hosts of the fallback", httpproxy_claims.claim, _fallbacks)


def _protocol(fqdn: str, found: nodes.Claim) -> Iterator[tuple[nodes.Protocol, str]]:
    is_secure = (found.tls is not None and found.secure) or found.host is not None
    yield "HTTPS" if is_secure else "HTTP", fqdn


PROXIED: Index[nodes.Protocol, str] = Index(
    "hosts of HTTPProxies by protocol", httpproxy_claims.claim, _protocol
)
INGRESSED: Index[nodes.Protocol, str] = Index(
    "hosts of Ingresses by protocol", ingress_claims.claim, _protocol
)


def has_hosts(view: View, protocol: nodes.Protocol) -> bool:
    """Whether a host of Ingress or HTTPProxy wants a protocol; HTTP, if it wants no other."""
    return any(view.count(it, protocol) > 0 for it in (PROXIED, INGRESSED))


ASKING: Index[str, None] = Index(
    "hosts that ask for TLS",
    httpproxy_claims.claim,
    lambda fqdn, found: [(fqdn, None)] if found.asks_for_tls else [],
)


def _wildcard(host: str, _: nodes.Claim) -> Iterator[tuple[str, None]]:
    if hostnames.is_wildcard(host):
        yield host, None


PROXIED_WILDCARDS: Index[str, None] = Index(
    "wildcards of HTTPProxies", httpproxy_claims.claim, _wildcard
)
INGRESSED_WILDCARDS: Index[str, None] = Index(
    "wildcards of Ingresses", ingress_claims.claim, _wildcard
)
WILDCARDS = (PROXIED_WILDCARDS, INGRESSED_WILDCARDS)

INDEXES = (FALLBACKS, PROXIED, INGRESSED, ASKING, PROXIED_WILDCARDS, INGRESSED_WILDCARDS)

"""Which hosts Ingress and HTTPProxy claim, by what they want, and what a wildcard means there.

Elsewhere: what becomes of the claims of all APIs for one host (`dag.hosts`).
"""

from collections.abc import Iterator

from crds.records import replace
from dag import nodes
from dag.engine.view import Index, View
from dag.httpproxy import claims as httpproxy_claims
from dag.ingress import claims as ingress_claims
from dag.values import hostnames, regexes


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


def asking(view: View, host: str) -> nodes.Claim | None:
    """What asks for TLS for a host, whether it can be served or not; HTTPProxy first."""
    return next((it for it in claims_of(view, host) if it.asks_for_tls), None)


def claims_of(view: View, host: str) -> Iterator[nodes.Claim]:
    """What HTTPProxy and Ingress want for a host, in the order of precedence."""
    for asked in (httpproxy_claims.claim, ingress_claims.claim):
        if (found := view.ask(asked, host)) is not None:
            yield found


def _asking(host: str, found: nodes.Claim) -> Iterator[tuple[str, None]]:
    if found.asks_for_tls and found.tls is None and found.host is None:
        yield host, None


PROXIED_ASKING: Index[str, None] = Index(
    "hosts of HTTPProxies that lack their TLS", httpproxy_claims.claim, _asking
)
INGRESSED_ASKING: Index[str, None] = Index(
    "hosts of Ingresses that lack their TLS", ingress_claims.claim, _asking
)
ASKING = (PROXIED_ASKING, INGRESSED_ASKING)
"""The hosts that ask for TLS and get none by the same API."""


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


def for_one_label(route: nodes.Route, host: str) -> nodes.Route:
    """Restricts a wildcard of Ingress and HTTPProxy to one label; the Gateway API's stands for any.

    Envoy's stands for any, so routes of these APIs match the host again (Ingress, "Hostname
    wildcards").
    """
    if host == hostnames.EVERY or route.origin.kind not in _ONE_LABEL:
        return route
    suffix = regexes.quoted(host.removeprefix("*"))
    expression = f"(?i)[a-z0-9]([-a-z0-9]*[a-z0-9])?{suffix}(:[0-9]+)?"
    condition = nodes.HeaderMatch(":authority", nodes.ValueMatch("regex", expression))
    headers = (*route.match.headers, condition)
    return replace(route, match=replace(route.match, headers=headers))


def without_upgrades(route: nodes.Route, claim: nodes.Claim) -> nodes.Route:
    """The route of another API, which takes no WebSockets where an HTTPProxy limits the requests of
    its host: Envoy would read such a request to its end, and never forward it."""
    is_limited = claim.policies is not None and claim.policies.body_limit
    if not is_limited or not isinstance(route.action, nodes.Forward) or not route.action.websockets:
        return route
    return replace(route, action=replace(route.action, websockets=False))


_ONE_LABEL = frozenset({"Ingress", "HTTPProxy"})

INDEXES = (FALLBACKS, PROXIED, INGRESSED, *ASKING, *WILDCARDS)

"""Annotations of Traefik, under `traefik.ingress.kubernetes.io/`.

Sources: its documentation, "Kubernetes Ingress Routing Configuration" (3.x), "Kubernetes Ingress
Provider" (1.x, which also read `ingress.kubernetes.io/`). A middleware or a TLS option is defined
elsewhere and may guard anything, so it counts as a guard.
"""

from dag.foreign import effects
from dag.foreign.effects import Table, behaviour, guard, harmless, is_narrow

_USUAL = frozenset({"web", "websecure", "http", "https"})
"""The names that Traefik's documentation and charts give to the public entry points."""


def is_inner(value: str) -> bool:
    """Whether an entry point has another name: it may be open to a few clients, here to all."""
    return not {it.strip() for it in value.split(",") if it.strip()} <= _USUAL


_NOW: Table = {
    **guard("router.middlewares", effects.AUTHORIZATION),
    **guard("router.tls.options", effects.CLIENTS),
    **guard("router.entrypoints", "", is_inner),
    **behaviour("router.pathmatcher", "pathType"),
    **behaviour("router.priority router.rulesyntax", effects.CONDITIONS),
    **behaviour(
        "router.tls router.tls.certresolver router.tls.domains.n.main router.tls.domains.n.sans",
        "spec.tls",
    ),
    **behaviour("service.passhostheader", effects.REQUEST_HEADERS),
    **behaviour("service.serversscheme", effects.PROTOCOL),
    **behaviour("service.serverstransport", effects.UPSTREAM_TLS),
    **behaviour(
        "service.sticky service.sticky.cookie service.sticky.cookie.domain"
        " service.sticky.cookie.httponly service.sticky.cookie.maxage service.sticky.cookie.name"
        " service.sticky.cookie.path service.sticky.cookie.samesite service.sticky.cookie.secure",
        effects.BALANCING,
    ),
    **harmless("service.nativelb service.nodeportlb"),
    **harmless("router.observability.tracing", effects.TRACING),
    **harmless("router.observability.accesslogs router.observability.metrics", effects.LOGS),
}

FIRST: Table = {
    **guard("auth-type auth-url", effects.AUTHORIZATION),
    **guard("whitelist-source-range", effects.ALLOW, is_narrow),
    **guard("rate-limit max-conn-amount", effects.LOCAL_LIMIT),
    **guard("frontend-entry-points", "", is_inner),
    **guard("allowed-hosts"),
    **behaviour(
        "auth-realm auth-remove-header auth-response-headers auth-secret auth-tls-insecure"
        " auth-tls-secret auth-trust-headers",
        effects.AUTHORIZATION,
    ),
    **behaviour("max-conn-extractor-func", effects.LOCAL_LIMIT),
    **behaviour("whitelist-x-forwarded-for", effects.ALLOW),
    **behaviour("affinity load-balancer-method session-cookie-name", effects.BALANCING),
    **behaviour(
        "app-root redirect-permanent redirect-regex redirect-replacement ssl-force-host ssl-host",
        effects.REDIRECT,
    ),
    **behaviour(
        "redirect-entry-point ssl-proxy-headers ssl-redirect ssl-temporary-redirect",
        effects.TO_HTTPS,
    ),
    **behaviour("request-modifier rewrite-target rule-type", effects.REWRITE),
    **behaviour("service-weights", effects.WEIGHT),
    **behaviour("priority", effects.CONDITIONS),
    **behaviour("protocol", effects.PROTOCOL),
    **behaviour("error-pages", effects.PAGES),
    **behaviour("buffering", effects.BODY),
    **behaviour("pass-client-tls-cert pass-tls-cert", effects.CLIENTS),
    **behaviour(
        "custom-request-headers is-development preserve-host proxy-headers",
        effects.REQUEST_HEADERS,
    ),
    **behaviour(
        "browser-xss-filter content-security-policy content-type-nosniff custom-browser-xss-value"
        " custom-frame-options-value custom-response-headers force-hsts frame-deny"
        " hsts-include-subdomains hsts-max-age hsts-preload public-key referrer-policy",
        effects.RESPONSE_HEADERS,
    ),
    **behaviour("circuit-breaker-expression responseforwarding-flushinterval"),
}

ANNOTATIONS: Table = {**FIRST, **_NOW}

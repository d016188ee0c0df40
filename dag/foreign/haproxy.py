"""Annotations of HAProxy's Kubernetes Ingress Controller, under `haproxy.org/` and `haproxy.com/`.

Source: its documentation, "Available annotations" (3.2, with what 1.x called otherwise). A setting
that it reads only from its ConfigMap has no effect on an object there either, and counts as
harmless.
"""

from dag.foreign import effects
from dag.foreign.effects import Table, behaviour, guard, harmless, is_narrow, snippets

ANNOTATIONS: Table = {
    **guard("auth-type", effects.AUTHORIZATION),
    **guard("allow-list whitelist", effects.ALLOW, is_narrow),
    **guard("blacklist deny-list", effects.DENY),
    **guard("rate-limit rate-limit-requests", effects.LOCAL_LIMIT),
    **guard("route-acl", effects.CONDITIONS),
    **snippets("backend-config-snippet config-snippet"),
    **behaviour("auth-realm auth-secret", effects.AUTHORIZATION),
    **behaviour(
        "rate-limit-interval rate-limit-period rate-limit-size rate-limit-status-code"
        " rate-limit-whitelist",
        effects.LOCAL_LIMIT,
    ),
    **behaviour("check check-http check-interval timeout-check", effects.HEALTH),
    **behaviour("cookie-persistence cookie-persistence-no-dynamic load-balance", effects.BALANCING),
    **behaviour(
        "cors-allow-credentials cors-allow-headers cors-allow-methods cors-allow-origin cors-enable"
        " cors-max-age",
        effects.CORS,
    ),
    **behaviour("forwarded-for set-host src-ip-header", effects.REQUEST_HEADERS),
    **behaviour("request-set-header", effects.REQUEST_HEADERS),
    **behaviour("response-set-header", effects.RESPONSE_HEADERS),
    **behaviour("path-rewrite", effects.REWRITE),
    **behaviour("request-redirect request-redirect-code", effects.REDIRECT),
    **behaviour("ssl-redirect ssl-redirect-code ssl-redirect-port", effects.TO_HTTPS),
    **behaviour("ssl-passthrough", effects.PASSTHROUGH),
    **behaviour("server-ca server-crt", effects.UPSTREAM_TLS),
    **behaviour("server-proto server-ssl", effects.PROTOCOL),
    **behaviour("pod-maxconn", effects.CONNECTIONS),
    **behaviour("timeout-server", effects.TIMEOUT),
    **behaviour("ingress.class send-proxy-protocol"),
    **harmless("request-capture request-capture-len", effects.LOGS),
    **harmless("scale-server-slots standalone-backend"),
    **harmless(
        "clean-certs client-ca client-crt-optional client-strict-sni dontlognull"
        " frontend-config-snippet generate-certificates-signer global-config-snippet"
        " hard-stop-after http-connection-mode http-keep-alive http-server-close log-format"
        " log-format-tcp logasap maxconn nbthread proxy-protocol quic-alt-svc-max-age"
        " ssl-certificate stats-config-snippet syslog-server timeout-client timeout-client-fin"
        " timeout-connect timeout-http-keep-alive timeout-http-request timeout-queue"
        " timeout-server-fin timeout-tunnel tls-alpn"
    ),
}

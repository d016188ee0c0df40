"""Annotations of ingress-nginx, under `nginx.ingress.kubernetes.io/`, and guards of its ConfigMap.

Source: its user guide, "Annotations" and "Annotations Scope and Risk" (the last releases, with what
earlier ones had). An annotation that only refines a guard is a behaviour: the guard itself is
another annotation.
"""

from dag.foreign import effects
from dag.foreign.effects import Table, behaviour, guard, harmless, is_narrow, snippets

ANNOTATIONS: Table = {
    **guard("auth-type auth-url", effects.AUTHORIZATION),
    **guard("auth-tls-secret", effects.CLIENTS),
    **guard("allowlist-source-range whitelist-source-range", effects.ALLOW, is_narrow),
    **guard("denylist-source-range", effects.DENY),
    **guard("limit-connections limit-rps limit-rpm", effects.LOCAL_LIMIT),
    **guard("global-rate-limit", effects.GLOBAL_LIMIT),
    **guard("enable-modsecurity enable-owasp-core-rules modsecurity-snippet lua-resty-waf"),
    **snippets("configuration-snippet server-snippet stream-snippet"),
    **behaviour(
        "auth-always-set-cookie auth-cache-duration auth-cache-key auth-keepalive"
        " auth-keepalive-requests auth-keepalive-share-vars auth-keepalive-timeout auth-method"
        " auth-proxy-set-headers auth-realm auth-request-redirect auth-response-headers auth-secret"
        " auth-secret-type auth-signin auth-signin-redirect-param auth-snippet enable-global-auth"
        " satisfy",
        effects.AUTHORIZATION,
    ),
    **behaviour(
        "auth-tls-error-page auth-tls-match-cn auth-tls-pass-certificate-to-upstream"
        " auth-tls-verify-client auth-tls-verify-depth",
        effects.CLIENTS,
    ),
    **behaviour(
        "limit-allowlist limit-burst-multiplier limit-rate limit-rate-after limit-whitelist",
        effects.LOCAL_LIMIT,
    ),
    **behaviour(
        "global-rate-limit-ignored-cidrs global-rate-limit-key global-rate-limit-window",
        effects.GLOBAL_LIMIT,
    ),
    **behaviour(
        "affinity affinity-canary-behavior affinity-mode load-balance"
        " session-cookie-change-on-failure session-cookie-conditional-samesite-none"
        " session-cookie-domain session-cookie-expires"
        " session-cookie-hash session-cookie-max-age session-cookie-name session-cookie-partitioned"
        " session-cookie-path session-cookie-samesite session-cookie-secure upstream-hash-by"
        " upstream-hash-by-subset upstream-hash-by-subset-size",
        effects.BALANCING,
    ),
    **behaviour(
        "app-root from-to-www-redirect permanent-redirect permanent-redirect-code"
        " temporal-redirect temporal-redirect-code",
        effects.REDIRECT,
    ),
    **behaviour("force-ssl-redirect ssl-redirect", effects.TO_HTTPS),
    **behaviour("rewrite-target", effects.REWRITE),
    **behaviour("use-regex", "pathType ImplementationSpecific"),
    **behaviour("backend-protocol grpc-backend secure-backends", effects.PROTOCOL),
    **behaviour("canary canary-weight canary-weight-total", effects.WEIGHT),
    **behaviour(
        "canary-by-cookie canary-by-header canary-by-header-pattern canary-by-header-value",
        effects.CONDITIONS,
    ),
    **behaviour(
        "cors-allow-credentials cors-allow-headers cors-allow-methods cors-allow-origin"
        " cors-expose-headers cors-max-age enable-cors",
        effects.CORS,
    ),
    **behaviour("custom-http-errors default-backend", effects.PAGES),
    **behaviour("custom-headers proxy-redirect-from proxy-redirect-to", effects.RESPONSE_HEADERS),
    **behaviour("upstream-vhost x-forwarded-prefix", effects.REQUEST_HEADERS),
    **behaviour("mirror-host mirror-request-body mirror-target mirror-uri", effects.MIRROR),
    **behaviour("proxy-body-size", effects.BODY),
    **behaviour("proxy-connect-timeout", effects.CONNECT_TIMEOUT),
    **behaviour("proxy-read-timeout proxy-send-timeout", effects.TIMEOUT),
    **behaviour("proxy-cookie-domain proxy-cookie-path", effects.COOKIES),
    **behaviour(
        "proxy-next-upstream proxy-next-upstream-timeout proxy-next-upstream-tries"
        " upstream-fail-timeout upstream-max-fails",
        effects.RETRY,
    ),
    **behaviour(
        "proxy-ssl-ciphers proxy-ssl-name proxy-ssl-protocols proxy-ssl-secret"
        " proxy-ssl-server-name proxy-ssl-verify proxy-ssl-verify-depth secure-verify-ca-secret",
        effects.UPSTREAM_TLS,
    ),
    **behaviour("server-alias", effects.ALIASES),
    **behaviour("ssl-ciphers ssl-prefer-server-ciphers", effects.CIPHERS),
    **behaviour("ssl-passthrough", effects.PASSTHROUGH),
    **behaviour("fastcgi-index fastcgi-params-configmap preserve-trailing-slash"),
    **behaviour("add-base-url base-url-scheme use-port-in-redirects"),
    **harmless(
        "client-body-buffer-size connection-proxy-header disable-proxy-intercept-errors"
        " http2-push-preload proxy-buffer-size proxy-buffering proxy-buffers-number"
        " proxy-busy-buffers-size proxy-http-version proxy-max-temp-file-size"
        " proxy-request-buffering service-upstream ssl-session-tickets"
    ),
    **harmless(
        "enable-opentelemetry enable-opentracing opentelemetry-operation-name"
        " opentelemetry-trust-incoming-span opentracing-trust-incoming-span",
        effects.TRACING,
    ),
    **harmless(
        "enable-access-log enable-influxdb enable-rewrite-log influxdb-host influxdb-measurement"
        " influxdb-port influxdb-server-name modsecurity-transaction-id",
        effects.LOGS,
    ),
    **behaviour(
        "lua-resty-waf-allow-unknown-content-types lua-resty-waf-debug lua-resty-waf-extra-rules"
        " lua-resty-waf-ignore-rulesets lua-resty-waf-process-multipart-body"
        " lua-resty-waf-score-threshold"
    ),
}

SETTINGS: Table = {
    **guard("global-auth-url", effects.AUTHORIZATION),
    **guard("whitelist-source-range", effects.ALLOW, is_narrow),
    **guard("block-cidrs denylist-source-range", effects.DENY),
    **guard("block-referers block-user-agents", effects.CONDITIONS),
    **guard("enable-modsecurity enable-owasp-modsecurity-crs modsecurity-snippet"),
    **snippets("http-snippet location-snippet main-snippet server-snippet stream-snippet"),
}
"""Settings of its ConfigMap that may guard all Ingresses. Source: its user guide, "ConfigMap"."""

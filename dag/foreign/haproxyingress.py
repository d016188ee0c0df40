"""Annotations of HAProxy Ingress, under `haproxy-ingress.github.io/`.

Source: its documentation, "Configuration keys". Keys of its scope `Global` have no effect on an
object there either, and are harmless.
"""

from dag.foreign import effects
from dag.foreign.effects import Table, behaviour, guard, harmless, is_narrow, snippets

ANNOTATIONS: Table = {
    **guard("auth-secret auth-type auth-url oauth", effects.AUTHORIZATION),
    **guard("auth-tls-secret", effects.CLIENTS),
    **guard("allowlist-source-range whitelist-source-range", effects.ALLOW, is_narrow),
    **guard("denylist-source-range", effects.DENY),
    **guard("limit-connections limit-rps", effects.LOCAL_LIMIT),
    **guard("waf"),
    **snippets("config-backend config-backend-early config-backend-late config-tcp-service"),
    **behaviour(
        "auth-headers-fail auth-headers-request auth-headers-succeed auth-method auth-realm"
        " auth-signin oauth-headers oauth-uri-prefix",
        effects.AUTHORIZATION,
    ),
    **behaviour(
        "auth-tls-cert-header auth-tls-error-page auth-tls-strict auth-tls-verify-client"
        " ssl-fingerprint-lower",
        effects.CLIENTS,
    ),
    **behaviour("limit-whitelist", effects.LOCAL_LIMIT),
    **behaviour("waf-mode"),
    **behaviour(
        "affinity balance-algorithm session-cookie-dynamic session-cookie-keywords"
        " session-cookie-name session-cookie-preserve session-cookie-same-site"
        " session-cookie-shared session-cookie-strategy session-cookie-value-strategy",
        effects.BALANCING,
    ),
    **behaviour("app-root redirect-from redirect-from-regex redirect-to", effects.REDIRECT),
    **behaviour("ssl-redirect", effects.TO_HTTPS),
    **behaviour("backend-protocol secure-backends", effects.PROTOCOL),
    **behaviour("blue-green-balance blue-green-deploy blue-green-mode", effects.WEIGHT),
    **behaviour("blue-green-cookie blue-green-header", effects.CONDITIONS),
    **behaviour(
        "cors-allow-credentials cors-allow-headers cors-allow-methods cors-allow-origin cors-enable"
        " cors-expose-headers cors-max-age",
        effects.CORS,
    ),
    **behaviour("path-type", "pathType"),
    **behaviour("proxy-body-size", effects.BODY),
    **behaviour("rewrite-target", effects.REWRITE),
    **behaviour("headers", effects.REQUEST_HEADERS),
    **behaviour("hsts hsts-include-subdomains hsts-max-age hsts-preload", effects.RESPONSE_HEADERS),
    **behaviour(
        "secure-crt-secret secure-sni secure-verify-ca-secret secure-verify-hostname"
        " ssl-cipher-suites-backend ssl-ciphers-backend ssl-options-backend",
        effects.UPSTREAM_TLS,
    ),
    **behaviour("server-alias", effects.ALIASES),
    **behaviour("server-alias-regex ssl-always-add-https var-namespace cert-signer"),
    **behaviour("ssl-cipher-suites ssl-ciphers", effects.CIPHERS),
    **behaviour("ssl-options-host", effects.TLS_VERSION),
    **behaviour("ssl-passthrough ssl-passthrough-http-port", effects.PASSTHROUGH),
    **behaviour("tcp-service-port tcp-service-proxy-protocol", effects.TCP),
    **behaviour("timeout-server", effects.TIMEOUT),
    **behaviour("timeout-connect", effects.CONNECT_TIMEOUT),
    **behaviour("maxconn-server maxqueue-server", effects.CONNECTIONS),
    **behaviour("proxy-protocol"),
    **behaviour(
        "agent-check-addr agent-check-interval agent-check-port agent-check-send"
        " backend-check-interval health-check-addr health-check-fall-count health-check-interval"
        " health-check-port health-check-rise-count health-check-uri",
        effects.HEALTH,
    ),
    **harmless(
        "backend-server-naming backend-server-slots-increment dynamic-scaling initial-weight"
        " service-upstream slots-min-free source-address-intf timeout-http-request"
        " timeout-keep-alive timeout-queue timeout-server-fin timeout-tunnel tls-alpn use-resolver"
    ),
    **harmless("tcp-service-log-format", effects.LOGS),
    **harmless(
        "acme-emails acme-endpoint acme-expiring acme-shared acme-terms-agreed auth-log-format"
        " auth-proxy bind-fronting-proxy bind-http bind-https bind-ip-addr-healthz"
        " bind-ip-addr-http bind-ip-addr-prometheus bind-ip-addr-stats bind-ip-addr-tcp"
        " config-defaults config-frontend config-global config-proxy config-sections config-tcp"
        " cookie-key cpu-map cross-namespace-secrets-ca cross-namespace-secrets-crt"
        " cross-namespace-secrets-passwd cross-namespace-services default-backend-redirect"
        " default-backend-redirect-code dns-accepted-payload-size dns-cluster-domain"
        " dns-hold-obsolete dns-hold-valid dns-resolvers dns-timeout-retry drain-support"
        " drain-support-redispatch external-has-lua forwardfor fronting-proxy-port groupname"
        " healthz-port http-log-format http-port https-log-format https-port https-to-http-port"
        " load-server-state master-exit-on-failure max-connections modsecurity-endpoints"
        " modsecurity-timeout-hello modsecurity-timeout-idle modsecurity-timeout-processing"
        " nbproc-ssl nbthread no-tls-redirect-locations path-type-order prometheus-port"
        " redirect-from-code redirect-to-code ssl-dh-default-max-size ssl-dh-param ssl-engine"
        " ssl-headers-prefix ssl-mode-async ssl-options ssl-redirect-code stats-auth stats-port"
        " stats-proxy-protocol stats-ssl-cert strict-host syslog-endpoint syslog-format"
        " syslog-length syslog-tag tcp-log-format timeout-client timeout-client-fin timeout-stop"
        " use-chroot use-cpu-map use-forwarded-proto use-haproxy-user use-htx use-proxy-protocol"
        " username worker-max-reloads"
    ),
}

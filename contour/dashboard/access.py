"""Who may see the dashboard: a browser that was pointed at it by an address or `localhost`.

A web site can have its own name resolve to 127.0.0.1 and then read, with the visitor's browser,
what is served there (DNS rebinding). Such requests carry the site's name in `Host`; so every name
but `localhost` is refused. The headers allow no script, style or frame of another origin (Content
Security Policy Level 3).
"""

import ipaddress

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""Of every response."""


def is_local(host: str) -> bool:
    """Whether a `Host` header is an IP address or `localhost`, with a port or without."""
    name = host
    if host.startswith("["):
        name, _, rest = host[1:].partition("]")
        if rest and not rest.startswith(":"):
            return False
    elif host.count(":") == 1:
        name = host.partition(":")[0]
    if name.lower() == "localhost":
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True

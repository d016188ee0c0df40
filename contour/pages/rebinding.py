"""Detects requests that a web site makes a visitor's browser send (DNS rebinding).

A web site can make its own name resolve to 127.0.0.1, and then read what is served there with the
visitor's browser. Such requests have the site's name in `Host`; so pages for the users of this
machine are served only if `Host` is an IP address or `localhost`.
"""

import ipaddress


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

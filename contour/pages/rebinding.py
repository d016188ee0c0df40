"""Requests that a web site has a visitor's browser send: they are told from those of people.

A web site can have its own name resolve to 127.0.0.1 and then read, with the visitor's browser,
what is served there (DNS rebinding). Such requests carry the site's name in `Host`; so pages that
are for the people of this machine are shown by an address or by `localhost` only.
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

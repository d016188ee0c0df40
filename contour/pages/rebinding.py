"""Detects requests that a web site makes a visitor's browser send.

A web site can ask for a page without reading the answer, with a picture or a form, and so have a
measurement begin, or long listings be made. Browsers say where such requests come from (Fetch
Metadata Request Headers, `Origin`); programs send none of that. A link that a visitor follows is
shown, in a window of its own.

DNS rebinding: a web site can make its own name resolve to 127.0.0.1, and then read what is served
there with the visitor's browser. Such requests have the site's name in `Host`; so pages for the
users of this machine are served only if `Host` is an IP address or `localhost`.
"""

import ipaddress
from collections.abc import Mapping


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


def is_of_other_site(headers: Mapping[str, str]) -> bool:
    """Whether a page of another origin has made a browser send the request, and no visitor who
    followed a link."""
    origin = headers.get("Origin")
    if origin is not None and origin.partition("://")[2] != headers.get("Host", ""):
        return True
    if headers.get("Sec-Fetch-Site", "none") in {"same-origin", "none"}:
        return False
    how = headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest")
    return how != ("navigate", "document")

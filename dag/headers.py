"""Header names and values of users: what Envoy would refuse, or a proxy must not let through.

Envoy accepts a name with a space in it and refuses a whole RouteConfiguration for a line break in
a value, so both are decided here (RFC 9110, sections 5.1, 5.5 and 7.6.1).
"""

import re2

_TOKEN = re2.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")

MAX_VALUE_LENGTH = 4096
"""Characters."""

HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def name_refusal(name: str) -> str | None:
    """Why no route may match on this header, as the end of a sentence; None if one may."""
    if not _TOKEN.fullmatch(name.removeprefix(":")):
        return "is not a valid header name"
    return None


def change_refusal(name: str) -> str | None:
    """Why no route may set, add or remove this header; None if one may."""
    if name.startswith(":") or not _TOKEN.fullmatch(name):
        return "is not a valid header name"
    if name.lower() == "host":
        return "cannot be changed here: rewrite the host name instead"
    if name.lower() in HOP_BY_HOP:
        return "belongs to the connection and cannot be changed"
    return None


def value_refusal(value: str) -> str | None:
    """Why this cannot be the value of a header, as the end of a sentence; None if it can."""
    if len(value) > MAX_VALUE_LENGTH:
        return f"is longer than {MAX_VALUE_LENGTH} characters"
    if any(it in value for it in "\r\n\0"):
        return "holds a line break or NUL"
    return None

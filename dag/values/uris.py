"""URIs of servers that are called, as users write them."""

from collections.abc import Collection
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from dag.values import addresses


class Refusal(NamedTuple):
    """Why a URI cannot be used."""

    part: Literal["uri", "scheme", "port"]
    why: str


def refusal(uri: str, schemes: Collection[str]) -> Refusal | None:
    """Why a URI names no server that may be called by one of these schemes; None if it does."""
    try:
        parts = urlsplit(uri)
        name, port = parts.hostname or "", parts.port
    except ValueError:
        return Refusal("uri", f"{uri[:60]!r} is no URI")
    if parts.scheme not in schemes:
        return Refusal("scheme", f"the scheme must be {' or '.join(schemes)}")
    if not name or parts.username is not None or not uri.isprintable() or " " in uri:
        return Refusal("uri", f"{uri[:60]!r} is no URI of a server")
    if why := addresses.refusal(name):
        return Refusal("uri", f"{name[:60]!r} {why}")
    return Refusal("port", "the port must be from 1 to 65535") if port == 0 else None


_STRANGE = frozenset('#"<>\\^`{|}')


def is_plain(url: str) -> bool:
    """Whether a URL has no fragment, and only characters that RFC 3986 allows."""
    return url.isascii() and url.isprintable() and " " not in url and _STRANGE.isdisjoint(url)


def host(uri: str) -> str:
    """The host of a URI that is not refused, in lower case; an IPv6 address without brackets."""
    return urlsplit(uri).hostname or ""

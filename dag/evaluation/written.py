"""A request as people write it: a URL, lines of headers, and where the client is.

For `contour explain` and the dashboard.
"""

import ipaddress
import re
from collections.abc import Iterable
from urllib.parse import SplitResult, urlsplit

from dag.evaluation.requests import Request
from dag.values import headers as header_values


def request(
    url: str,
    method: str = "GET",
    headers: Iterable[str] = (),
    server_name: str | None = None,
    source: str = "127.0.0.1",
    *,
    http3: bool = False,
) -> Request:
    """The request that a client would send. Raises ValueError that says what is wrong.

    `grpc://` and `grpcs://` are calls, whose path is `/SERVICE/METHOD`; `tcp://HOST:PORT` is a
    connection to a TCP port, `udp://HOST:PORT` are packets to a UDP port.
    The method is taken as it is written: `get` is another one than `GET`.
    `headers` are written `name: value`; `host` among them replaces the host of the URL.
    `server_name` is what the TLS client asks for: the host of the URL if None, none if empty.
    """
    url = url.strip()
    if _NOT_IN_URLS.search(url):
        raise ValueError(f"{url!r} is no URL: it has a space or another character to be encoded")
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{url} is no URL: {error}") from None
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise ValueError(f"{url} is no URL of HTTP, such as https://shop.example.com/cart")
    if parts.scheme in _UNREAD:
        return _connection(url, parts, port, source)
    if not method.isascii() or not method.isalpha():
        raise ValueError(f"{method!r} is no method, such as POST")
    sent = tuple(map(_header, headers))
    if parts.scheme.startswith("grpc"):
        method, sent = "POST", (*_GRPC, *(it for it in sent if it not in _GRPC))
    host = next((value for name, value in sent if name == "host"), parts.netloc.rpartition("@")[2])
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    is_secure = parts.scheme in _SECURE
    if http3 and not is_secure:
        raise ValueError(f"{url} is not asked over HTTP/3, which is for https")
    return Request(
        host=host,
        path=path,
        method=method,
        headers=tuple(it for it in sent if it[0] != "host"),
        port=port or (443 if is_secure else 80),
        is_secure=is_secure,
        server_name=parts.hostname if server_name is None and is_secure else server_name,
        source=_address(source),
        is_http3=http3,
    )


_NOT_IN_URLS = re.compile(r"[\x00-\x20\x7f]")
"""White space, which `urlsplit` would leave out in part, and control characters."""
_SECURE = frozenset({"https", "grpcs"})
_UNREAD = frozenset({"tcp", "udp"})
_SCHEMES = frozenset({"http", "grpc", *_UNREAD, *_SECURE})
_GRPC = (("content-type", "application/grpc"),)


def _connection(url: str, parts: SplitResult, port: int | None, source: str) -> Request:
    if port is None:
        raise ValueError(f"{url} has no port, as {parts.scheme}://127.0.0.1:5432 has")
    return Request(
        parts.hostname or "",
        method="",
        port=port,
        source=_address(source),
        is_stream=True,
        is_datagram=parts.scheme == "udp",
    )


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon or not name.strip():
        raise ValueError(f"{line!r} is no header, such as `x-user: 7`")
    refusal = header_values.name_refusal(name.strip()) or header_values.value_refusal(value)
    if refusal:
        raise ValueError(f"{line!r} {refusal}")
    return name.strip().lower(), value.strip()


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise ValueError(f"{text!r} is no IP address") from None

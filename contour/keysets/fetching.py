"""One request for a key set, limited in time and size, and only to the named server.

Redirects are not followed, and the name must not lead to addresses that only the control plane's
machine can reach. The server's answer is never shown, only why it cannot be used.
"""

import asyncio
import os
import socket
import ssl
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from contour.keysets import transport
from contour.keysets.slots import Slot
from dag.references import jwks, keysets
from dag.references.keysets import Source, Wanted
from dag.values import addresses

_FAMILIES = {"v4": socket.AF_INET, "v6": socket.AF_INET6}
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity"}


class Request(NamedTuple):
    """A key set that is wanted."""

    source: Source
    how: Wanted
    slot: Slot
    """Held by the caller."""


class FetchError(Exception):
    """A key set cannot be fetched; the message names the server and the reason."""


async def fetch(request: Request) -> str:
    """The keys that can be read, as JSON. Raises FetchError."""
    try:
        return await _fetch(request)
    except FetchError as error:
        parts = urlsplit(request.source.uri)
        raise FetchError(f"{parts.scheme}://{parts.netloc} {error}") from None


async def _fetch(request: Request) -> str:
    try:
        async with asyncio.timeout(request.source.timeout):
            return keysets.readable(request.source, await _body(request))
    except TimeoutError:
        raise FetchError(f"does not answer within {request.source.timeout:g} s") from None
    except jwks.UnusableError as error:
        raise FetchError(f"answers with a text that {error}") from None
    except aiohttp.ClientConnectorCertificateError as error:
        raise FetchError(f"has a certificate that is not valid: {_words(error)}") from None
    except aiohttp.ClientConnectorDNSError:
        raise FetchError("has a name that cannot be resolved") from None
    except aiohttp.ClientConnectorError as error:
        raise FetchError(f"cannot be connected to: {_words(error.os_error)}") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise FetchError(f"cannot be asked: {_words(error)}") from None


def _words(error: BaseException) -> str:
    """The message about an error, which is equal at each attempt, so that statuses do not change
    without need."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        error = error.certificate_error
        return getattr(error, "verify_message", "") or str(error.args[-1])
    if isinstance(error, ssl.SSLError):
        return (error.reason or "TLS fails").replace("_", " ").lower()
    number = getattr(error, "errno", None)
    return os.strerror(number) if isinstance(number, int) and number > 0 else type(error).__name__


async def _body(request: Request) -> bytes:
    source = request.source
    connector = aiohttp.TCPConnector(
        resolver=_Resolver(request.slot, loopback=request.how.loopback),
        family=_FAMILIES.get(source.family or "", socket.AF_UNSPEC),
        ssl=transport.context(source.tls, request.how.authorities),
        force_close=True,
    )
    session = aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
    )
    async with (
        session,
        session.get(source.uri, allow_redirects=False, headers=_HEADERS) as answer,
    ):
        if answer.status != 200:
            why = ", and redirects are not followed" if 300 <= answer.status < 400 else ""
            raise FetchError(f"answers {answer.status}{why}")
        return await _bounded(answer.content)


async def _bounded(content: aiohttp.StreamReader) -> bytes:
    """Reads just enough to recognise a set that is too large."""
    found = bytearray()
    while len(found) <= jwks.MAX_SIZE and (more := await content.readany()):
        found += more
    return bytes(found)


class _Resolver(AbstractResolver):
    """Resolves a name to the permitted addresses."""

    def __init__(self, slot: Slot, *, loopback: bool) -> None:
        self._slot = slot
        self._loopback = loopback

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises FetchError if there is none."""
        found = await self._slot.resolved(host, family)
        faults = [self._fault(text) for _, text in found]
        if found and all(faults):
            raise FetchError(f"has a name that leads to an address that is {faults[0]}")
        return [
            ResolveResult(
                hostname=host, host=text, port=port, family=it, proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for (it, text), fault in zip(found, faults, strict=True) if not fault
        ]  # fmt: skip

    def _fault(self, text: str) -> str | None:
        address = addresses.of_family(text, "IPv6" if ":" in text else "IPv4")
        if address is None:
            return "link-local"  # with a zone
        return addresses.endpoint_fault(address, loopback=self._loopback)

    async def close(self) -> None:
        """Holds nothing."""

"""Sends single requests, with the newest credentials; after a 401 it retries once with newer ones.

For `kube.client`, which knows what requests mean. Whatever goes wrong below HTTP is Unreachable.
"""

import ssl
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple

import aiohttp
from aiohttp import payload
from aiohttp.abc import AbstractStreamWriter

from crds import raw
from crds.raw import Raw
from kube import errors, texts
from kube.credentials import Access, AccessError, Credentials
from kube.reachability import Reachability
from kube.sockets import Sockets

CONNECT_TIMEOUT = 10.0  # seconds
READ_AHEAD = 1 << 20  # bytes of an answer that are buffered


class Request(NamedTuple):
    """What is asked."""

    method: str
    path: str
    params: Mapping[str, str] | None = None
    body: bytes | None = None
    content_type: str = "application/json"
    permit: Callable[[], bool] | None = None
    """Called again when the body is sent: while it waited for a connection, the process may have
    been paused for any time."""


class Session:
    """Connections to one API server."""

    def __init__(self, access: Access, user_agent: str, reachability: Reachability) -> None:
        self._access = access
        self._reachability = reachability
        headers = {"User-Agent": user_agent, "Accept": "application/json"}
        # Without compression nothing has to be decompressed, and this network is rarely slow.
        headers["Accept-Encoding"] = "identity"
        self._sockets = Sockets()
        reachability.cut = self._sockets.cut
        connector = aiohttp.TCPConnector(limit=0, socket_factory=self._sockets.make)
        self._session = aiohttp.ClientSession(
            connector=connector, headers=headers, read_bufsize=READ_AHEAD
        )

    async def close(self) -> None:
        """Aborts all requests."""
        await self._session.close()
        await self._sockets.close()

    async def answer(self, request: Request, timeout: float) -> Raw:
        """The JSON object of a whole answer; Refused if it says no."""
        limits = aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_TIMEOUT)
        with as_failures(request.path):
            async with await self.response(request, limits) as response:
                if response.status >= 400:
                    raise await refusal(response)
                body = await response.read()
        with suppress(ValueError):
            if raw.is_mapping(found := texts.value(body)):
                return found
        raise errors.Unreachable(f"{request.path}: the answer is not a JSON object")

    async def response(
        self, request: Request, timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        """The head of an answer; after a 401, that of a retry with newer credentials."""
        credentials = await self._credentials()
        response = await self._sent(request, credentials, timeout)
        if response.status != 401:
            return response
        newer = await self._credentials(refused=credentials)
        if newer is credentials:
            return response
        response.close()
        return await self._sent(request, newer, timeout)

    async def websocket(
        self, path: str, params: Mapping[str, str], protocol: str
    ) -> aiohttp.ClientWebSocketResponse:
        """A WebSocket with this subprotocol. Raises `aiohttp.WSServerHandshakeError` if the server
        says no, and Unreachable."""
        credentials = await self._credentials()
        headers = {"Authorization": credentials.authorization} if credentials.authorization else {}
        try:
            return await self._session.ws_connect(
                credentials.url + path,
                params=params,
                protocols=(protocol,),
                headers=headers,
                ssl=credentials.tls or True,
                server_hostname=credentials.server_name,
                proxy=credentials.proxy,
            )
        except aiohttp.WSServerHandshakeError:
            raise
        except (aiohttp.ClientError, OSError) as error:
            with as_failures(path):
                raise error

    async def _credentials(self, refused: Credentials | None = None) -> Credentials:
        try:
            return await self._access.credentials(refused)
        except AccessError as error:  # a file that is being replaced, a plugin that is offline
            raise errors.Unreachable(str(error)) from None

    async def _sent(
        self, request: Request, credentials: Credentials, timeout: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        headers = {"Authorization": credentials.authorization} if credentials.authorization else {}
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        with self._reachability.asking():
            response = await self._session.request(
                request.method,
                credentials.url + request.path,
                params=request.params,
                data=_body(request),
                headers=headers,
                ssl=credentials.tls or True,
                server_hostname=credentials.server_name,
                proxy=credentials.proxy,
                allow_redirects=False,  # credentials are for this server only
                timeout=timeout,
            )
        if response.status < 500:
            self._reachability.answered(descriptor(response))
        return response


class _Permitted(payload.BytesPayload):
    """A body that is sent only while permitted; otherwise the server gets half a request."""

    def __init__(self, body: bytes, permit: Callable[[], bool]) -> None:
        super().__init__(body)
        self._permit = permit

    async def write_with_length(
        self, writer: AbstractStreamWriter, content_length: int | None
    ) -> None:
        if not self._permit():
            raise ConnectionAbortedError("this process may no longer write: it is not the leader")
        await super().write_with_length(writer, content_length)


def _body(request: Request) -> bytes | _Permitted | None:
    if request.body is None or request.permit is None:
        return request.body
    return _Permitted(request.body, request.permit)


@contextmanager
def as_failures(path: str) -> Generator[None]:
    """Turns errors of a connection into those of this package."""
    try:
        yield
    except TimeoutError:
        raise errors.Unreachable(f"{path}: no answer within the timeout") from None
    except (aiohttp.ClientError, OSError, ssl.SSLError) as error:
        said = str(error) or type(error).__name__
        raise errors.Unreachable(f"{path}: {said}") from None


async def refusal(response: aiohttp.ClientResponse) -> errors.Refused:
    """The error in an answer."""
    body = await response.read()
    try:
        status = texts.value(body)
    except ValueError:
        status = body.decode("utf-8", "replace").strip()
    return errors.refused(response.status, status, _seconds(response.headers.get("Retry-After")))


def descriptor(of: aiohttp.ClientResponse) -> int:
    """The descriptor of the socket of an answer; -1 if it has arrived completely."""
    transport = of.connection.transport if of.connection is not None else None
    found = transport.get_extra_info("socket") if transport is not None else None
    return -1 if found is None else int(found.fileno())


def cut(response: aiohttp.ClientResponse) -> None:
    """Aborts an answer, without waiting for the other side to close the connection."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


def _seconds(text: str | None) -> float | None:
    """The seconds of Retry-After. A proxy's date is ignored: it is of another clock."""
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None

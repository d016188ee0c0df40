"""Requests to an API server, by path: JSON objects in, JSON objects out, or an error.

It uses aiohttp directly, not the kubernetes client: that needs a method for every kind and
operation, its watch does not survive long lines, and it costs 20 MB of memory for nothing that a
PUT of JSON needs. Credentials are read again after a 401; a 429 that says when to come back is
waited out as long as the request has time. Everything else, and when to retry, is up to the caller.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Literal, Self

import aiohttp
import orjson

from kube import errors, session, texts
from kube.credentials import Access
from kube.reachability import Reachability
from kube.session import Request

Raw = dict[str, Any]
Params = Mapping[str, str]
Patch = Literal["merge", "json", "strategic"]

TIMEOUT = 30.0  # seconds a request may take, with the pauses that the server asks for
LIST_TIMEOUT = 65.0  # an API server gives up after 60
SHORTEST_PAUSE = 0.5  # whatever a Retry-After says


class Client:
    """The requests of a process to one API server. It is open inside `async with`."""

    def __init__(self, access: Access, user_agent: str = "contour") -> None:
        self.access = access
        self.user_agent = user_agent
        self.reachability = Reachability()
        """Whether the server answers."""
        self._session: session.Session | None = None

    async def __aenter__(self) -> Self:
        """Raises `credentials.AccessError` at once if there is no way to ask anything."""
        await self.access.credentials()
        self._session = session.Session(self.access, self.user_agent, self.reachability)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        await self.connections.close()
        self._session = None

    async def namespace(self) -> str:
        """The namespace of this process: its pod's, or that of the kubeconfig's context."""
        return (await self.access.credentials()).namespace

    async def get(self, path: str, params: Params | None = None, timeout: float = TIMEOUT) -> Raw:
        """The object at a path."""
        return await self._answer(Request("GET", path, params), timeout)

    async def find(self, path: str, params: Params | None = None) -> Raw | None:
        """The object at a path; None if there is none, or if its kind is not served (404)."""
        try:
            return await self.get(path, params)
        except errors.Refused as error:
            if error.code == 404:
                return None
            raise

    async def list_page(
        self, path: str, params: Params | None = None, timeout: float = LIST_TIMEOUT
    ) -> Raw:
        """A list, or one page of it if the parameters set a limit."""
        return await self._answer(Request("GET", path, params), timeout)

    async def create(self, path: str, body: Raw) -> Raw:
        """Adds an object to the collection at a path."""
        return await self._write(Request("POST", path, body=orjson.dumps(body)))

    async def replace(self, path: str, body: Raw, timeout: float = TIMEOUT) -> Raw:
        """Refused with 409 if the body has a resourceVersion that is not the newest."""
        return await self._write(Request("PUT", path, body=orjson.dumps(body)), timeout)

    async def patch(
        self, path: str, body: Raw | list[Raw], kind: Patch = "merge", params: Params | None = None
    ) -> Raw:
        """Changes parts of an object."""
        request = Request("PATCH", path, params, orjson.dumps(body), _PATCHES[kind])
        return await self._write(request)

    async def apply(
        self,
        path: str,
        body: Raw,
        field_manager: str,
        *,
        force: bool = False,
        is_dry_run: bool = False,
    ) -> Raw:
        """Server-side apply: the object is there afterwards, with the fields of this manager.

        A dry run changes nothing and answers the same.
        """
        params = {"fieldManager": field_manager, "force": "true" if force else "false"}
        if is_dry_run:
            params["dryRun"] = "All"
        return await self._write(Request("PATCH", path, params, orjson.dumps(body), _APPLY))

    async def delete(self, path: str, body: Raw | None = None) -> Raw:
        """Deletes an object. The body has preconditions, and the propagation policy."""
        packed = None if body is None else orjson.dumps(body)
        return await self._write(Request("DELETE", path, body=packed))

    async def _write(self, request: Request, timeout: float = TIMEOUT) -> Raw:
        """Every request that changes something; `kube.leading` restricts them."""
        return await self._answer(request, timeout)

    @asynccontextmanager
    async def stream(
        self, path: str, params: Params | None = None, idle: float = 60.0
    ) -> AsyncGenerator[AsyncIterator[list[bytes]]]:
        """The lines of a streamed answer; those that arrive together are yielded together.

        Raises Unreachable for silence of `idle` seconds, a lost connection, or an end within a
        line.
        """
        limits = aiohttp.ClientTimeout(sock_connect=session.CONNECT_TIMEOUT, sock_read=idle)
        with session.as_failures(path):
            response = await self.connections.response(Request("GET", path, params), limits)
        async with response:
            if response.status >= 400:
                with session.as_failures(path):
                    raise await session.refusal(response)
            try:
                yield self._lines(path, response)
            finally:
                session.cut(response)

    async def _answer(self, request: Request, timeout: float) -> Raw:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while True:
            try:
                return await self.connections.answer(request, deadline - loop.time())
            except errors.Refused as error:
                if error.code != 429 or error.retry_after is None:
                    raise
                pause = max(SHORTEST_PAUSE, error.retry_after)
                if loop.time() + pause >= deadline:
                    raise
                await asyncio.sleep(pause)

    async def _lines(
        self, path: str, response: aiohttp.ClientResponse
    ) -> AsyncIterator[list[bytes]]:
        with session.as_failures(path):
            async for found in texts.lines(response.content.iter_any()):
                self.reachability.answered(session.descriptor(response))
                yield found

    @property
    def connections(self) -> session.Session:
        """The session that sends requests; raises RuntimeError unless the client is open."""
        if self._session is None:
            raise RuntimeError("the client is not open")
        return self._session


_APPLY = "application/apply-patch+yaml"

_PATCHES: Mapping[Patch, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}

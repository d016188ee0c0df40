"""Asks a replica for its debug pages, by a port that is forwarded from its pod.

The port listens on the loopback interface of the pod, so the user only needs the right to create
`pods/portforward`, and the replica needs no right at all. No port is opened on the user's machine
either: requests go over a pair of sockets.
"""

import asyncio
import http.client
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import orjson

from contour import packages
from contour.inspection import connections
from contour.remote import instances
from contour.remote.instances import Instance, Replica
from crds import raw
from kube import errors, portforward
from kube.client import Client


class Unanswered(Exception):  # noqa: N818 - it reads as what it is
    """A replica has no answer; the text is one line for the user."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status  # of HTTP; 0 without any


@dataclass(slots=True, eq=False)
class Conversation:
    """Questions to one replica, one after the other."""

    replica: Replica
    _connection: connections.Connection

    async def page(self, path: str, question: str | None = None) -> bytes:
        """A page of the debug port. Raises Unanswered."""
        try:
            reply = await asyncio.to_thread(self._connection.ask, path, question)
        except (OSError, http.client.HTTPException) as error:
            said = str(error) or type(error).__name__
            raise Unanswered(f"{self.replica} does not answer on its debug port: {said}") from None
        if reply.status != http.client.OK:
            said = reply.body.decode(errors="replace").strip()
            raise Unanswered(
                f"{self.replica} answers {reply.status} to {path}: {said}", reply.status
            )
        return reply.body

    async def ask(self, name: str, question: str | None = None) -> object:
        """The answer to a question, or what a page shows, as plain data. Raises Unanswered."""
        try:
            found: object = orjson.loads(await self.page(f"/debug/{name}", question))
        except ValueError:
            raise Unanswered(f"{self.replica} answers /debug/{name} with no JSON") from None
        return found

    async def version(self) -> dict[str, str]:
        """The versions of its packages; empty if its release does not report them. Raises
        Unanswered."""
        try:
            found = raw.mapping(await self.ask("version"))
        except Unanswered as error:
            if error.status == http.client.NOT_FOUND:
                return {}
            raise
        return {name: str(it) for name, it in found.items()}


@asynccontextmanager
async def opened(client: Client, of: Instance, replica: Replica) -> AsyncGenerator[Conversation]:
    """Opens a conversation with a replica of any version. Raises `errors.RequestError`."""
    port = await instances.debug_port(client, of, replica)
    try:
        async with portforward.opened(client, replica.namespace, replica.pod, port) as connected:
            yield Conversation(replica, connections.Connection(connected))
    except errors.Refused as error:
        if error.code != 403:
            raise
        raise Unanswered(f"the port of {replica} may not be forwarded: {error.message}") from None


async def asked(
    client: Client, of: Instance, replica: Replica, name: str, question: str | None
) -> object:
    """The answer of a replica of our version. Raises `errors.RequestError` or Unanswered."""
    async with opened(client, of, replica) as conversation:
        await require_version(conversation)
        return await conversation.ask(name, question)


async def require_version(conversation: Conversation) -> None:
    """Raises Unanswered unless the replica has our version, since answers of another version may
    have another meaning."""
    ours = packages.versions()[packages.OURS]
    theirs = (await conversation.version()).get(packages.OURS, "an older version")
    if theirs != ours:
        raise Unanswered(
            f"{conversation.replica} runs {theirs}, and this is {ours}: ask with its version"
        )

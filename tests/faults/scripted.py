"""A client of the xDS server that says what its script says, over real gRPC."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
from envoy.service.discovery.v3.discovery_pb2 import DeltaDiscoveryRequest, DeltaDiscoveryResponse
from grpc import aio

from dag.fleetnames import DEFAULT_FLEET

DELTA = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),
)


class Client:
    """One incremental aggregated stream."""

    def __init__(self, call: Any, node: str, fleet: str) -> None:
        self.call = call
        self._node = (node, fleet)
        self._is_introduced = False
        self._reading: asyncio.Future[Any] | None = None

    async def say(self, type_url: str, **fields: Any) -> None:
        """One request."""
        request = DeltaDiscoveryRequest(type_url=type_url, **fields)
        if not self._is_introduced:
            request.node.id, request.node.cluster = self._node
            self._is_introduced = True
        await self.say_bytes(request.SerializeToString())

    async def say_bytes(self, request: bytes) -> None:
        """Whatever it is."""
        await self.call.write(request)

    async def hear(self, seconds: float = 10.0) -> Any:
        """The next response. Raises TimeoutError, or what gRPC raises."""
        found = await self.hear_within(seconds)
        if found is None:
            raise TimeoutError(f"no response within {seconds} s")
        return found

    async def hear_within(self, seconds: float) -> Any:
        """The next response, or None if there is none so soon."""
        if self._reading is None:  # a read that is given up would end the stream: it goes on
            self._reading = asyncio.ensure_future(self.call.read())
        done, _ = await asyncio.wait([self._reading], timeout=seconds)
        if not done:
            return None
        reading, self._reading = self._reading, None
        message = reading.result()
        if not isinstance(message, bytes):
            raise EOFError(f"the server ended the stream: {await self.call.code()}")
        return DeltaDiscoveryResponse.FromString(message)

    async def accept(self, response: Any) -> None:
        """Acknowledges it."""
        await self.say(response.type_url, response_nonce=response.nonce)

    async def refuse(self, response: Any, words: str) -> None:
        """Refuses it."""
        request = {"response_nonce": response.nonce, "error_detail": {"code": 13, "message": words}}
        await self.say(response.type_url, **request)

    async def status(self) -> grpc.StatusCode:
        """How the server ended the stream."""
        async with asyncio.timeout(10):
            code: grpc.StatusCode = await self.call.code()
        return code


@contextlib.asynccontextmanager
async def client(
    address: str,
    node: str = "scripted",
    fleet: str = DEFAULT_FLEET,
    credentials: grpc.ChannelCredentials | None = None,
    more: Sequence[tuple[str, Any]] = (),
) -> AsyncIterator[Client]:
    """A connection of its own, with one stream."""
    options = (*OPTIONS, *more)
    if credentials is None:
        channel = aio.insecure_channel(address, options=options)
    else:
        channel = aio.secure_channel(address, credentials, options=options)
    async with channel:
        yield Client(_raw(channel)(), node, fleet)


def _raw(channel: Any) -> Any:
    """The method, with requests and responses as bytes."""
    return channel.stream_stream(DELTA)

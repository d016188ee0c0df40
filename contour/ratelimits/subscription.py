"""Follows the xDS server like envoyproxy/ratelimit: all resources of one type, in one stream.

An unusable configuration is refused with the reason, and the last accepted one stays in force, also
while the server does not answer. The stream is reopened whenever it ends.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

import grpc
from envoy.service.discovery.v3.discovery_pb2 import DiscoveryRequest, DiscoveryResponse
from grpc import aio

from contour.ratelimits import limits
from contour.ratelimits.limits import Domains
from contour.xds.resources import RATE_LIMITS

log = logging.getLogger(__name__)

NODE = "ratelimit"
_SHORTEST, _LONGEST = 0.1, 2.0  # seconds between two streams
_METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

Take = Callable[[Domains], None]


async def follow(connect: Callable[[], aio.Channel], address: str, take: Take) -> None:
    """Passes on each usable configuration; never returns. `connect` makes a channel to the xDS
    server, whose `address` is for the log."""
    pause = _SHORTEST
    async with connect() as channel:
        while True:
            try:
                async for domains in _configurations(channel):
                    take(domains)
                    pause = _SHORTEST
            except grpc.RpcError as error:
                log.info("no configuration from %s: %s", address, error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST)


async def _configurations(channel: aio.Channel) -> AsyncIterator[Domains]:
    """The configurations of one stream; each is acknowledged when it has been taken."""
    stream = channel.stream_stream(_METHOD)()
    first = DiscoveryRequest(type_url=RATE_LIMITS)
    first.node.id = NODE
    await stream.write(first.SerializeToString())
    accepted = ""
    async for message in stream:
        response = DiscoveryResponse.FromString(message)
        try:
            domains = limits.read(it.value for it in response.resources)
        except limits.Invalid as error:
            log.warning("refused a configuration: %s", error)
            await stream.write(_answer(response, accepted, str(error)))
            continue
        yield domains
        accepted = response.version_info
        await stream.write(_answer(response, accepted))


def _answer(response: DiscoveryResponse, accepted: str, refusal: str = "") -> bytes:
    made = DiscoveryRequest(
        type_url=RATE_LIMITS, response_nonce=response.nonce, version_info=accepted
    )
    if refusal:
        made.error_detail.message = refusal
    return made.SerializeToString()

"""A number of scripted Envoys with one node ID, each on a connection of its own.

    python -m hack.measuring.streams.nodes ADDRESS NUMBER

They accept everything except an address that no machine of a test has.
"""

import asyncio
import sys

from envoy.service.discovery.v3.discovery_pb2 import (
    DeltaDiscoveryRequest,
    DeltaDiscoveryResponse,
)
from grpc import aio

from contour.xds import identities, resources
from contour.xds.identities import NodeIdentity
from hack.measuring.streams.clients import METHOD, OPTIONS
from tests.testbed.envoyconfigs import ELSEWHERE

EDGE = NodeIdentity("default", "edge")
_ASKED = {
    resources.CLUSTER: (),
    resources.ENDPOINTS: ("one",),
    resources.LISTENER: (),
    resources.ROUTE: ("local",),
}
"""The names that an Envoy with this configuration requests, by type; () requests all of a type."""


async def connect(address: str, number: int) -> None:
    """Keeps all streams open until it is cancelled."""
    async with asyncio.TaskGroup() as tasks:
        for _ in range(number):
            tasks.create_task(_speak(address))


async def _speak(address: str) -> None:
    async with aio.insecure_channel(address, OPTIONS) as channel:
        metadata = ((identities.METADATA, str(EDGE)),)
        call = channel.stream_stream(METHOD)(metadata=metadata, wait_for_ready=True)
        for type_url, names in _ASKED.items():
            first = DeltaDiscoveryRequest(type_url=type_url, resource_names_subscribe=names)
            first.node.id = EDGE.node
            await call.write(first.SerializeToString())
        while isinstance(message := await call.read(), bytes):
            await call.write(_answer(message).SerializeToString())


def _answer(message: bytes) -> DeltaDiscoveryRequest:
    response = DeltaDiscoveryResponse.FromString(message)
    answer = DeltaDiscoveryRequest(type_url=response.type_url, response_nonce=response.nonce)
    if any(ELSEWHERE.encode() in it.resource.value for it in response.resources):
        answer.error_detail.code, answer.error_detail.message = 13, "cannot bind"
    return answer


if __name__ == "__main__":
    asyncio.run(connect(sys.argv[1], int(sys.argv[2])))

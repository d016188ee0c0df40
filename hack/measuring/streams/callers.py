"""A number of streams like those of gRPC clients, each on a connection of its own; they accept all.

    python -m hack.measuring.streams.callers ADDRESS NUMBER TARGET

Each requests the listener, routes, cluster and endpoints of one target by name, in the
state-of-the-world protocol. Whenever the last of them has the newest endpoints, a line of JSON has
the time.
"""

import asyncio
import json
import sys

from envoy.service.discovery.v3.discovery_pb2 import DiscoveryRequest, DiscoveryResponse
from grpc import aio

from contour.xds.resources import CLUSTER, ENDPOINTS, LISTENER, ROUTE
from dag import exports
from hack.measuring.streams.clients import OPTIONS, Arrivals

METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"


async def connect(address: str, number: int, target: str) -> None:
    """Keeps all streams open until it is cancelled."""
    arrivals = Arrivals(number)
    async with asyncio.TaskGroup() as tasks:
        for each in range(number):
            tasks.create_task(_speak(address, f"caller-{each}", target, arrivals))


async def _speak(address: str, node: str, target: str, arrivals: Arrivals) -> None:
    async with aio.insecure_channel(address, OPTIONS) as channel:
        call = channel.stream_stream(METHOD)(wait_for_ready=True)
        for type_url in (LISTENER, ROUTE, CLUSTER, ENDPOINTS):
            first = DiscoveryRequest(type_url=type_url, resource_names=(target,))
            first.node.id, first.node.cluster = node, f"{exports.FLEET}/shop"
            await call.write(first.SerializeToString())
        while isinstance(message := await call.read(), bytes):
            response = DiscoveryResponse.FromString(message)
            answer = DiscoveryRequest(
                type_url=response.type_url,
                resource_names=(target,),
                response_nonce=response.nonce,
                version_info=response.version_info,
            )
            await call.write(answer.SerializeToString())
            if response.type_url == ENDPOINTS:
                arrivals.note(response.version_info)


if __name__ == "__main__":
    print(json.dumps({}), flush=True)
    asyncio.run(connect(sys.argv[1], int(sys.argv[2]), sys.argv[3]))

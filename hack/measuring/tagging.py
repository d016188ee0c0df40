"""An extension server for measurements, in a process of its own: it adds a header to each host and
a cluster to each fleet, and returns everything else unmodified. On SIGTERM it prints the calls that
it got, as JSON.

    python -m hack.measuring.tagging SOCKET [MILLISECONDS]      (that each answer takes)
"""

import asyncio
import json
import signal
import sys

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.route.v3 import route_components_pb2
from grpc import StatusCode

from contour.hooks import wire
from contour.hooks.wire import Hook
from tests.testbed.extensionserver import Scripted

_ADDED = cluster_pb2.Cluster(
    name="tags.example", type=cluster_pb2.Cluster.STATIC
).SerializeToString()


async def tagged(hook: Hook, question: bytes) -> bytes | StatusCode:
    """The reply to a call."""
    resources = dict(wire.decoded_request(hook, question).resources)
    if hook == "VirtualHost":
        (body,) = resources["virtual_host"]
        host = route_components_pb2.VirtualHost.FromString(body)
        header = host.response_headers_to_add.add().header
        header.key, header.value = "x-tag", host.name
        resources["virtual_host"] = (host.SerializeToString(deterministic=True),)
    elif hook == "Translation":
        resources["clusters"] = (*resources["clusters"], _ADDED)
    return wire.encoded_reply(hook, resources)


async def _serve(path: str, seconds: float) -> None:
    async def answer(hook: Hook, question: bytes) -> bytes | StatusCode:
        await asyncio.sleep(seconds)
        return await tagged(hook, question)

    server, over = Scripted(answer, address=f"unix:{path}"), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    await server.start()
    await over.wait()
    await server.stop()
    print(json.dumps({"most": server.most_at_once, "asked": server.asked}), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], float((*sys.argv[2:], "0")[0]) / 1000))

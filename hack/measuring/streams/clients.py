"""A number of incremental ADS streams, each on a connection of its own, that accept everything.

    python -m hack.measuring.streams.clients ADDRESS NUMBER [CERTIFICATE KEY AUTHORITY]

Whenever the last of them has the newest version, a line of JSON has the time. A stream that ends is
opened again after 0.2 seconds, as our bootstrap makes Envoy do.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
from envoy.service.discovery.v3.discovery_pb2 import (
    DeltaDiscoveryRequest,
    DeltaDiscoveryResponse,
)
from grpc import aio

from contour.xds import resources
from dag.fleetnames import DEFAULT_FLEET

METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
BACK_OFF = 0.2
OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),  # one connection for each
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2000),
)


@dataclass(slots=True)
class Arrivals:
    """How many streams have got each version."""

    number: int
    counts: Counter[str] = field(default_factory=Counter)

    def note(self, version: str) -> None:
        """Counts one more stream; prints the time of the last one."""
        self.counts[version] += 1
        if self.counts[version] == self.number:
            del self.counts[version]
            print(json.dumps({"all": time.monotonic()}), flush=True)


async def connect(address: str, number: int, tls: grpc.ChannelCredentials | None) -> None:
    """Keeps all streams open until it is cancelled."""
    arrivals = Arrivals(number)
    async with asyncio.TaskGroup() as tasks:
        for each in range(number):
            tasks.create_task(_client(address, f"envoy-{each}", tls, arrivals))


async def _client(
    address: str, node: str, tls: grpc.ChannelCredentials | None, arrivals: Arrivals
) -> None:
    channel = (
        aio.secure_channel(address, tls, OPTIONS) if tls else aio.insecure_channel(address, OPTIONS)
    )
    while True:
        try:
            await _stream(channel, node, arrivals)
        except aio.AioRpcError:
            await asyncio.sleep(BACK_OFF)


async def _stream(channel: Any, node: str, arrivals: Arrivals) -> None:
    call = channel.stream_stream(METHOD)(wait_for_ready=True)
    first = DeltaDiscoveryRequest(type_url=resources.LISTENER)
    first.node.id, first.node.cluster = node, DEFAULT_FLEET
    await call.write(first.SerializeToString())
    while message := await call.read():
        response = DeltaDiscoveryResponse.FromString(message)
        nonce = response.nonce
        answer = DeltaDiscoveryRequest(type_url=resources.LISTENER, response_nonce=nonce)
        await call.write(answer.SerializeToString())
        for it in response.resources:
            arrivals.note(it.version)
    await asyncio.sleep(BACK_OFF)


def credentials(certificate: Path, key: Path, authority: Path) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(
        authority.read_bytes(), key.read_bytes(), certificate.read_bytes()
    )


if __name__ == "__main__":
    files = [Path(it) for it in sys.argv[3:]]
    asyncio.run(connect(sys.argv[1], int(sys.argv[2]), credentials(*files) if files else None))

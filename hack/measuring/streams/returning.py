"""A number of Envoys that reconnect at once, each on its own connection, with all their versions.

    python -m hack.measuring.streams.returning ADDRESS NUMBER CERTIFICATE KEY AUTHORITY

The first one connects with nothing and takes everything; a line of JSON has the time when it is
done. At the next line on standard input all connect, each with the versions of the first one, as
Envoys do after they lost their control plane. When the first one, and all others, have the version
of a route that a line names (`NAME VERSION`), lines of JSON have the times.
"""

import asyncio
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from envoy.config.cluster.v3.cluster_pb2 import Cluster
from envoy.service.discovery.v3.discovery_pb2 import DeltaDiscoveryRequest, DeltaDiscoveryResponse
from grpc import aio

from contour.xds import resources
from dag.fleetnames import DEFAULT_FLEET
from hack.measuring.streams import clients

_QUIET = 1.0
"""Seconds without a response after which the first one counts as complete."""

Versions = defaultdict[str, dict[str, str]]


class Arrivals:
    """Which versions of routes have come, how often, and which one is awaited."""

    def __init__(self, of: str, number: int) -> None:
        self._of = of
        self._number = number
        self._come: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._awaited: tuple[str, str] | None = None

    def note(self, node: str, name: str, version: str) -> None:
        """Counts that one Envoy has a version, perhaps again."""
        self._come[name, version].add(node)
        self._tell()

    def wait(self, name: str, version: str) -> None:
        """Prints the time when all have a version."""
        self._awaited = name, version
        self._tell()

    def _tell(self) -> None:
        if self._awaited is not None and len(self._come[self._awaited]) == self._number:
            self._awaited = None
            print(json.dumps({self._of: time.monotonic()}), flush=True)


async def connect(address: str, number: int, tls: Any) -> None:
    """Keeps all streams open until standard input ends."""
    loop, lines = asyncio.get_running_loop(), asyncio.Queue[str]()
    loop.add_reader(sys.stdin, lambda: lines.put_nowait(sys.stdin.readline()))
    one = _Reading(address, tls)
    versions = await _learn(one)
    print(json.dumps({"names": {it: len(found) for it, found in versions.items()}}), flush=True)
    await lines.get()
    first, arrivals = Arrivals("first", 1), Arrivals("all", number)
    requests = {it: _request(it, versions[it]) for it in resources.ORDER if versions[it]}
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_accept(one, "first", first))
        for each in range(number):
            tasks.create_task(
                _come(partial(_Reading, address, tls), f"envoy-{each}", requests, arrivals)
            )
        while line := (await lines.get()).split():
            first.wait(*line)
            arrivals.wait(*line)
        for it in asyncio.all_tasks() - {asyncio.current_task()}:
            it.cancel()


class _Reading:
    """A stream that can be read with a timeout without ending it."""

    def __init__(self, address: str, tls: Any) -> None:
        # Kept, because a channel that is garbage-collected ends its streams.
        self._channel: Any = aio.secure_channel(address, tls, clients.OPTIONS)
        self.call: Any = self._channel.stream_stream(clients.METHOD)(wait_for_ready=True)
        self._next: asyncio.Task[bytes] | None = None

    async def read(self, seconds: float | None = None) -> bytes | None:
        """The next response; None if there is none in this time, or the stream has ended."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(_message(self.call))
        done, _ = await asyncio.wait({self._next}, timeout=seconds)
        if not done:
            return None
        message, self._next = self._next.result(), None
        return message or None


async def _message(call: Any) -> bytes:
    found = await call.read()
    return bytes(found) if found else b""


async def _learn(one: _Reading) -> Versions:
    """Takes everything, as an Envoy does that has nothing."""
    versions: Versions = defaultdict(dict)
    first = DeltaDiscoveryRequest(type_url=resources.CLUSTER)
    first.node.id, first.node.cluster = "first", DEFAULT_FLEET
    call = one.call
    await call.write(first.SerializeToString())
    for it in (resources.LISTENER, resources.SCOPE, resources.RUNTIME_LAYER, resources.EXTENSION):
        await call.write(DeltaDiscoveryRequest(type_url=it).SerializeToString())
    while message := await one.read(_QUIET):
        response = DeltaDiscoveryResponse.FromString(message)
        versions[response.type_url] |= {it.name: it.version for it in response.resources}
        answer = DeltaDiscoveryRequest(type_url=response.type_url, response_nonce=response.nonce)
        await call.write(answer.SerializeToString())
        for type_url, names in _referred(response):
            asked = DeltaDiscoveryRequest(type_url=type_url, resource_names_subscribe=names)
            await call.write(asked.SerializeToString())
    return versions


def _referred(response: Any) -> list[tuple[str, list[str]]]:
    """What an Envoy requests next."""
    if response.type_url == resources.SCOPE:
        return [(resources.ROUTE, [it.name for it in response.resources])]
    if response.type_url == resources.CLUSTER:
        found = (Cluster.FromString(it.resource.value) for it in response.resources)
        names = [it.eds_cluster_config.service_name or it.name for it in found if it.type == 3]
        return [(resources.ENDPOINTS, names)]
    return []


def _request(type_url: str, versions: dict[str, str]) -> bytes:
    made = DeltaDiscoveryRequest(type_url=type_url, initial_resource_versions=versions)
    if type_url not in resources.WHOLE:
        made.resource_names_subscribe.extend(versions)
    return bytes(made.SerializeToString())


async def _come(
    opened: Callable[[], _Reading], node: str, requests: dict[str, bytes], arrivals: Arrivals
) -> None:
    """Connects one Envoy; retries if its connection fails, as on a server that is too busy."""
    while True:
        try:
            await _return(opened(), node, requests, arrivals)
        except aio.AioRpcError:
            await asyncio.sleep(clients.BACK_OFF)


async def _return(one: _Reading, node: str, requests: dict[str, bytes], arrivals: Arrivals) -> None:
    """Sends its versions, and accepts what it gets."""
    introduction = DeltaDiscoveryRequest()
    introduction.node.id, introduction.node.cluster = node, DEFAULT_FLEET
    begin = bytes(introduction.SerializeToString())
    for request in requests.values():
        await one.call.write(request + begin)  # one message, whose fields may come in any order
        begin = b""
    await _accept(one, node, arrivals)


async def _accept(one: _Reading, node: str, arrivals: Arrivals) -> None:
    while message := await one.read():
        response = DeltaDiscoveryResponse.FromString(message)
        type_url = response.type_url
        answer = DeltaDiscoveryRequest(type_url=type_url, response_nonce=response.nonce)
        await one.call.write(answer.SerializeToString())
        for it in response.resources if type_url == resources.ROUTE else ():
            arrivals.note(node, it.name, it.version)


if __name__ == "__main__":
    credentials = clients.credentials(*map(Path, sys.argv[3:6]))
    asyncio.run(connect(sys.argv[1], int(sys.argv[2]), credentials))

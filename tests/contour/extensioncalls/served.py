"""An instance whose hosts a scripted extension shapes, and what it serves of them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2 as pb
from envoy.config.route.v3 import route_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import (
    http_connection_manager_pb2 as hcm_pb2,
)

from contour.hooks import wire
from contour.hooks.wire import Hook
from contour.instance import Instance
from contour.xds import resources
from contour.xds.server import Server
from crds.meta import ObjectRef
from dag.fleetnames import DEFAULT_FLEET
from dag.ports import HostPorts
from dag.statuses import ContourStatus
from tests.testbed import world
from tests.testbed.extensionserver import Scripted, scripted
from tests.testbed.patience import PATIENCE
from tests.testbed.world import Document, World, fqdn

Manager = hcm_pb2.HttpConnectionManager
WORLD = World.of(20)
HEADER = "x-extension"


def extension(server: Scripted, name: str = "shaper", **more: Any) -> Document:
    """Its entry in the configuration."""
    host, _, port = server.address.rpartition(":")
    service = {"host": host, "port": int(port)}
    return {"name": name, "hooks": {"post": ["VirtualHost"]}, "service": service} | more


def asked_host(body: bytes) -> pb.VirtualHost:
    """The host that an extension is asked about."""
    (found,) = wire.decoded_request("VirtualHost", body).resources["virtual_host"]
    return pb.VirtualHost.FromString(found)


def reply(host: pb.VirtualHost) -> bytes:
    """The reply that a host is to be so."""
    encoded = host.SerializeToString(deterministic=True)
    return wire.encoded_reply("VirtualHost", {"virtual_host": (encoded,)})


def changing(change: Callable[[pb.VirtualHost], None]) -> Any:
    """A script that changes each host."""

    async def script(_: Hook, body: bytes) -> bytes:
        host = asked_host(body)
        change(host)
        return reply(host)

    return script


def add_header(host: pb.VirtualHost) -> None:
    """What the extension of most tests does."""
    added = host.response_headers_to_add.add().header
    added.key, added.value = HEADER, "1"


@dataclass(slots=True)
class Shaped:
    """An instance and what it serves."""

    instance: Instance
    servers: tuple[Scripted, ...]

    def take(self, *put: Document, gone: Iterable[Document] = ()) -> None:
        self.instance.take(world.batch(*put, gone=gone))

    def host(self, number: int) -> pb.VirtualHost | None:
        """A host as it is served."""
        return next(self.parts(fqdn(number)), None)

    def parts(self, name: str) -> Iterator[pb.VirtualHost]:
        """A host in every table that has it."""
        store = self.instance.server.fleet(DEFAULT_FLEET).store.types
        for resource in store.get(resources.ROUTE, {}).values():
            part = resource.parts.get(name)
            if part is not None:
                yield route_pb2.RouteConfiguration.FromString(part.body).virtual_hosts[0]

    def listener(self, name: str) -> listener_pb2.Listener | None:
        """A listener as it is served, with all its filter chains."""
        store = self.instance.server.fleet(DEFAULT_FLEET).store.types
        found = store.get(resources.LISTENER, {}).get(name)
        return None if found is None else listener_pb2.Listener.FromString(found.body())

    def managers(self, name: str) -> list[Manager]:
        """The connection managers of its filter chains."""
        found = self.listener(name)
        chains = found.filter_chains if found is not None else ()
        return [Manager.FromString(it.filters[-1].typed_config.value) for it in chains]

    def is_changed(self, number: int) -> bool:
        """Whether the extension's header is there."""
        host = self.host(number)
        headers = host.response_headers_to_add if host is not None else ()
        return any(it.header.key == HEADER for it in headers)

    def paths(self, number: int) -> list[str]:
        """The prefixes of the routes of a host; its status, if it is closed."""
        host = self.host(number)
        return [
            str(it.direct_response.status) if it.HasField("direct_response") else it.match.prefix
            for it in (host.routes if host is not None else ())
        ]

    @property
    def asked(self) -> int:
        """The questions about hosts so far."""
        return sum(it.asked["VirtualHost"] for it in self.servers)

    def told(self, kind: str, namespace: str, name: str) -> str:
        """All errors of an object, as one text."""
        found = self._status(kind, namespace, name).errors
        return "; ".join(f"{it.reason}: {it.message}" for it in found)

    def warned(self, kind: str, namespace: str, name: str) -> str:
        """All warnings of an object, as one text."""
        found = self._status(kind, namespace, name).warnings
        return "; ".join(f"{it.reason}: {it.message}" for it in found)

    def _status(self, kind: str, namespace: str, name: str) -> ContourStatus:
        found = self.instance.controller.board.told.get(ObjectRef(kind, namespace, name))
        assert isinstance(found, ContourStatus)
        return found

    async def until_last_is(self, number: int, path: str) -> None:
        """Waits until the last route of a host has this prefix."""
        await self.until(lambda: self.paths(number)[-1] == path)

    async def until(self, what: Callable[[], bool]) -> None:
        """Waits, with patience."""
        async with asyncio.timeout(PATIENCE):
            while not what():
                await asyncio.sleep(0.01)


def instance(*extensions: Document, answers: Path | None = None, **spec: Any) -> Instance:
    """An instance with these extensions and other settings, and no objects."""
    made = Instance(Server(()), answers=answers)
    made.controller.use_host_ports(HostPorts())
    made.take(world.batch(world.configuration(extensions=list(extensions), **spec)))
    return made


@asynccontextmanager
async def shaped(
    script: Any,
    *,
    documents: Iterable[Document] | None = None,
    answers: Path | None = None,
    **more: Any,
) -> AsyncGenerator[Shaped]:
    """The world, behind one extension, when its first answers are there."""
    async with scripted(script) as server:
        made = instance(extension(server, **more), answers=answers)
        async with running(made, server) as found:
            found.take(*(WORLD.documents() if documents is None else documents))
            await made.asker.begin()
            yield found


@asynccontextmanager
async def running(made: Instance, *servers: Scripted) -> AsyncGenerator[Shaped]:
    """An instance that asks."""
    task = asyncio.get_running_loop().create_task(made.asker.run())
    try:
        yield Shaped(made, servers)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

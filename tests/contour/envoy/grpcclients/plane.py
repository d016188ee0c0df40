"""Control planes of the product for gRPC clients, each with a world of its own, in this process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from contour.bootstrap import grpcclients
from contour.instance import Instance
from contour.xds.server import Server
from contour.xds.stream import Stream
from crds.meta import NamespacedName
from dag import exports
from dag.ports import HostPorts
from tests.testbed import world
from tests.testbed.grpcpeers import Peer
from tests.testbed.patience import PATIENCE
from tests.testbed.ports import free_ports
from tests.testbed.world import Document

T = TypeVar("T")

ONE, TWO = free_ports(2)
"""The ports of the servers of the fixture `servers`."""


@dataclass(slots=True)
class Plane:
    """A control plane that is served on a Unix socket, or by TLS on a port."""

    address: str
    server: Server
    instance: Instance
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(4))

    def take(self, *put: Document, gone: Iterable[Document] = ()) -> None:
        """What is new, and what is gone."""
        self.instance.take(world.batch(*put, gone=gone))

    async def asked(self, call: Callable[..., T], *given: Any, **more: Any) -> T:
        """What a peer answers, while this plane goes on."""
        return await asyncio.to_thread(call, *given, **more)

    async def until(self, is_so: Callable[[], object]) -> None:
        """Waits for something in this process."""
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                await asyncio.sleep(0.005)

    async def until_replies(self, client: Peer, target: str, replies: set[str]) -> None:
        """Waits until calls of a target are answered by these servers alone."""
        async with asyncio.timeout(PATIENCE):
            while set((await self.asked(client.call, target, 10)).replies) != replies:
                await asyncio.sleep(0.05)

    def told(self, kind: str, name: str) -> str:
        """What the owner of an object is told is wrong with it."""
        rows = self.instance.controller.board.rows()
        found = (it for it in rows if (it.subject.kind, it.subject.name) == (kind, name))
        return " ".join(it for row in found for it in (row.summary, *row.reasons))

    @property
    def is_settled(self) -> bool:
        """Whether the clients have answered everything that was sent."""
        found = (it for stream in self.streams for it in stream.subscriptions.values())
        return not any(it.dirty or it.in_flight for it in found)

    @property
    def streams(self) -> list[Stream]:
        """Of gRPC clients that are connected."""
        fleet = self.server.fleets[exports.FLEET]
        return [it for it in self.server.streams if it.fleet is fleet]


@asynccontextmanager
async def plane(folder: Path, *documents: Document, tls: Any = None) -> AsyncIterator[Plane]:
    """A control plane with these documents, on a socket in a folder, or by TLS on a free port."""
    address = f"unix:{folder}/xds.sock" if tls is None else "127.0.0.1:0"
    server = Server((address,), tls=tls)
    instance = Instance(server)
    instance.controller.use_host_ports(HostPorts("127.0.0.1", ()))
    made = Plane(address, server, instance)
    made.take(*documents)
    await server.start()
    if tls is not None:
        made.address = f"127.0.0.1:{server.ports[0]}"
    try:
        yield made
    finally:
        await server.stop(0)


def bootstrap(
    *servers: str,
    namespace: str = "shop",
    files: grpcclients.Files | None = None,
    planes: Mapping[str, str | tuple[str, ...]] | None = None,
    server: str = "",
    zone: str = "",
) -> Mapping[str, Any]:
    """The bootstrap of a client; `planes` are addresses by authority."""
    found = (planes or {}).items()
    authorities = {name: (it,) if isinstance(it, str) else it for name, it in found}
    given = grpcclients.GrpcClient(
        node="client", cluster=f"{exports.FLEET}/{namespace}",
        servers=servers or next(iter(authorities.values())), authorities=authorities, files=files,
        server=exports.server_id(NamespacedName(namespace, server)) if server else "", zone=zone,
    )  # fmt: skip
    return grpcclients.document(given)


def configuration(
    authority: str | None = None, aliases: Iterable[str] = (), **export: Any
) -> Document:
    """Exports the Services of namespace `shop` to everybody, unless told otherwise."""
    export = export or {"namespaces": ["shop"], "clientNamespaces": ["*"]}
    clients: Document = {"aliases": list(aliases), "exports": [export]}
    if authority is not None:
        clients["authority"] = authority
    return world.configuration(xdsServer={"grpcClients": clients})


def service(name: str, *numbers: int, namespace: str = "shop", **labels: str) -> Document:
    """A Service with these ports."""
    ports = [{"name": f"p{it}", "port": it} for it in numbers or (50051,)]
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}


def endpoints(name: str, *ports: int, number: int = 50051, **more: Any) -> Document:
    """Endpoints of a Service port on 127.0.0.1, in a slice for each number."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": f"{name}-{ports[0] if ports else 0}", "namespace": "shop",
            "labels": {"kubernetes.io/service-name": name},
        },
        "addressType": "IPv4",
        "ports": [{"name": f"p{number}", "port": it} for it in ports],
        "endpoints": [{"addresses": ["127.0.0.1"], **more}],
    }  # fmt: skip


def route(name: str, *rules: Document, service: str = "echo", **parent: Any) -> Document:
    """A GRPCRoute whose parent is a Service."""
    parent = {"group": "", "kind": "Service", "name": service, **parent}
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GRPCRoute",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"parentRefs": [parent], "rules": list(rules)},
    }


def rule(*backends: tuple[str, int], match: Document | None = None, **more: Any) -> Document:
    """A rule for calls that match, to Services by weight."""
    refs = [{"name": name, "port": 50051, "weight": weight} for name, weight in backends]
    return {"backendRefs": refs, "matches": [match] if match else [], **more}

"""The gRPC server of all fleets: thin, for what can go wrong is in modules without I/O.

Bytes go through as they are: requests are decoded by the dialect, responses were encoded when
they were joined. The port opens when `start` is called, which is after the first complete
publication, so that no Envoy is ever told less than it has.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import grpc
from grpc import aio

from contour.xds import delta, resources, sotw
from contour.xds.envoy import Patience
from contour.xds.fleet import Fleet
from contour.xds.stream import Dialect, Node, Stream, Violation

log = logging.getLogger(__name__)

_SERVICES = {
    "discovery.v3.AggregatedDiscoveryService": ("AggregatedResources", ""),
    "cluster.v3.ClusterDiscoveryService": ("Clusters", resources.CLUSTER),
    "endpoint.v3.EndpointDiscoveryService": ("Endpoints", resources.ENDPOINTS),
    "secret.v3.SecretDiscoveryService": ("Secrets", resources.SECRET),
    "listener.v3.ListenerDiscoveryService": ("Listeners", resources.LISTENER),
    "route.v3.RouteDiscoveryService": ("Routes", resources.ROUTE),
    "route.v3.ScopedRoutesDiscoveryService": ("ScopedRoutes", resources.SCOPE),
}
_OPTIONS = (
    ("grpc.max_receive_message_length", 32 << 20),
    ("grpc.max_send_message_length", -1),
    # Envoy pings an idle connection every few seconds; the default is to hang up on it for that.
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 1000),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.so_reuseport", 0),
)


class UnknownFleet(LookupError):  # noqa: N818
    """The node names a fleet that is not served."""


@dataclass(slots=True)
class Server:
    """Serves fleets on the given addresses: `host:port` or `unix:/path`."""

    addresses: tuple[str, ...]
    patience: Patience = field(default_factory=Patience)
    clock: Callable[[], float] = time.monotonic
    fleets: dict[str, Fleet] = field(default_factory=dict)
    _grpc: aio.Server | None = None

    def fleet(self, name: str) -> Fleet:
        """The fleet of a name; made when it is first asked for."""
        if name not in self.fleets:
            self.fleets[name] = Fleet(name, self.patience, self.clock)
        return self.fleets[name]

    async def start(self) -> None:
        """Opens the port. Everything that is known must have been published."""
        server = aio.server(options=_OPTIONS)
        server.add_generic_rpc_handlers(tuple(self._services()))
        for address in self.addresses:
            server.add_insecure_port(address)
        await server.start()
        self._grpc = server

    async def stop(self, grace: float | None = None) -> None:
        if self._grpc is not None:
            await self._grpc.stop(grace)

    def _services(self) -> Iterator[Any]:
        """Streams of all types and of one; every other method answers UNIMPLEMENTED."""
        for service, (noun, type_url) in _SERVICES.items():
            methods = {
                f"Delta{noun}": self._method(delta, type_url),
                f"Stream{noun}": self._method(sotw, type_url),
            }
            yield grpc.method_handlers_generic_handler(f"envoy.service.{service}", methods)

    def _method(self, dialect: Dialect, type_url: str = "") -> Any:
        async def serve(
            requests: AsyncIterator[bytes], call: aio.ServicerContext[bytes, bytes]
        ) -> None:
            await self._serve(requests, call, dialect, type_url)

        return grpc.stream_stream_rpc_method_handler(serve)

    async def _serve(
        self,
        requests: AsyncIterator[bytes],
        call: aio.ServicerContext[bytes, bytes],
        dialect: Dialect,
        type_url: str,
    ) -> None:
        stirred = asyncio.Event()
        stream = Stream(dialect, self._admitted, stirred.set, type_url)
        try:
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(self._write(stream, stirred, call))
                async for request in requests:
                    stream.receive(request, self.clock())
                    stirred.set()
                writing.cancel()
        except* (Violation, UnknownFleet) as errors:
            error = errors.exceptions[0]
            log.warning("ended the stream of %s: %s", call.peer(), error)
            code = grpc.StatusCode.NOT_FOUND
            if isinstance(error, Violation):
                code = grpc.StatusCode.INVALID_ARGUMENT
            await call.abort(code, str(error))
        finally:
            stream.close(self.clock())

    async def _write(
        self, stream: Stream, stirred: asyncio.Event, call: aio.ServicerContext[bytes, bytes]
    ) -> None:
        while True:
            stirred.clear()
            while (message := stream.response(self.clock())) is not None:
                await call.write(message)
            await self._stirring(stirred, stream.alarm)

    async def _stirring(self, stirred: asyncio.Event, alarm: float | None) -> None:
        if alarm is None:
            await stirred.wait()
            return
        try:
            async with asyncio.timeout(max(0.0, alarm - self.clock())):
                await stirred.wait()
        except TimeoutError:
            return

    def _admitted(self, node: Node) -> Fleet:
        fleet = self.fleets.get(node.cluster)
        if fleet is None or not fleet.is_open:
            raise UnknownFleet(f"no fleet {node.cluster!r} for node {node.id!r}")
        return fleet

"""The gRPC server of all fleets. It is thin: the logic is in modules without I/O.

It passes bytes through: `delta` and `sotw` decode requests and encode responses. The port opens
when `start` is called, which is after the first complete publication, so that no Envoy ever gets
less than it has.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, KeysView
from dataclasses import dataclass, field, replace
from itertools import islice

import grpc
from grpc import aio

from contour.xds import authorization, credentials, delta, resources, sotw
from contour.xds.disconnecting import LAST_WRITE, disconnect
from contour.xds.envoy import Patience
from contour.xds.fleet import Fleet
from contour.xds.identities import NodeIdentity
from contour.xds.limits import Limits, Peers, TooMany
from contour.xds.memory import Arrivals
from contour.xds.observer import AckObserver
from contour.xds.pacing import Pace
from contour.xds.stream import Dialect, Node, Stream, Violation
from contour.xds.whole import Edition

log = logging.getLogger(__name__)

_SERVICES = {
    "discovery.v3.AggregatedDiscoveryService": ("AggregatedResources", ""),
    "cluster.v3.ClusterDiscoveryService": ("Clusters", resources.CLUSTER),
    "endpoint.v3.EndpointDiscoveryService": ("Endpoints", resources.ENDPOINTS),
    "secret.v3.SecretDiscoveryService": ("Secrets", resources.SECRET),
    "extension.v3.ExtensionConfigDiscoveryService": ("ExtensionConfigs", resources.EXTENSION),
    "runtime.v3.RuntimeDiscoveryService": ("Runtime", resources.RUNTIME_LAYER),
    "listener.v3.ListenerDiscoveryService": ("Listeners", resources.LISTENER),
    "route.v3.RouteDiscoveryService": ("Routes", resources.ROUTE),
    "route.v3.ScopedRoutesDiscoveryService": ("ScopedRoutes", resources.SCOPE),
}
_OPTIONS = (
    ("grpc.max_receive_message_length", 32 << 20),
    ("grpc.max_send_message_length", -1),
    # Envoy pings an idle connection every few seconds, for which gRPC would close it by default.
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 1000),
    ("grpc.http2.max_ping_strikes", 0),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # gRPC also sends pings of its own; while such a ping is unanswered, by default for a minute, no
    # keepalive is sent, and a vanished client counts as connected.
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.so_reuseport", 0),
)


_CODES: dict[type[Exception], grpc.StatusCode] = {
    Violation: grpc.StatusCode.INVALID_ARGUMENT,
    authorization.Denied: grpc.StatusCode.PERMISSION_DENIED,
    authorization.UnknownFleet: grpc.StatusCode.NOT_FOUND,
    authorization.NotYet: grpc.StatusCode.UNAVAILABLE,
    authorization.FleetEnding: grpc.StatusCode.UNAVAILABLE,
    TooMany: grpc.StatusCode.RESOURCE_EXHAUSTED,
}
_LONGEST_PATH = 107  # of a Unix socket, by the kernel

Call = aio.ServicerContext[bytes, bytes]


@dataclass(slots=True)
class Server:
    """Serves fleets on the given addresses: `host:port` or `unix:/path`."""

    addresses: tuple[str, ...]
    patience: Patience = field(default_factory=Patience)
    tls: credentials.Files | None = None  # for addresses that are not Unix sockets
    fallback: str = (
        ""  # the fleet of nodes whose cluster names no fleet, as with foreign bootstraps
    )
    clock: Callable[[], float] = time.monotonic
    limits: Limits = field(default_factory=Limits)
    fleets: dict[str, Fleet] = field(default_factory=dict)
    by_node: dict[NodeIdentity, Fleet] = field(default_factory=dict)  # served as a whole
    services: tuple[grpc.GenericRpcHandler, ...] = ()  # beside xDS, on the same port
    ports: tuple[int, ...] = ()  # where it listens, once it does
    _grpc: aio.Server | None = None
    _reading: dict[Stream, asyncio.Task[Exception | None]] = field(default_factory=dict)
    _callers: dict[Stream, str] = field(default_factory=dict)  # as gRPC names them
    _stirred: set[asyncio.Event] = field(default_factory=set)  # of streams with news to send
    _peers: Peers = field(init=False)
    _arrivals: Arrivals = field(default_factory=lambda: Arrivals(_later))

    def __post_init__(self) -> None:
        self._peers = Peers(self.limits.streams_per_address)

    def fleet(self, name: str) -> Fleet:
        """The fleet of a name, which is created when it is first requested."""
        if name not in self.fleets:
            self.fleets[name] = Fleet(name, self.patience, self.clock, _later)
        return self.fleets[name]

    def fleet_of_node(self, identity: NodeIdentity) -> Fleet:
        """The fleet of a node ID, which is served as a whole. It is created when it is first
        requested."""
        if identity not in self.by_node:
            patience = replace(self.patience, pace=Pace(interval=0))
            made = Fleet(str(identity), patience, self.clock, _later, Edition())
            self.by_node[identity] = made
        return self.by_node[identity]

    def remove(self, name: str) -> None:
        """Removes a fleet and ends its streams; Envoys keep what they have."""
        self._forget(self.fleets.pop(name, None))

    def shut(self, name: str) -> None:
        """Ends the streams of a fleet whose Envoys are about to end; they keep what they have, and
        are not admitted again. Another Envoy may come when the fleet is reopened."""
        if (fleet := self.fleets.get(name)) is not None:
            fleet.shut()
            self._end(fleet)

    def reopen(self, name: str) -> None:
        """Admits Envoys of a fleet again that was shut."""
        if (fleet := self.fleets.get(name)) is not None:
            fleet.reopen()

    def remove_node(self, identity: NodeIdentity) -> None:
        """Removes the fleet of a node ID and ends its streams; Envoys keep what they have."""
        self._forget(self.by_node.pop(identity, None))

    def _forget(self, fleet: Fleet | None) -> None:
        """Ends the streams of a removed fleet. They end later, and nobody is told of that."""
        if fleet is not None:
            fleet.observer = AckObserver()
            self._end(fleet)

    def _end(self, fleet: Fleet) -> None:
        for stream, reading in self._reading.items():
            if stream.fleet is fleet:
                reading.cancel()

    async def start(self) -> None:
        """Opens the port. Everything that is known must have been published."""
        server = aio.server(options=(*_OPTIONS, *self.limits.options()))
        server.add_generic_rpc_handlers((*self._services(), *self.services))
        self.ports = tuple(self._listen(server, address) for address in self.addresses)
        await server.start()
        self._grpc = server

    async def stop(self, grace: float = 0.5) -> None:
        """Ends all streams; Envoys keep what they have and reconnect."""
        for reading in self._reading.values():
            reading.cancel()
        if self._grpc is not None:
            await self._grpc.stop(grace)

    @property
    def callers(self) -> KeysView[str]:
        """The connected Envoys: one address for each, in gRPC's notation."""
        return dict.fromkeys(self._callers.values()).keys()

    @property
    def connections(self) -> int:
        """The number of connected Envoys."""
        return len(self.callers)

    @property
    def streams(self) -> KeysView[Stream]:
        """The streams that are open."""
        return self._reading.keys()

    @property
    def is_sending(self) -> bool:
        """Whether a stream has something to send, or may have, since it was notified and has not
        checked yet."""
        return bool(self._stirred)

    def let_go(self, number: int) -> int:
        """Ends so many connections, so that those Envoys connect to another replica; they keep what
        they have. Returns how many there were."""
        return disconnect([*islice(self.callers, number)])

    def _listen(self, server: aio.Server, address: str) -> int:
        path = address.removeprefix("unix:")
        if path != address and len(path.encode()) > _LONGEST_PATH:
            raise OSError(
                f"the path of the xDS socket is longer than {_LONGEST_PATH} bytes: {path}"
            )
        try:
            if self.tls is None or path != address:
                port = server.add_insecure_port(address)
                if path != address:
                    os.chmod(path, 0o600)  # a client that can connect sees everything
                return port
            return server.add_secure_port(address, credentials.server(self.tls))
        except RuntimeError as error:
            raise OSError(f"cannot serve xDS on {address}: {error}") from error

    def _services(self) -> Iterator[grpc.GenericRpcHandler]:
        """Streams of all types and of one; every other method answers UNIMPLEMENTED."""
        for service, (noun, type_url) in _SERVICES.items():
            methods = {
                f"Delta{noun}": self._method(delta, type_url),
                f"Stream{noun}": self._method(sotw, type_url),
            }
            yield grpc.method_handlers_generic_handler(f"envoy.service.{service}", methods)

    def _method(self, dialect: Dialect, type_url: str) -> grpc.RpcMethodHandler:
        async def serve(requests: AsyncIterator[bytes], call: Call) -> None:
            auth = call.auth_context()
            names = authorization.certificate_names(auth)
            uris = authorization.certificate_uris(auth)
            said = call.invocation_metadata() or ()
            nodes = authorization.node_identities(names, uris, said)

            def admission(node: Node) -> Fleet:
                if nodes:
                    return authorization.of_node_id(self.by_node, node, nodes)
                return authorization.admitted(self.fleets, self.fallback, node, names, uris)

            stirred = asyncio.Event()

            def wake() -> None:
                self._stirred.add(stirred)
                stirred.set()

            stream = Stream(dialect, admission, wake, type_url)
            try:
                with self._peers.counted(call.peer()):
                    error = await self._converse(stream, stirred, requests, call)
            except TooMany as too_many:
                error = too_many
            if error is not None:
                # Envoys whose fleet is shut ask again and again, as they should.
                level = (
                    logging.DEBUG
                    if isinstance(error, authorization.FleetEnding)
                    else logging.WARNING
                )
                log.log(level, "closed the xDS stream of %s: %s", call.peer(), error)
                await call.abort(_CODES[type(error)], str(error))

        return grpc.stream_stream_rpc_method_handler(serve)

    async def _converse(
        self, stream: Stream, stirred: asyncio.Event, requests: AsyncIterator[bytes], call: Call
    ) -> Exception | None:
        """Serves a stream until either side ends it. Returns what is wrong with the client, if
        anything."""
        over = asyncio.Event()
        try:
            async with asyncio.TaskGroup() as tasks:
                writing = tasks.create_task(self._write(stream, stirred, over, call))
                reading = tasks.create_task(self._read(stream, stirred, requests))
                peers = self._cut_off_with(call.peer())
                reading.add_done_callback(lambda _: _let_out(writing, stirred, over, peers))
                self._reading[stream], self._callers[stream] = reading, call.peer()
                self._arrivals.came()
        finally:
            self._reading.pop(stream, None)
            self._callers.pop(stream, None)
            stream.close(self.clock())
            self._stirred.discard(stirred)
        return None if reading.cancelled() else reading.result()

    def _cut_off_with(self, peer: str) -> tuple[str, ...]:
        """Who is disconnected with a client: on a Unix socket all, for gRPC does not tell them
        apart. Envoys keep what they have, and reconnect."""
        if not peer.startswith("unix:"):
            return (peer,)
        return tuple(it for it in self.addresses if it.startswith("unix:"))

    async def _read(
        self, stream: Stream, stirred: asyncio.Event, requests: AsyncIterator[bytes]
    ) -> Exception | None:
        """Processes requests until there are no more, or an invalid one arrives."""
        try:
            async for request in requests:
                stream.receive(request, self.clock())
                stirred.set()
        except tuple(_CODES) as error:
            return error
        return None

    async def _write(
        self, stream: Stream, stirred: asyncio.Event, over: asyncio.Event, call: Call
    ) -> None:
        """Sends responses one at a time: a slow reader blocks only its own stream."""
        while not over.is_set():
            stirred.clear()
            while not over.is_set() and (message := stream.response(self.clock())) is not None:
                try:
                    await call.write(message)
                except aio.InternalError:  # the client has vanished; reading ends, or will be ended
                    self._reading[stream].cancel()
                    return
            self._stirred.discard(stirred)
            if not over.is_set():
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


def _later(seconds: float, action: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(seconds, action)


def _let_out(
    writing: asyncio.Task[None],
    stirred: asyncio.Event,
    over: asyncio.Event,
    peers: tuple[str, ...],
) -> None:
    """Lets a response be sent completely, because gRPC cannot end a call in the middle of one: the
    client would not be told, and wait for ever. One that does not read is disconnected."""
    over.set()
    stirred.set()

    def cut_off() -> None:
        if not writing.done():
            disconnect(peers)
            writing.cancel()

    asyncio.get_running_loop().call_later(LAST_WRITE, cut_off)

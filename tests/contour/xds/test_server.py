"""The server on real sockets: who is let in, what others are told, and that nobody else suffers."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
from envoy.service.discovery.v3 import discovery_pb2
from grpc import aio

from contour.xds import credentials
from contour.xds.identities import NodeIdentity
from contour.xds.observer import NO_RELEASES, AckObserver
from contour.xds.resources import CLUSTER, ENDPOINTS
from contour.xds.server import Server
from tests.contour.xds import world
from tests.testbed import certificates
from tests.testbed.patience import PATIENCE

pb: Any = discovery_pb2
ADS = "/envoy.service.discovery.v3.AggregatedDiscoveryService/"
CDS = "/envoy.service.cluster.v3.ClusterDiscoveryService/"
ALONE = (("grpc.use_local_subchannel_pool", 1),)
SHAPES = [
    f"{ADS}DeltaAggregatedResources",
    f"{ADS}StreamAggregatedResources",
    f"{CDS}DeltaClusters",
    f"{CDS}StreamClusters",
]


@asynccontextmanager
async def serving(address: str, tls: credentials.Files | None = None) -> AsyncIterator[Server]:
    server = Server((address,), tls=tls)
    server.fleet("web").publish(world.site("a.test", "a", 1))
    server.fleet("other").publish(world.site("o.test", "o", 1))
    server.fleet("empty")
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


class Caller:
    """A client of raw bytes."""

    def __init__(self, channel: Any, method: str) -> None:
        self.call: Any = channel.stream_stream(method)()
        self._kind = pb.DeltaDiscoveryRequest if "Delta" in method else pb.DiscoveryRequest
        self._answer = pb.DeltaDiscoveryResponse if "Delta" in method else pb.DiscoveryResponse

    async def ask(self, **fields: Any) -> None:
        await self.call.write(self._kind(**fields).SerializeToString())

    async def answer(self) -> Any:
        async with asyncio.timeout(PATIENCE):
            return self._answer.FromString(await self.call.read())

    async def code(self) -> grpc.StatusCode:
        async with asyncio.timeout(PATIENCE):
            return await self.call.code()  # type: ignore[no-any-return]


def node(cluster: str = "web", id: str = "one") -> dict[str, str]:  # noqa: A002
    return {"id": id, "cluster": cluster}


@pytest.mark.parametrize("method", SHAPES)
async def test_every_shape_of_stream_is_served(tmp_path: Path, method: str) -> None:
    async with serving(f"unix:{tmp_path}/xds"), aio.insecure_channel(f"unix:{tmp_path}/xds") as it:
        caller = Caller(it, method)
        await caller.ask(type_url=CLUSTER, node=node())
        assert len((await caller.answer()).resources) == 1
        await caller.call.done_writing()
        assert await caller.code() is grpc.StatusCode.OK


@pytest.mark.parametrize("method", SHAPES)
@pytest.mark.parametrize(
    ("cluster", "code"),
    [
        ("nobody", grpc.StatusCode.NOT_FOUND),
        ("", grpc.StatusCode.NOT_FOUND),
        ("empty", grpc.StatusCode.UNAVAILABLE),
    ],
)
async def test_a_node_of_no_fleet_is_told_so(
    tmp_path: Path, method: str, cluster: str, code: grpc.StatusCode
) -> None:
    async with serving(f"unix:{tmp_path}/xds"), aio.insecure_channel(f"unix:{tmp_path}/xds") as it:
        caller = Caller(it, method)
        await caller.ask(type_url=CLUSTER, node=node(cluster))
        assert await caller.code() is code


@pytest.mark.parametrize("method", [f"{ADS}FetchResources", f"{CDS}FetchClusters", "/x.Y/Z"])
async def test_other_methods_are_not_implemented(tmp_path: Path, method: str) -> None:
    async with serving(f"unix:{tmp_path}/xds"), aio.insecure_channel(f"unix:{tmp_path}/xds") as it:
        untyped: Any = it  # the stubs ask for what may be left out
        with pytest.raises(aio.AioRpcError) as error:
            await untyped.unary_unary(method)(b"")
        assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_a_foreign_bootstrap_gets_the_fallback_fleet(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/xds"
    async with serving(address) as server, aio.insecure_channel(address) as channel:
        server.fallback = "web"
        caller = Caller(channel, SHAPES[0])
        await caller.ask(type_url=CLUSTER, node=node("projectcontour", ""))
        assert [it.name for it in (await caller.answer()).resources] == ["a"]


async def test_garbage_ends_its_stream_and_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address = f"unix:{tmp_path}/xds"
    async with serving(address) as server, aio.insecure_channel(address) as channel:
        good, bad = Caller(channel, SHAPES[0]), Caller(channel, SHAPES[0])
        await good.ask(type_url=CLUSTER, node=node())
        await good.answer()
        await bad.call.write(b"\xff\xff\xff")
        assert await bad.code() is grpc.StatusCode.INVALID_ARGUMENT
        server.fleets["web"].publish([world.cluster("b")])
        assert [it.name for it in (await good.answer()).resources] == ["b"]
    assert "not a DeltaDiscoveryRequest" in caplog.text


async def test_a_client_that_reads_nothing_delays_no_other(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/xds"
    async with (
        serving(address) as server,
        aio.insecure_channel(address, options=ALONE) as one,
        aio.insecure_channel(address, options=ALONE) as other,
    ):
        deaf, good = Caller(one, SHAPES[0]), Caller(other, SHAPES[0])
        for caller in (deaf, good):
            await caller.ask(type_url=CLUSTER, node=node())
        await good.answer()
        for number in range(50):
            server.fleets["web"].publish([world.cluster("big", alt_stat_name=f"{number}" * 99_999)])
            assert server.is_sending
            assert (await good.answer()).resources[0].name == "big"
        (stuck,) = (it for it in server.fleets["web"].envoys if _unread(it))
        assert len(stuck.subscriptions[CLUSTER][0].dirty) == 1
        assert server.is_sending
        deaf.call.cancel()
        await _all_sent(server)
        server.fleets["web"].publish([world.cluster("small")])
        assert server.is_sending
        assert (await good.answer()).resources[0].name == "small"
        await _all_sent(server)


async def _all_sent(server: Server) -> None:
    async with asyncio.timeout(PATIENCE):
        while server.is_sending:
            await asyncio.sleep(0.01)


def _unread(envoy: Any) -> bool:
    return bool(envoy.subscriptions[CLUSTER][0].dirty)


async def test_a_request_of_many_megabytes_is_taken(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/xds"
    async with serving(address), aio.insecure_channel(address) as channel:
        caller = Caller(channel, SHAPES[0])
        versions = {f"a-rather-long-name-of-a-cluster-{it}" * 3: "v" * 32 for it in range(60_000)}
        await caller.ask(type_url=CLUSTER, node=node(), initial_resource_versions=versions)
        assert [it.name for it in (await caller.answer()).resources] == ["a"]


async def test_a_fleet_that_is_removed_ends_its_streams_alone(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/xds"
    async with serving(address) as server, aio.insecure_channel(address) as channel:
        staying, going = Caller(channel, SHAPES[0]), Caller(channel, SHAPES[0])
        for caller, cluster in ((staying, "web"), (going, "other")):
            await caller.ask(type_url=CLUSTER, node=node(cluster))
            await caller.answer()
        server.remove("other")
        assert await going.code() is grpc.StatusCode.OK
        server.fleets["web"].publish([world.cluster("b")])
        assert (await staying.answer()).resources[0].name == "b"


@pytest.mark.parametrize("is_local", [False, True])
async def test_a_client_that_reads_nothing_is_told_that_its_fleet_is_removed(
    tmp_path: Path, *, is_local: bool
) -> None:
    """gRPC cannot end a call in the middle of a response, so its connection ends."""
    socket = f"unix:{tmp_path}/xds"
    async with serving(socket if is_local else "127.0.0.1:0") as server:
        address = socket if is_local else f"127.0.0.1:{server.ports[0]}"
        async with aio.insecure_channel(address, options=ALONE) as channel:
            deaf = Caller(channel, SHAPES[0])
            await deaf.ask(type_url=CLUSTER, node=node())
            await deaf.answer()
            big = world.cluster("big", alt_stat_name="x" * 9_999_999)
            server.fleets["web"].publish([big])
            server.remove("web")
            async with asyncio.timeout(PATIENCE):
                while server.connections:
                    await asyncio.sleep(0.05)
            # Its library may have read the response after all, and then the call ends well.
            assert await deaf.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.OK}


async def test_a_fleet_that_is_shut_admits_nobody_until_it_is_reopened(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/xds"
    async with serving(address) as server, aio.insecure_channel(address) as channel:

        async def asking() -> Caller:
            caller = Caller(channel, SHAPES[0])
            await caller.ask(type_url=CLUSTER, node=node())
            return caller

        first = await asking()
        await first.answer()
        server.shut("web")
        assert await first.code() is grpc.StatusCode.OK
        assert await (await asking()).code() is grpc.StatusCode.UNAVAILABLE
        server.reopen("web")
        assert (await (await asking()).answer()).resources


async def test_an_envoy_that_leaves_is_forgotten(tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/xds"
    async with serving(address) as server, aio.insecure_channel(address) as channel:
        gone = asyncio.Event()
        server.fleets["web"].observer = _Leaving(gone)
        caller = Caller(channel, SHAPES[0])
        await caller.ask(type_url=ENDPOINTS, node=node(), resource_names_subscribe=["a"])
        await caller.answer()
        caller.call.cancel()
        async with asyncio.timeout(PATIENCE):
            await gone.wait()
        assert not server.fleets["web"].envoys


async def test_a_client_that_vanishes_while_it_is_told_something_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address, shaky = f"unix:{tmp_path}/xds", f"{tmp_path}/shaky"
    async with serving(address) as server:

        def publish(number: int) -> None:
            server.fleets["web"].publish([world.cluster("b", alt_stat_name=f"{number}")])

        server.fleets["web"].publish([world.cluster("big", alt_stat_name="9" * 99_999)])
        for length in (300, 5_000, 50_000) * 6:
            async with (
                _cut(shaky, address, length, publish) as over,
                aio.insecure_channel(f"unix:{shaky}", options=ALONE) as channel,
            ):
                await Caller(channel, SHAPES[0]).ask(type_url=CLUSTER, node=node())
                async with asyncio.timeout(PATIENCE):
                    await over.wait()
    assert not server.fleets["web"].envoys
    assert not caplog.records


@asynccontextmanager
async def _cut(
    path: str, address: str, length: int, publish: Callable[[int], None]
) -> AsyncIterator[asyncio.Event]:
    """Cuts the connection after so many bytes of answers, while much is published."""
    over = asyncio.Event()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, asks = await asyncio.open_unix_connection(address.removeprefix("unix:"))
        sending = asyncio.ensure_future(_copy(reader, asks))
        with suppress(OSError):
            await _copy(answers, writer, length)
        for it in (asks, writer):
            it.transport.abort()
        sending.cancel()
        for number in range(100):
            publish(number)
            await asyncio.sleep(0)
        over.set()

    server = await asyncio.start_unix_server(relay, path)
    try:
        yield over
    finally:
        server.close()


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, length: int = 1 << 30
) -> None:
    while length > 0 and (chunk := await reader.read(4096)):
        writer.write(chunk)
        length -= len(chunk)


async def test_a_socket_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with serving(f"unix:{tmp_path}/xds"):
            assert (tmp_path / "xds").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)


async def test_a_port_in_use_and_a_long_path_are_told(tmp_path: Path) -> None:
    async with serving("127.0.0.1:0") as server:
        with pytest.raises(OSError, match=r"127\.0\.0\.1"):
            await Server((f"127.0.0.1:{server.ports[0]}",)).start()
    with pytest.raises(OSError, match="107 bytes"):
        await Server((f"unix:/{'x' * 120}",)).start()


@pytest.mark.parametrize("method", SHAPES)
async def test_a_certificate_sees_its_fleet_and_no_other(tmp_path: Path, method: str) -> None:
    ours = certificates.authority()
    files = credentials.Files(*certificates.write(certificates.issued(ours, "xds"), ours, tmp_path))
    async with (
        serving("127.0.0.1:0", files) as server,
        _channel(server, ours, certificates.issued(ours, "web")) as channel,
    ):
        allowed, denied = Caller(channel, method), Caller(channel, method)
        await allowed.ask(type_url=CLUSTER, node=node("web"))
        assert len((await allowed.answer()).resources) == 1
        await denied.ask(type_url=CLUSTER, node=node("other"))
        assert await denied.code() is grpc.StatusCode.PERMISSION_DENIED
        unknown = Caller(channel, method)
        await unknown.ask(type_url=CLUSTER, node=node("nobody"))
        assert await unknown.code() is grpc.StatusCode.PERMISSION_DENIED


@pytest.mark.parametrize("method", SHAPES)
async def test_the_kind_of_identity_decides_which_fleets_are_looked_at(
    tmp_path: Path, method: str
) -> None:
    ours, mine = certificates.authority(), NodeIdentity("shop", "web")
    files = credentials.Files(*certificates.write(certificates.issued(ours, "xds"), ours, tmp_path))
    async with (
        serving("127.0.0.1:0", files) as server,
        _channel(server, ours, certificates.issued(ours, str(mine))) as channel,
        _channel(server, ours, certificates.issued(ours, "web")) as other,
    ):
        server.fleet_of_node(mine).publish_edition("1", [world.cluster("raw")])
        server.fleet_of_node(NodeIdentity("bank", "web")).publish_edition("1", [])
        allowed = Caller(channel, method)
        await allowed.ask(type_url=CLUSTER, node=node("other", "web"))
        (got,) = (await allowed.answer()).resources
        assert b"raw" in got.SerializeToString()
        server.remove_node(mine)
        assert await allowed.code() is grpc.StatusCode.OK
        for where, who, code in (
            (channel, node("web", "web"), grpc.StatusCode.NOT_FOUND),
            (channel, node("web", "one"), grpc.StatusCode.PERMISSION_DENIED),
            (other, node(str(mine), "web"), grpc.StatusCode.PERMISSION_DENIED),
        ):
            caller = Caller(where, method)
            await caller.ask(type_url=CLUSTER, node=who)
            assert await caller.code() is code


async def test_without_a_certificate_of_our_authority_nobody_gets_in(tmp_path: Path) -> None:
    ours, theirs = certificates.authority(), certificates.authority("theirs")
    files = credentials.Files(*certificates.write(certificates.issued(ours, "xds"), ours, tmp_path))
    async with serving("127.0.0.1:0", files) as server:
        for pair in (None, certificates.issued(theirs, "web")):
            async with _channel(server, ours, pair) as channel:
                caller = Caller(channel, SHAPES[0])
                assert await caller.code() is grpc.StatusCode.UNAVAILABLE


async def test_certificates_rotate_under_streams_that_go_on(tmp_path: Path) -> None:
    ours, next_ = certificates.authority(), certificates.authority("next")
    files = credentials.Files(*certificates.write(certificates.issued(ours, "xds"), ours, tmp_path))
    async with (
        serving("127.0.0.1:0", files) as server,
        _channel(server, ours, certificates.issued(ours, "web")) as channel,
    ):
        old = Caller(channel, SHAPES[0])
        await old.ask(type_url=CLUSTER, node=node())
        await old.answer()
        files.key.write_bytes(b"half of a key")
        async with _channel(server, ours, certificates.issued(ours, "web", "a")) as meanwhile:
            await _greet(Caller(meanwhile, SHAPES[0]))
        certificates.write(certificates.issued(next_, "xds"), next_, tmp_path)
        async with _channel(server, next_, certificates.issued(next_, "web")) as newer:
            await _greet(Caller(newer, SHAPES[0]))
        server.fleets["web"].publish([world.cluster("b")])
        assert (await old.answer()).resources[0].name == "b"


@pytest.mark.parametrize("broken", ["key", "authority"])
async def test_what_cannot_be_served_is_told_once_and_the_last_good_files_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    ours = certificates.authority()
    files = credentials.Files(*certificates.write(certificates.issued(ours, "xds"), ours, tmp_path))
    content = {"key": b"half of a key", "authority": certificates.revocations(ours)}[broken]
    async with serving("127.0.0.1:0", files) as server:
        getattr(files, broken).write_bytes(content)
        with caplog.at_level("INFO", credentials.__name__):
            for n in range(3):
                async with _channel(server, ours, certificates.issued(ours, "web", f"{n}")) as it:
                    await _greet(Caller(it, SHAPES[0]))
    said = [it.message for it in caplog.records if it.name == credentials.__name__]
    assert len(said) == 1
    assert said[0].startswith("cannot load the new certificate, keeping the previous one")


async def _greet(caller: Caller) -> None:
    await caller.ask(type_url=CLUSTER, node=node())
    assert (await caller.answer()).resources


def _channel(
    server: Server, authority: certificates.Pair, pair: certificates.Pair | None
) -> aio.Channel:
    made = grpc.ssl_channel_credentials(
        authority.pem, pair.key_pem if pair else None, pair.pem if pair else None
    )
    options = (("grpc.ssl_target_name_override", "xds"), ("grpc.use_local_subchannel_pool", 1))
    return aio.secure_channel(f"127.0.0.1:{server.ports[0]}", made, options=options)


class _Leaving(AckObserver):
    def __init__(self, gone: asyncio.Event) -> None:
        self._gone = gone

    def connected(self, envoys: int, releases: Mapping[str, int] = NO_RELEASES) -> None:
        if not envoys:
            self._gone.set()

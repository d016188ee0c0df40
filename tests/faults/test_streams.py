"""F36 to F39, and the server's side of F25: what the other end of an xDS stream can do."""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import grpc
from envoy.config.route.v3 import route_pb2

from contour.xds import resources
from contour.xds.envoy import Patience
from contour.xds.fleet import Fleet
from contour.xds.resources import CLUSTER, ENDPOINTS, ROUTE
from contour.xds.server import Server
from tests.contour.xds import world
from tests.faults import scripted
from tests.faults.rows import Limit, Run, fault
from tests.testbed.programs import resident

FLEET, CLUSTERS = "web", 200
SHORT = Patience(absence=0.3, grace=0.1)
"""What vanished leaves after 0.4 s instead of 6, so that a run is short."""


@dataclass(slots=True)
class Open:
    """A server with a fleet of clusters, and a client that behaves."""

    server: Server
    fleet: Fleet
    address: str
    good: scripted.Client
    marks: int = 0

    async def is_well(self, run: Run) -> float:
        """Publishes something and waits until the good client has it; the seconds that took."""
        self.marks += 1
        name, start = f"mark-{self.marks}", time.monotonic()
        self.fleet.publish([world.cluster(name)])
        while True:
            answer = await self.good.hear()
            await self.good.accept(answer)
            run.sent += 1
            if name in {it.name for it in answer.resources}:
                return time.monotonic() - start


@contextlib.asynccontextmanager
async def opened() -> AsyncIterator[Open]:
    """The server's own process is this one."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        address = f"unix:{folder}/xds"
        server = Server((address,), SHORT)
        fleet = server.fleet(FLEET)
        fleet.publish([world.cluster(f"c{number}") for number in range(CLUSTERS)])
        await server.start()
        try:
            async with scripted.client(address, "good", FLEET) as good:
                await good.say(CLUSTER)
                await good.accept(await good.hear())
                yield Open(server, fleet, address, good)
        finally:
            await server.stop()


@fault("f36", opened, others_before=Limit("s"), others=Limit("s", 0.25), memory=Limit("MiB", 50))
async def slow_reader(run: Run, site: Open) -> None:
    """One reads nothing while much changes: the others get all, and it gets the newest, once."""
    before = max([await site.is_well(run) for _ in range(5)])
    before_it, tables = resident(), [f"slow-{run.number}-{it}" for it in range(10)]
    site.fleet.publish(_large(it, "first") for it in tables)
    async with scripted.client(site.address, "slow", FLEET) as slow:
        await slow.say(ROUTE, resource_names_subscribe=tables)
        seconds = []
        for number in range(50):
            site.fleet.publish(_large(it, f"state-{number}") for it in tables)
            seconds.append(await site.is_well(run))
        stuck = next(it for it in site.fleet.envoys if it.id == "slow")
        unsent = [len(it.dirty) + len(it.flights) for it in stuck.subscriptions[ROUTE]]
        run.prove("not taken by the slow one", sum(unsent))
        grown = resident() - before_it
        responses, newest = 0, set[str]()
        while newest != set(tables):
            answer = await slow.hear()
            await slow.accept(answer)
            responses += 1
            found = {it.name for it in answer.resources if b"state-49" in it.resource.value}
            newest |= found
    run.proofs["responses in place of 50"] = responses
    run.expect(responses <= 5, f"{responses} responses: the newest state does not win")
    run.figures |= {"others_before": before, "others": max(seconds), "memory": grown}


def _large(name: str, mark: str, size: int = 500_000) -> resources.Change:
    """A RouteConfiguration of that size in a single part."""
    made = route_pb2.RouteConfiguration(name=name)
    route = made.virtual_hosts.add(name=name, domains=[f"{name}.test"]).routes.add(name=mark)
    route.match.prefix = "/"
    route.direct_response.status = 200
    route.direct_response.body.inline_string = "x" * size
    return resources.Change(
        resources.Name(ROUTE, name), "", resources.part(made.SerializeToString())
    )


@fault("f37", opened, ghosts=Limit("", 0), removed_after=Limit("s", 2))
async def stale_versions(run: Run, site: Open) -> None:
    """One comes back with what has gone meanwhile: it is told to remove that, and nothing else."""
    ghosts = {f"ghost-{run.number}-{it}" for it in range(run.chance.randint(1, 50))}
    site.fleet.publish(world.cluster(it) for it in ghosts)
    async with scripted.client(site.address, "envoy", FLEET) as first:
        await first.say(CLUSTER)
        answer = await first.hear()
        await first.accept(answer)
        had = {it.name: it.version for it in answer.resources}
    run.prove("had what will go", ghosts <= had.keys())
    site.fleet.publish(it for ghost in ghosts for it in world.gone(world.cluster(ghost)))
    async with scripted.client(site.address, "envoy", FLEET) as again:
        start, removed, brought = time.monotonic(), set[str](), set[str]()
        await again.say(CLUSTER, initial_resource_versions=had)
        while removed != ghosts and (answer := await again.hear_within(2)) is not None:
            await again.accept(answer)
            removed |= set(answer.removed_resources)
            brought |= {it.name for it in answer.resources}
        run.figures["removed_after"] = time.monotonic() - start
        run.figures["ghosts"] = len(ghosts - removed)
    run.expect(removed <= ghosts, f"removed {sorted(removed - ghosts)[:5]}")
    run.expect(not brought & had.keys(), "was sent again what it has")


@fault("f38", opened, answered=Limit("s", 3), request=Limit("MiB"))
async def large_request(run: Run, site: Open) -> None:
    """A request of more than 4 MiB (60,000 names) is taken, and the stream goes on."""
    known = [f"{run.number}-{it}-{'x' * 50}" for it in range(60_000)]
    versions = dict.fromkeys(known, "0" * 32)
    async with scripted.client(site.address, "large", FLEET) as large:
        start = time.monotonic()
        await large.say(CLUSTER, initial_resource_versions=versions)
        answer = await large.hear(20)
        run.figures["answered"] = time.monotonic() - start
        await large.accept(answer)
        size = sum(len(it) + 40 for it in known) / 2**20
        run.prove("larger than 4 MiB", size > 4)
        name = f"after-{run.number}"
        site.fleet.publish([world.cluster(name)])
        while name not in {it.name for it in answer.resources}:
            answer = await large.hear(20)
            await large.accept(answer)
    run.figures["request"] = size
    await site.is_well(run)


@fault("f39", opened, others=Limit("s", 0.5))
async def nonsense(run: Run, site: Open) -> None:
    """Old nonces, types nobody asked for or knows, no node, garbage: ignored, or a clean error."""
    seconds = []
    for _ in range(20):
        script = run.chance.choice([_stale, _unknown, _unsubscribed, _nobody, _garbage])
        name = script.__name__.strip("_")
        await script(run, site)
        run.proofs[name] = run.proofs.get(name, 0) + 1
        seconds.append(await site.is_well(run))
    run.prove("scripts", len(run.proofs))
    run.figures["others"] = max(seconds)


async def _stale(run: Run, site: Open) -> None:
    async with scripted.client(site.address, "stale", FLEET) as it:
        await it.say(CLUSTER)
        answer = await it.hear()
        await it.say(CLUSTER, response_nonce=f"{run.chance.getrandbits(64):x}")
        words = {"code": 13, "message": "old"}
        await it.say(CLUSTER, response_nonce="never sent", error_detail=words)
        await it.accept(answer)
        await _goes_on(run, site, it)


async def _unknown(run: Run, site: Open) -> None:
    async with scripted.client(site.address, "unknown", FLEET) as it:
        await it.say("type.googleapis.com/none.such.Type", resource_names_subscribe=["a"])
        answer = await it.hear()
        run.expect(list(answer.removed_resources) == ["a"], "there is such a thing")
        await it.accept(answer)
        await it.say(CLUSTER)
        await it.accept(await it.hear())
        await _goes_on(run, site, it)


async def _unsubscribed(run: Run, site: Open) -> None:
    async with scripted.client(site.address, "unsubscribed", FLEET) as it:
        await it.say(ENDPOINTS, resource_names_unsubscribe=["none", "c0"], response_nonce="1")
        await it.say(CLUSTER)
        await it.accept(await it.hear())
        await _goes_on(run, site, it)


async def _nobody(run: Run, site: Open) -> None:
    async with scripted.client(site.address, "", "") as it:
        await it.say(CLUSTER)
        status = await it.status()
        run.expect(status in {grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAVAILABLE}, str(status))


async def _garbage(run: Run, site: Open) -> None:
    async with scripted.client(site.address, "garbage", FLEET) as it:
        await it.say_bytes(b"\xff" + run.chance.randbytes(run.chance.randint(10, 5_000)))
        status = await it.status()
        run.expect(status is grpc.StatusCode.INVALID_ARGUMENT, str(status))


async def _goes_on(run: Run, site: Open, it: scripted.Client) -> None:
    """The stream lives: what is published next arrives on it."""
    name = f"goes-on-{run.chance.getrandbits(32):x}"
    site.fleet.publish([world.cluster(name)])
    found = set[str]()
    while name not in found:
        answer = await it.hear()
        await it.accept(answer)
        found |= {each.name for each in answer.resources}
    site.fleet.publish(world.gone(world.cluster(name)))


@fault("f25-half-open", together=20, patience=90.0, reaped=Limit("s", 60), leaked=Limit("", 0))
async def half_open(run: Run, _: None) -> None:
    """The other end vanishes without a word: the server ends the stream by itself."""
    async with (
        opened() as site,
        _severable(site.address) as (address, severed),
        scripted.client(address, "vanished", FLEET) as it,
    ):
        await it.say(CLUSTER)
        await it.accept(await it.hear())
        run.prove("connected", _has(site, "vanished"))
        severed.set()
        start = time.monotonic()
        while _has(site, "vanished") and time.monotonic() - start < 60:
            await asyncio.sleep(0.1)
        run.figures["reaped"] = time.monotonic() - start
        run.figures["leaked"] = float(_has(site, "vanished"))


def _has(site: Open, node: str) -> bool:
    return any(it.id == node for it in site.fleet.envoys)


@contextlib.asynccontextmanager
async def _severable(address: str) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A way to the server that swallows everything once it is severed, and closes nothing."""
    target, severed = address.removeprefix("unix:"), asyncio.Event()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while found := await reader.read(1 << 16):
            if not severed.is_set():
                writer.write(found)
        if not severed.is_set():
            writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_unix_connection(target)
        with contextlib.suppress(asyncio.CancelledError):  # at the end; asyncio would complain
            await asyncio.gather(forward(reader, outer), forward(inner, writer))

    server = await asyncio.start_unix_server(connected, f"{target}-severable")
    async with server:
        yield f"{address}-severable", severed

"""F16 to F19: the replica that leads dies, freezes, is cut off, or lives in another time.

Two replicas over one Lease of three seconds. At no time do two of them write, what one leaves
undone the other one does, and Envoys are served all the while.
"""

import asyncio
import contextlib
import mmap
import shutil
import struct
import subprocess
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cluster.double.resources import Name
from tests.cluster.proxies import Service, Target
from tests.faults.rows import Limit, NotInjectedError, Run, fault
from tests.testbed import doubled
from tests.testbed.doubled import Site
from tests.testbed.ports import free_ports
from tests.testbed.replicas import NAMESPACE, Envoy, Replica
from tests.testbed.world import Document

HOSTS, BATCH = 150, 100
LEASES, LEASE = Name("coordination.k8s.io", "leases"), (NAMESPACE, "leader-elect")
ADDRESS = "projectcontour.io/xds-address"
HOUR = 3600

pair = doubled.stage(HOSTS, number=2)
alone = doubled.stage(HOSTS)


@fault("f16", pair, together=2, patience=90, complete=Limit("s", 15), wrong=Limit("", 0))
async def leader_killed(run: Run, site: Site) -> None:
    """Killed between two of many writes: the other replica does what is left."""
    number = await the_leader(site)
    async with site.load(100).running() as tally:
        await _in_the_middle(run, site, number)
        await site.replicas[number].end()
        start = time.monotonic()
        documents = _batch(site, run.number)
        left = [it for it in documents if not doubled.is_told(site.stored(it))]
        run.prove("left undone", len(left))
        await site.told(documents)
        run.figures["complete"] = time.monotonic() - start
        run.expect(await the_leader(site) != number, "the dead replica leads")
    run.count(tally)
    run.figures["wrong"] = _wrong(site, documents)
    await site.replicas[number].start()


@fault(
    "f17",
    pair,
    together=2,
    patience=90,
    frozen=Limit("s"),
    complete=Limit("s", 15),
    late=Limit("", 0),
)
async def leader_frozen(run: Run, site: Site) -> None:
    """Frozen between two of many writes, for longer than its Lease: awake again, it writes none."""
    number = await the_leader(site)
    old = site.replicas[number]
    async with site.load(100).running() as tally:
        await _in_the_middle(run, site, number)
        old.freeze()
        start = time.monotonic()
        documents = _batch(site, run.number)
        await until_frozen(old)
        run.prove("frozen", old.is_frozen)
        left = [it for it in documents if not doubled.is_told(site.stored(it))]
        run.prove("left undone", len(left))
        await other_leads(site, number)
        await asyncio.sleep(run.chance.uniform(0.0, 4.0))
        await site.write(site.of.child(0, header="for-the-old-one-to-write"))
        run.prove("still frozen", old.is_frozen)
        old.thaw()
        thawed = time.monotonic()
        run.figures["frozen"] = thawed - start
        await site.told(documents)
        run.figures["complete"] = time.monotonic() - start
        await asyncio.sleep(1)  # whatever it had in mind
        run.expect(await the_leader(site) != number, "the old one leads again")
        run.figures |= _late(site, number, thawed)
    run.count(tally)
    await site.watched()


def _late(site: Site, number: int, thawed: float) -> dict[str, float]:
    """What the old leader sent after it was awake again, and what of that was not refused.

    Whoever is refused for a conflict reads the object again; nothing else makes it read one.
    """
    sent = [it for it in site.asked(number, "patch") if it.time > thawed]
    read = [it for it in site.asked(number, "get", "httpproxies") if it.time > thawed]
    return {"sent_late": len(sent), "late": len(sent) - len(read)}


async def until_frozen(replica: Replica) -> None:
    """Waits until the operating system has stopped it."""
    async with asyncio.timeout(5):
        while not replica.is_frozen:
            await asyncio.sleep(0.001)


@fault(
    "f18",
    pair,
    together=4,
    patience=160,
    other_leads=Limit("s", 10),
    stale=Limit("s", 30),
    late=Limit("", 0),
    wrong_answers=Limit("", 0),
    ready_again=Limit("s", 10),
    caught_up=Limit("s", 15),
)
async def leader_cut_off(run: Run, site: Site) -> None:
    """Only the API server is out of its reach: it leads no more, and its Envoy leaves it."""
    number = await the_leader(site)
    proxy, old = site.proxies[number], site.replicas[number]
    is_silent = run.number % 10 == 1
    async with _hung_on(site, number, run.number):
        async with site.load(100).running() as tally:
            start = time.monotonic()
            run.prove("connections cut", proxy.close() if is_silent else proxy.refuse())
            await other_leads(site, number)
            run.figures["other_leads"] = time.monotonic() - start
            await site.edit(run.chance.randrange(HOSTS))
            run.figures["stale"] = time.monotonic() - start
            run.expect(not await old.is_ready(), "an outdated replica is ready")
            heard = (await site.replicas[1 - number].metrics())["contour_reporting_replicas"]
            run.expect(heard, "it does not report to the next leader")
        run.count(tally)
        run.figures["late"] = sum(
            it.subresource == "status" and it.time > start + 3 for it in site.asked(number, "patch")
        )
        run.figures["wrong_answers"] = _unlike_200(await site.statuses())
        proxy.reopen()
        start = time.monotonic()
        await old.ready()
        run.figures["ready_again"] = time.monotonic() - start
        await _follows(old, site, f"reopened-{run.number}")
        run.figures["caught_up"] = time.monotonic() - start


@dataclass(frozen=True, slots=True)
class _Front:
    """Where an Envoy finds the Service."""

    port: int


@contextlib.asynccontextmanager
async def _hung_on(site: Site, number: int, run: int) -> AsyncIterator[None]:
    """Instead of the Envoy of the stage one that goes where the Service sends it: here at first."""
    await site.envoys[0].end()
    targets = [Target(it.port, it.is_ready) for it in site.replicas]
    service, front = Service([targets[number]]), _Front(*free_ports(1))
    envoy = Envoy(site.folder, f"moving-{run}", front)
    async with service.at(front.port):
        try:
            await envoy.start()
            service.targets = targets
            yield
        finally:
            await envoy.end()
    await site.envoys[0].start()


async def _follows(replica: Replica, site: Site, shown: str) -> None:
    """Waits until it knows of a change that is made now."""
    before = await _updates(replica)
    await site.write(site.of.child(1, header=shown))
    while await _updates(replica) == before:
        await asyncio.sleep(0.1)
    await site.watched()


async def _updates(replica: Replica) -> float:
    """How many HTTPProxies have changed, as far as it knows."""
    found = await replica.metrics()
    return found.get('contour_eventhandler_operation_total{kind="HTTPProxy",op="update"}', 0.0)


@fault("f19-remote", alone, together=4, patience=90, leaderless=Limit("s", 8), early=Limit("", 0))
async def remote_clock(run: Run, site: Site) -> None:
    """Whoever leads has a clock an hour off: it is left alone for as long as it renews."""
    await _until_leader(site, 0)
    await site.replica.end()
    skew = timedelta(seconds=(-HOUR, HOUR, 0)[run.number % 3])
    early = 0
    _hold(site, skew, 0)
    await site.replica.start()
    for number in range(1, 9):  # for twice as long as a Lease lasts
        await asyncio.sleep(0.75)
        early += _holder(site) != "another"
        _hold(site, skew, number)
    run.prove("renewed by another", 8)
    start = time.monotonic()
    await _until_leader(site, 0)
    run.figures |= {"leaderless": time.monotonic() - start, "early": early}


def _hold(site: Site, skew: timedelta, number: int) -> None:
    now = (datetime.now(UTC) + skew).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {
        "holderIdentity": "another", "leaseDurationSeconds": 3, "leaseTransitions": number // 100,
        "acquireTime": now, "renewTime": now,
    }  # fmt: skip
    metadata = {"namespace": LEASE[0], "name": LEASE[1], "generation": 1}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
    site.double.put(lease | {"spec": spec})


def _holder(site: Site) -> str:
    found = site.double.store.get(LEASES, LEASE)
    return str(found["spec"].get("holderIdentity", "")) if found else ""


@contextlib.asynccontextmanager
async def _clocked() -> AsyncIterator[tuple[Site, mmap.mmap]]:
    """A stage whose replica has a clock that can be set."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise NotInjectedError("no C compiler to make a clock with")
    async with alone() as site:
        library, offset = site.folder / "clock.so", site.folder / "offset"
        source = Path(__file__).with_name("clock.c")
        subprocess.run(
            (compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"), check=True
        )
        offset.write_bytes(struct.pack("q", 0))
        await site.replica.end()
        environment = {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(offset)}
        await site.replica.start(environment)
        async with asyncio.timeout(30):  # the Lease still names the one before it
            while not (await site.replica.metrics())["contour_leader"]:
                await asyncio.sleep(0.1)
        with offset.open("r+b") as file, mmap.mmap(file.fileno(), 8) as mapped:
            yield site, mapped


@fault(
    "f19",
    _clocked,
    patience=90,
    edit=Limit("s", 1),
    leaders=Limit("", 1),
    wrong_answers=Limit("", 0),
    told=Limit("s", 10),
)
async def clock_jumps(run: Run, site: tuple[Site, mmap.mmap]) -> None:
    """The clock on the wall jumps by an hour, back by two, or runs ten times as fast."""
    on, offset = site
    await _until_leader(on, 0)
    before = _transitions(on)
    async with on.load(100).running() as tally:
        for seconds in ((HOUR,), (-HOUR,), range(0, 400, 10))[run.number % 3]:
            offset[:8] = struct.pack("q", seconds)
            await asyncio.sleep(0.1)
        run.prove("the process sees it", await _skew(on, offset))
        await asyncio.sleep(4)  # longer than a Lease lasts
        run.figures["edit"] = await on.edit(run.chance.randrange(HOSTS))
        edited = on.of.child(1, header=f"clock-{run.number}")
        start = time.monotonic()
        await on.write(edited)
        await on.told([edited])
        run.figures["told"] = time.monotonic() - start
    run.count(tally)
    run.figures["leaders"] = 1 + _transitions(on) - before
    await on.envoys[0].end()
    await on.envoys[0].start()  # a handshake, in which certificates are judged
    run.figures["wrong_answers"] = _unlike_200(await on.statuses())
    offset[:8] = struct.pack("q", 0)


async def _skew(site: Site, offset: mmap.mmap) -> bool:
    """Whether the replica's Lease is as far off as its clock."""
    (wanted,) = struct.unpack("q", offset[:8])
    async with asyncio.timeout(10):
        while True:
            found = site.double.store.get(LEASES, LEASE)
            assert found is not None
            renewed = datetime.fromisoformat(found["spec"]["renewTime"].replace("Z", "+00:00"))
            if abs((renewed - datetime.now(UTC)).total_seconds() - wanted) < 5:
                return True
            await site.double.news()


def _transitions(site: Site) -> int:
    found = site.double.store.get(LEASES, LEASE)
    assert found is not None
    return int(found["spec"]["leaseTransitions"])


async def the_leader(site: Site) -> int:
    """The number of the replica that leads, as the Lease tells."""
    addresses = {f"127.0.0.1:{it.port}": number for number, it in enumerate(site.replicas)}
    async with asyncio.timeout(20):
        while True:
            found = site.double.store.get(LEASES, LEASE)
            if found is not None and found["spec"].get("holderIdentity"):
                told = found["metadata"].get("annotations", {}).get(ADDRESS, "")
                if told in addresses:
                    return addresses[told]
            await site.double.news()


async def other_leads(site: Site, number: int) -> None:
    """Waits until the other one of two replicas leads."""
    await _until_leader(site, 1 - number)


async def _until_leader(site: Site, number: int) -> None:
    async with asyncio.timeout(30):
        while _holder(site) == "another" or await the_leader(site) != number:
            await site.double.news()


def _batch(site: Site, number: int) -> list[Document]:
    return [site.of.child(host, header=f"batch-{number}") for host in range(BATCH)]


async def _in_the_middle(run: Run, site: Site, number: int) -> None:
    """Changes many objects; returns when their leader has written some of the statuses."""
    await site.told(it for host in range(HOSTS) for it in site.of.host(host))
    before = len(site.asked(number, "patch", "httpproxies"))
    some = run.chance.randint(1, BATCH // 4)
    documents = _batch(site, run.number)
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        tasks.create_task(_write_quickly(site, documents))
        while len(site.asked(number, "patch", "httpproxies")) < before + some:
            await site.double.news()
    run.proofs["written before"] = some


async def _write_quickly(site: Site, documents: list[Document]) -> None:
    """At one moment, as far as a watch is concerned."""
    for document in documents:
        site.slip(document)


def _wrong(site: Site, documents: list[Document]) -> int:
    return sum(not doubled.is_told(site.stored(it)) for it in documents)


def _unlike_200(statuses: list[int]) -> int:
    return len(statuses) - statuses.count(200)

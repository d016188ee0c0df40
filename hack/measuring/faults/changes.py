"""F31, F32, F34 and F40 to F42: Services, routes and endpoints come, go and churn under load."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable

from hack.measuring import world
from hack.measuring.faults import served
from hack.measuring.faults.served import BACKENDS, Served
from hack.measuring.faults.table import Limit, Turn, fault
from hack.measuring.world import Document, World
from tests.testbed import probe
from tests.testbed.load import Answer, Connection, Request

ADDED, FLIPPED, BURST, BATCH = 150, 100, 1_000, 20
SPARE, UNRELATED = 1_000_000, 7_000_000  # numbers of Services and Secrets that no host names

hundred = served.stage(100)


@fault("f31", hundred, worst_add=Limit("s", 1))
async def added(turn: Turn, site: Served) -> None:
    """Hosts with Services of their own are added: each answers 404, then 200, nothing else."""
    connection, worst = Connection(site.port), 0.0
    start = site.of.hosts + ADDED * turn.number
    async with site.load(200).running() as tally:
        for number in range(start, start + ADDED):
            documents = _host_of_its_own(site.of, number)
            request = Request(world.fqdn(number))
            before = await connection.ask(request)
            turn.prove("404 before", before.status == 404)
            async with asyncio.TaskGroup() as tasks:
                seen = tasks.create_task(
                    probe.observed(connection, request, _is_200, frozenset({404}))
                )
                took = await site.change(documents)
            worst = max(worst, seen.result() - took.came)
            turn.sent += 1
    connection.close()
    turn.count(tally)
    turn.figures["worst_add"] = worst
    await site.change(gone=[it for n in range(start, start + ADDED) for it in _own(site, n)])


@fault("f32", hundred, worst_flip=Limit("s", 1), flips=Limit(""))
async def flipped(turn: Turn, site: Served) -> None:
    """Routes flip to another Service under load while the one they used is deleted."""
    connection, worst = Connection(site.port), 0.0
    removed = await site.envoy.total(r"cluster_manager\.cluster_removed$")
    async with site.load(500).running() as tally:
        for flip in range(FLIPPED):
            host = turn.chance.randrange(site.of.hosts)
            put, gone, name = _flip(site, host, SPARE * turn.number + flip)
            async with asyncio.TaskGroup() as tasks:
                seen = tasks.create_task(
                    probe.observed(connection, Request(world.fqdn(host)), _is_of(name))
                )
                took = await site.change(put, gone)
            worst = max(worst, seen.result() - took.came)
        async with asyncio.timeout(15):
            while await site.envoy.total(r"cluster_manager\.cluster_removed$") == removed:
                await asyncio.sleep(0.05)
    connection.close()
    turn.prove("clusters removed", await site.envoy.total(r"cluster_removed$") - removed)
    turn.count(tally)
    turn.figures |= {"worst_flip": worst, "flips": FLIPPED}


@fault("f34", hundred, ready=Limit("s", 2))
async def without_endpoints(turn: Turn, site: Served) -> None:
    """A Service has no endpoints when Envoy starts: it is ready at once, and serves the others."""
    service = turn.chance.randrange(site.of.services)
    empty = site.of.slice(service) | {"endpoints": []}
    await site.change([empty])
    await site.seen(Request(world.fqdn(service)), lambda it: it.status == 503)
    await site.envoy.kill()
    start = time.monotonic()
    await site.envoy.start()
    turn.figures["ready"] = time.monotonic() - start
    connection = Connection(site.port)
    statuses = {}
    for number in range(site.of.hosts):
        answer = await connection.ask(Request(world.fqdn(number)))
        statuses[number] = answer.status
    connection.close()
    turn.sent += len(statuses)
    starved = {it for it, status in statuses.items() if status == 503}
    turn.prove("hosts without endpoints", len(starved))
    turn.expect(starved == set(range(service, site.of.hosts, site.of.services)), f"{starved}")
    turn.expect(set(statuses.values()) == {200, 503}, f"{set(statuses.values())}")
    await site.change([site.of.slice(service)])
    await site.seen(Request(world.fqdn(service)), _is_200, {503})


@fault(
    "f40",
    hundred,
    created_within=Limit("s"),
    last_one_live=Limit("s", 2),
    memory=Limit("MiB", 600),
)
async def burst(turn: Turn, site: Served) -> None:
    """A thousand hosts are created within half a second (10,000 within five): all are served."""
    before, start = await site.envoy.tables(), time.monotonic()
    first = 10_000 + BURST * turn.number
    async with site.load(200).running() as tally:
        async for number in _paced(BURST // BATCH, 0.5 * BATCH / BURST):
            some = range(first + BATCH * number, first + BATCH * (number + 1))
            await site.change([it for host in some for it in site.of.host(host)])
        created = time.monotonic()
        last = Request(world.fqdn(first + BURST - 1))
        live = await site.seen(last, _is_200, {404})
        for number in turn.chance.sample(range(first, first + BURST), 50):
            await site.seen(Request(world.fqdn(number)), _is_200, set())
    after = await site.envoy.tables()
    turn.prove("tables changed", sum(before.get(it) != when for it, when in after.items()))
    turn.count(tally)
    turn.figures |= {
        "created_within": created - start,
        "last_one_live": live - created,
        "memory": site.control.resident,
    }
    gone = [it for host in range(first, first + BURST) for it in site.of.host(host)]
    await site.change(gone=gone)


@fault("f41", hundred, other_pushes=Limit("", 0), worst_lag=Limit("s", 0.3), rate=Limit("1/s"))
async def churn(turn: Turn, site: Served) -> None:
    """Endpoints change 500 times a second for two seconds: nothing but endpoints goes out."""
    changes, worst = 1_000, 0.0
    connection, start = Connection(site.port), time.monotonic()
    await site.edit(0)
    before, tables = await site.envoy.updates(), await site.envoy.tables()
    async with site.load(100).running() as tally:
        async for number in _paced(changes, 1 / 500):
            service = turn.chance.randrange(site.of.services)
            took = await site.change([_slice(site.of, service, number)])
            if number % 50 == 0:
                request, sign = Request(world.fqdn(service)), _is_of(f"b{number % BACKENDS}")
                worst = max(worst, await probe.observed(connection, request, sign) - took.came)
    rate = changes / (time.monotonic() - start)
    connection.close()
    pushed = _grown(before, await site.envoy.updates())
    pushed["rds"] = len((await site.envoy.tables()).items() - tables.items())
    turn.prove("EDS updates", pushed.pop("eds", 0))
    turn.count(tally)
    turn.proofs["pushed"] = pushed
    turn.figures |= {"other_pushes": sum(pushed.values()), "worst_lag": worst, "rate": rate}


@fault("f42", hundred, pushes=Limit("", 0), processor=Limit("%", 5), rate=Limit("1/s"))
async def unrelated(turn: Turn, site: Served) -> None:
    """Secrets that nobody names change 200 times a second: nothing goes out, and little is done."""
    secrets = [site.of.secret(UNRELATED + it % 10, renewal=1 + it // 10 % 3) for it in range(300)]
    await site.change(secrets[:10])
    await site.edit(0)
    before, tables = await site.envoy.updates(), await site.envoy.tables()
    floor, _ = await _used(site, [[] for _ in secrets])
    async with site.load(50).running() as tally:
        used, rate = await _used(site, [[it] for it in secrets])
    kept = site.documents["Secret", world.namespace(UNRELATED), secrets[0]["metadata"]["name"]]
    turn.prove("Secrets are others now", kept is not secrets[0])
    pushed = _grown(before, await site.envoy.updates())
    pushed["rds"] = len((await site.envoy.tables()).items() - tables.items())
    turn.count(tally)
    turn.figures |= {"pushes": sum(pushed.values()), "processor": used - floor, "rate": rate}


async def _used(site: Served, events: Iterable[list[Document]]) -> tuple[float, float]:
    """The processor time that events take, in percent of a core, and how many came in a second."""
    first = last = await site.change()
    start, number = time.monotonic(), 0
    for number, put in enumerate(events, 1):
        await asyncio.sleep(max(0.0, start + number / 200 - time.monotonic()))
        last = await site.change(put)
    seconds = time.monotonic() - start
    return 100 * (last.processor - first.processor) / seconds, number / seconds


async def _paced(number: int, interval: float) -> AsyncIterator[int]:
    """Counts, at this pace; what comes late is not made up for by waiting less than nothing."""
    start = time.monotonic()
    for it in range(number):
        await asyncio.sleep(max(0.0, start + it * interval - time.monotonic()))
        yield it


def _is_200(answer: Answer) -> bool:
    return answer.status == 200


def _is_of(backend: str) -> probe.Sign:
    return lambda it: it.status == 200 and json.loads(it.body)["backend"] == backend


def _own(site: Served, number: int) -> list[Document]:
    return _host_of_its_own(site.of, number)


def _host_of_its_own(of: World, number: int) -> list[Document]:
    """A host whose Service nobody else uses."""
    root = of.root(number)
    root["spec"].pop("includes")
    root["spec"]["routes"][0]["services"] = [{"name": f"service-{number}", "port": 80}]
    return [of.service(number), of.slice(number), root]


def _flip(site: Served, host: int, number: int) -> tuple[list[Document], list[Document], str]:
    """The host goes to a new Service on the backend it is not on; the Service it had is gone."""
    root = site.documents["HTTPProxy", world.namespace(host), f"root-{host}"]
    used = root["spec"]["routes"][0]["services"][0]["name"]
    old = site.documents["EndpointSlice", world.namespace(host), f"{used}-a"]
    ports = site.of.backends
    is_on = ports.index(old["ports"][0]["port"])
    backend = (is_on + 1) % BACKENDS
    service = number * world.NAMESPACES + host % world.NAMESPACES
    fresh = site.of.root(host)
    fresh["spec"]["routes"][0]["services"] = [{"name": f"service-{service}", "port": 80}]
    put = [site.of.service(service), site.of.slice(service, [ports[backend]]), fresh]
    is_own = int(used.removeprefix("service-")) >= SPARE
    return put, [_service(site, host, used), old] if is_own else [], f"b{backend}"


def _service(site: Served, host: int, name: str) -> Document:
    return site.documents["Service", world.namespace(host), name]


def _slice(of: World, service: int, number: int) -> Document:
    return of.slice(service, [of.backends[number % BACKENDS]])


def _grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    grown = {it: value - before.get(it, 0) for it, value in after.items()}
    return {it: value for it, value in grown.items() if value}

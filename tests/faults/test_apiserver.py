"""F01 to F08, F12 and F13: the API server restarts, forgets, talks nonsense, falls silent, refuses.

Envoy must not notice: no request is lost. What users changed meanwhile is served as soon as it can
be known, and what they removed is gone.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Sequence
from random import Random

from crds.kinds import KINDS
from tests.cluster.double import refusals
from tests.cluster.double.faults import Request as Asked
from tests.cluster.double.faults import Rule
from tests.cluster.double.store import Change
from tests.cluster.double.watches import line
from tests.faults.rows import Limit, Run, fault
from tests.testbed import commands, doubled, replicas, world
from tests.testbed.doubled import Site
from tests.testbed.load import Answer, Request

HOSTS = 50
LONG_OUTAGE = 20.0
VICTIM = 0  # the host that goes and comes, on which there is no load
PAUSE = 12.0
"""The longest pause of a client between two tries."""

hundred = doubled.stage(HOSTS)


@fault("f01", hundred, outage=Limit("s"), catch_up=Limit("s", PAUSE + 1), surplus=Limit("", 0))
async def restarted(run: Run, site: Site) -> None:
    """The API server is away for a while; what changed meanwhile is applied once."""
    await site.watched()
    outage = LONG_OUTAGE if run.number == 1 and not run.quick else run.chance.uniform(0.5, 4)
    before = await _operations(site)
    async with site.load(200, others()).running() as tally:
        await site.double.stop()
        run.prove("watches cut", not site.double.watches)
        await asyncio.sleep(outage)
        hosts = run.chance.sample(others(), 3)
        edits = [site.edited(it) for it in hosts]
        for document, _, _ in edits:
            site.slip(document)
        site.double.remove(site.stored(site.of.root(VICTIM)))
        await site.double.start()
        start = time.monotonic()
        seen = [await site.seen(request, sign) for _, request, sign in edits]
        seen.append(await gone(site, VICTIM))
    run.count(tally)
    surplus = await _operations(site) - before - len(edits) - 1
    run.figures |= {"outage": outage, "catch_up": max(seen) - start, "surplus": surplus}
    await back(site, VICTIM)


@fault("f02", hundred, catch_up=Limit("s", PAUSE + 1))
async def restored(run: Run, site: Site) -> None:
    """The API server comes back with an older history: what it has forgotten is served no more."""
    await site.watched()
    host = run.chance.choice(others())
    old, request, shows_old = site.edited(host)
    await site.write(old)
    await site.seen(request, shows_old)
    async with site.load(200, others()).running() as tally:
        backup = site.double.store.snapshot()
        await site.edit(host)
        await site.remove(site.of.root(VICTIM))
        await gone(site, VICTIM)
        await _write_elsewhere(site)
        run.prove("versions lost", site.double.store.version - backup.version)
        await site.double.stop()
        site.double.store = backup
        await site.double.start()
        start = time.monotonic()
        seen = [
            await site.seen(request, shows_old),
            await site.seen(Request(world.fqdn(VICTIM)), is_200, {200, 404}),
        ]
    run.count(tally)
    run.figures["catch_up"] = max(seen) - start


async def _write_elsewhere(site: Site) -> None:
    """Much that is none of ours; else the first of our own writes would make up for what is lost,
    and no version would tell that history is another one."""
    site.double.store.version += 1_000
    site.double.add_namespace("elsewhere")
    await site.edit(1)  # everything has been told


@fault("f03", hundred, catch_up=Limit("s", 2 * PAUSE + 1), ghosts=Limit("", 0))
async def expired(run: Run, site: Site) -> None:
    """The history that a watch needs is gone: a new list tells what vanished meanwhile."""
    await site.watched()
    async with site.load(200, others()).running() as tally:
        for watch in site.double.watches:
            watch.stall()
        edit, request, sign = site.edited(run.chance.choice(others()))
        await site.write(edit)
        await site.remove(site.of.root(VICTIM))
        site.double.store.compact()
        lists = site.double.count("list", "httpproxies")
        for watch in tuple(site.double.watches):
            if run.number % 2:
                await watch.error(refusals.expired("too old resource version").status)
            watch.abort()
        start = time.monotonic()
        seen = [await site.seen(request, sign), await gone(site, VICTIM)]
        run.prove("lists", site.double.count("list", "httpproxies") - lists)
    run.count(tally)
    run.figures |= {"catch_up": max(seen) - start, "ghosts": await _ghosts(site)}
    await back(site, VICTIM)


NONSENSE = (
    b"garbage\n",
    b'{"type":"ADDED","object":{"metadata"',
    b'{"type":"ADDED"}\n',
    b'{"type":"MODIFIED","object":[]}\n',
    b'["ADDED"]\n',
    line("ERROR", refusals.status(500, "etcdserver: leader changed")),
    line("ERROR", refusals.status(504, "timeout")),
)


@fault("f04", hundred, catch_up=Limit("s", PAUSE + 1), restarts=Limit("", 0))
async def nonsense(run: Run, site: Site) -> None:
    """Errors, garbage and half lines within every watch: the process stays, and connects again."""
    await site.watched()
    async with site.load(200).running() as tally:
        pid, watches = site.replica.pid, tuple(site.double.watches)
        said = NONSENSE[run.number % len(NONSENSE)]
        for watch in watches:
            await watch.send(said)
            watch.abort()
        run.prove("watches that talked nonsense", len(watches))
        run.figures["catch_up"] = await site.edit(run.chance.randrange(HOSTS))
    run.count(tally)
    run.figures["restarts"] = float(site.replica.status is not None or site.replica.pid != pid)


@fault("f05", hundred, together=10, patience=140, blind=Limit("s", 75))
async def silent(run: Run, site: Site) -> None:
    """Watches fall silent, and stay connected: that is noticed."""
    await site.watched()
    async with site.load(20).running() as tally:
        for watch in site.double.watches:
            watch.stall()
        run.figures["blind"] = await _blind(run, site)
    run.count(tally)


@fault("f06", hundred, together=10, patience=140, blind=Limit("s", 75), swallowed=Limit("bytes"))
async def half_open(run: Run, site: Site) -> None:
    """The network drops the packets of every connection that there is: that is noticed."""
    await site.watched()
    async with site.load(20).running() as tally:
        run.prove("connections", site.proxies[0].sever())
        run.figures["blind"] = await _blind(run, site)
    run.count(tally)
    run.figures["swallowed"] = site.proxies[0].swallowed


async def _blind(run: Run, site: Site) -> float:
    start = time.monotonic()
    edit, request, sign = site.edited(run.chance.randrange(HOSTS))
    await site.write(edit)
    while True:  # a probe gives up sooner than this may take
        found = await site.answer(request)
        if sign(found):
            return time.monotonic() - start
        await asyncio.sleep(0.05)


@fault("f07", hundred, catch_up=Limit("s", 2 * PAUSE + 1), ghosts=Limit("", 0))
async def tampered(run: Run, site: Site) -> None:
    """Events come twice, in another order, or not at all: the next list mends it."""
    await site.watched()
    tampering = (_twice, _backwards, _every_other)[run.number % 3]
    site.double.script.tampering["httpproxies"] = tampering
    async with site.load(100, others()).running() as tally:
        hosts = run.chance.sample(others(), 5)
        edits = [site.edited(it) for it in hosts]
        await site.write(*(it for it, _, _ in edits))
        await site.remove(site.of.root(VICTIM))
        await asyncio.sleep(0.2)  # whatever comes of it has come
        site.double.script.heal()
        site.double.store.compact()
        for watch in site.double.open_watches("httpproxies"):
            watch.abort()
        start = time.monotonic()
        seen = [await site.seen(request, sign) for _, request, sign in edits]
        seen.append(await gone(site, VICTIM))
    run.prove("tampered", tampering.__name__)
    run.count(tally)
    run.figures |= {"catch_up": max(seen) - start, "ghosts": await _ghosts(site)}
    await back(site, VICTIM)


def _twice(told: list[Change]) -> Iterable[Change]:
    return [*told, *told]


def _backwards(told: list[Change]) -> Iterable[Change]:
    return told[::-1]


def _every_other(told: list[Change]) -> Iterable[Change]:
    return told[::2] if len(told) > 1 else []


@fault("f08", hundred, together=2, requests=Limit("x", 2), recovery=Limit("s", PAUSE + 1))
async def storm(run: Run, site: Site) -> None:
    """Watches end all the time and a third of all requests is refused: no tight loop follows."""
    await site.watched()
    await site.told(it for host in range(HOSTS) for it in site.of.host(host))
    calm = await _requests(site, 3)
    code = run.chance.choice((429, 500, 503))
    rule = Rule(
        when=_some(run.chance), status=code, headers={"Retry-After": "1"} if code == 429 else {}
    )
    async with site.load(100).running() as tally:
        site.double.script.add(rule)
        stormy = await _requests(site, 3)
        site.double.script.heal()
        run.prove(f"refused with {code}", rule.met)
        run.figures["recovery"] = await site.edit(run.chance.randrange(HOSTS))
    run.count(tally)
    run.figures["requests"] = stormy / calm


def _some(chance: Random) -> Callable[[Asked], bool]:
    return lambda _: chance.random() < 0.3


async def _requests(site: Site, seconds: float) -> int:
    """How many requests come while watches end again and again."""
    before, end = len(site.double.requests), time.monotonic() + seconds
    while time.monotonic() < end:
        for watch in site.double.watches:
            watch.end()
        await asyncio.sleep(0.3)
    return len(site.double.requests) - before


@fault("f12", hundred, together=2, blind=Limit("s", 16))
async def token_expired(run: Run, site: Site) -> None:
    """The token is good no more; a new one appears in its file a while later, and is used."""
    await site.watched()
    token = f"token-{run.number}-{run.chance.randrange(10**6)}"
    async with site.load(100).running() as tally:
        site.double.tokens = {token}
        for watch in tuple(site.double.watches):
            watch.abort()
        await asyncio.sleep(run.chance.uniform(0.2, 2))
        run.prove("nobody watches", not site.double.watches)
        commands.write_kubeconfig(
            site.folder / "kubeconfig-0", site.proxies[0].url, token, replicas.NAMESPACE
        )
        start = time.monotonic()
        edit, request, sign = site.edited(run.chance.randrange(HOSTS))
        site.slip(edit)
        run.figures["blind"] = await site.seen(request, sign) - start
    run.count(tally)
    site.double.tokens = set()


@fault("f13", hundred, together=4, others=Limit("s", 1), told=Limit("s", 10), healed=Limit("s", 20))
async def forbidden(run: Run, site: Site) -> None:
    """The right to one kind is taken away: that kind stays as it was, and the others go on."""
    await site.watched()
    kind = run.chance.choice(
        [it for it in KINDS.values() if it.kind in {"Ingress", "Service", "Secret", "HTTPRoute"}]
    )
    async with site.load(100).running() as tally:
        rule = site.double.script.forbid(kind.plural)
        start = time.monotonic()
        for watch in site.double.open_watches(kind.plural):
            watch.abort()
        await site.double.asked("list", kind.plural, site.double.count("list", kind.plural) + 1)
        run.prove("refused", rule.met)
        run.figures["others"] = await site.edit(run.chance.randrange(HOSTS))
        async with asyncio.timeout(30):
            while "is forbidden" not in await _trouble(site, kind.kind):
                await asyncio.sleep(0.1)
        run.figures["told"] = time.monotonic() - start
        run.expect(await site.replica.is_ready(), "not ready any more")
        site.double.script.heal()
        start = time.monotonic()
        await site.double.watching(kind.plural)
        run.figures["healed"] = time.monotonic() - start
    run.count(tally)


async def _trouble(site: Site, kind: str) -> str:
    """What the replica complains of."""
    _, found = await site.replica.page("/debug/cluster")
    return next(str(it["trouble"]) for it in json.loads(found) if it["kind"] == kind)


def others() -> Sequence[int]:
    """All hosts but the victim."""
    return range(1, HOSTS)


def is_200(answer: Answer) -> bool:
    """Served."""
    return answer.status == 200


async def gone(site: Site, host: int) -> float:
    """Waits until a host is served no more."""
    return await site.seen(Request(world.fqdn(host)), lambda it: it.status == 404)


async def back(site: Site, host: int) -> None:
    """The host that was removed is there again."""
    await site.write(site.of.root(host))
    await site.seen(Request(world.fqdn(host)), is_200, {200, 404})


async def _operations(site: Site) -> float:
    """How many objects were new, changed or gone, as the replica says."""
    found = await site.replica.metrics()
    return sum(it for name, it in found.items() if name.startswith(OPERATIONS))


OPERATIONS = "contour_eventhandler_operation_total"


async def _ghosts(site: Site) -> float:
    """How many HTTPProxies the replica knows more than there are."""
    found = await site.replica.metrics()
    there = len(site.double.store.all(doubled.resource("HTTPProxy").name))
    return found['contour_dag_cache_object{kind="HTTPProxy"}'] - there

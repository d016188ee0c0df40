"""F26 to F30: Envoy refuses something. Who asked for it is told, and nobody else notices."""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.route.v3 import route_pb2

from contour.xds import resources
from tests.faults import scripted
from tests.faults.rows import Limit, Run, fault
from tests.testbed import served, world
from tests.testbed.local import Local
from tests.testbed.served import Site, edited_route

RATE, AFTER = 300, 0.5

sixty = served.stage(60, Local)


def _other_case(body: bytes) -> bytes:
    """The host once more, in capitals: to Envoy that is the same domain twice."""
    made = route_pb2.RouteConfiguration.FromString(body)
    for it in made.virtual_hosts:
        it.domains.append(it.domains[0].upper())
    return bytes(made.SerializeToString(deterministic=True))


def _bad_pattern(body: bytes) -> bytes:
    made = route_pb2.RouteConfiguration.FromString(body)
    for it in made.virtual_hosts:
        matcher = it.routes[0].match.headers.add(name="x-any")
        matcher.string_match.safe_regex.regex = "("
    return bytes(made.SerializeToString(deterministic=True))


def _bad_format(body: bytes) -> bytes:
    made = route_pb2.RouteConfiguration.FromString(body)
    for it in made.virtual_hosts:
        added = it.response_headers_to_add.add()
        added.header.key, added.header.value = "x-any", "100%"
    return bytes(made.SerializeToString(deterministic=True))


def _without_balancing(body: bytes) -> bytes:
    made = cluster_pb2.Cluster.FromString(body)
    made.lb_policy = cluster_pb2.Cluster.CLUSTER_PROVIDED
    return bytes(made.SerializeToString(deterministic=True))


PLANTS = (_other_case, _bad_pattern, _bad_format)


@fault(
    "f26",
    sixty,
    quarantined=Limit("s", 1),
    others_before=Limit("s"),
    others_meanwhile=Limit("s", 0.5),
    owner_not_told=Limit("", 0),
)
async def bad_cluster(run: Run, site: Site[Local]) -> None:
    """Envoy refuses one cluster: the others' changes take no longer, and the owner is told."""
    rejected, refused = site.envoy.refusals, _refusals(site, resources.CLUSTER)
    number = 1_000 + run.number * 10
    quiet = [await site.edit(it) for it in run.chance.sample(range(site.of.hosts), 5)]
    site.control.instance.services[f"service-{number}"] = _without_balancing
    root = site.of.root(number)
    root["spec"].pop("includes")
    root["spec"]["routes"][0]["services"] = [{"name": f"service-{number}", "port": 80}]
    documents = [site.of.service(number), site.of.slice(number), root]
    async with _loaded(run, site):
        await site.change(documents)
        busy = [await site.edit(it) for it in run.chance.sample(range(site.of.hosts), 5)]
        quarantined = await site.control.until(
            lambda: (
                _refusals(site, resources.CLUSTER) > refused and list(site.control.fleet.quarantine)
            )
        )
        busy += [await site.edit(it) for it in run.chance.sample(range(site.of.hosts), 5)]
    run.prove("refused by Envoy", site.envoy.refusals - rejected)
    run.prove("counted", _refusals(site, resources.CLUSTER) - refused)
    run.figures |= {
        "quarantined": quarantined + sum(busy[:5]),
        "others_before": max(quiet),
        "others_meanwhile": max(busy),
        "owner_not_told": float(not _told(site, number)),
    }
    site.control.instance.services.clear()
    await site.change(gone=documents)


@fault("f27", sixty, told=Limit("s", 1), newcomer_ready=Limit("s", 3))
async def bad_host(run: Run, site: Site[Local]) -> None:
    """Envoy refuses one host: it keeps what it had, the others change, and so after a restart."""
    rejected = site.envoy.refusals
    number = run.chance.randrange(site.of.hosts)
    plant = run.chance.choice(PLANTS)
    others = [it for it in range(site.of.hosts) if it != number]
    async with _loaded(run, site):
        site.control.instance.hosts[world.fqdn(number)] = plant
        document, _, sign = site.edited(number)
        await site.change([document])
        run.figures["told"] = await site.control.until(lambda: _told(site, number))
        for it in run.chance.sample(others, 20):
            await site.edit(it)
        run.expect(not sign(await site.answer(edited_route(number))), "the refused edit is served")
    run.proofs["plant"] = plant.__name__
    run.prove("refused by Envoy", site.envoy.refusals - rejected)
    await _restarted(run, site)
    site.control.instance.hosts.clear()
    await site.edit(number)
    await site.control.until(lambda: not _told(site, number))


@fault("f28", sixty, pushes_per_minute=Limit("1/min", 2), sent_to_refuser=Limit("", 40))
async def refused_for_ever(run: Run, site: Site[Local]) -> None:
    """What is refused is not sent again, whatever else happens; nor to who refuses everything."""
    number = run.chance.randrange(site.of.hosts)
    others = [it for it in range(site.of.hosts) if it != number]
    site.control.instance.hosts[world.fqdn(number)] = run.chance.choice(PLANTS)
    rejected = site.envoy.refusals
    document, *_ = site.edited(number)
    await site.change([document])
    await site.control.until(lambda: _told(site, number))
    first = site.envoy.refusals
    run.prove("refused by Envoy", first - rejected)
    async with _loaded(run, site):
        start = time.monotonic()
        for _ in range(20):
            await site.change([document])
            await site.edit(run.chance.choice(others))
        seconds = time.monotonic() - start
    again = site.envoy.refusals - first
    run.proofs["unchanged publications"] = 20
    run.figures["pushes_per_minute"] = 60 * again / seconds
    run.figures["sent_to_refuser"] = await _sent_to_refuser(run, site)
    run.expect(not site.envoy.refusals - first - again, "sent again")
    await site.edit(run.chance.choice(others))
    site.control.instance.hosts.clear()
    await site.edit(number)
    await site.control.until(lambda: not _told(site, number))


async def _sent_to_refuser(run: Run, site: Site[Local]) -> int:
    """How much one is sent that accepts nothing at all, until it is left alone."""
    async with scripted.client(f"unix:{site.control.socket}", "refuser") as client:
        shard = _table_of(site, run.chance.randrange(site.of.hosts))
        await client.say(resources.ROUTE, resource_names_subscribe=[shard])
        answer = await client.hear()
        await client.refuse(answer, "never")
        times = 1
        while (answer := await client.hear_within(0.3)) is not None:
            await client.refuse(answer, "never")
            times += 1
        run.expect(await client.hear_within(0.5) is None, "it is never left alone")
    return times


@fault("f29", sixty, in_sync=Limit("s", 1), bad_to_the_old_one=Limit("", 1))
async def refused_by_some(run: Run, site: Site[Local]) -> None:
    """An older Envoy refuses what the others accept: it keeps the old, they go on with the new."""
    number = run.chance.randrange(site.of.hosts)
    root = site.of.root(number)
    shard = _table_of(site, number)
    document, request, sign = site.edited(number)
    marker = document["spec"]["routes"][0]["responseHeadersPolicy"]["set"][0]["value"]
    async with scripted.client(f"unix:{site.control.socket}", "older") as old:
        await old.say(resources.ROUTE, resource_names_subscribe=[shard])
        await old.accept(await old.hear())
        async with _loaded(run, site):
            start = time.monotonic()
            await site.change([document])
            seen = await site.seen(request, sign)
            refused = 0
            while (answer := await old.hear_within(0.5)) is not None:
                if marker.encode() in answer.SerializeToString():
                    refused += 1
                    await old.refuse(answer, f"unknown field of {root['metadata']['name']}")
                else:
                    await old.accept(answer)
        run.prove("refused by the older", refused)
        run.figures |= {"in_sync": seen - start, "bad_to_the_old_one": refused}
        await site.edit((number + 1) % site.of.hosts)
        run.expect(
            sign(await site.answer(edited_route(number))), "the others have lost what they accepted"
        )
    await site.control.until(lambda: not _told(site, number))


@fault("f30", sixty, told=Limit("s", 2), newcomer_ready=Limit("s", 3))
async def all_bad(run: Run, site: Site[Local]) -> None:
    """A push spoils every host: all keep what they had, also on an Envoy that comes later."""
    rejected = site.envoy.refusals
    site.control.instance.hosts |= {
        world.fqdn(it): run.chance.choice(PLANTS) for it in range(site.of.hosts)
    }
    edits = [site.edited(it) for it in range(site.of.hosts)]
    async with _loaded(run, site):
        await site.change([document for document, *_ in edits])
        told = await site.control.until(
            lambda: all(_told(site, it) for it in range(site.of.hosts)), seconds=20
        )
    run.prove("refused by Envoy", site.envoy.refusals - rejected)
    run.figures["told"] = told
    await _restarted(run, site)
    for _, request, sign in edits:
        run.expect(not sign(await site.answer(request)), "a refused edit is served")
    site.control.instance.hosts.clear()
    again = [site.edited(it) for it in range(site.of.hosts)]
    await site.change([document for document, *_ in again])
    for _, request, sign in again:
        await site.seen(request, sign)
    await site.control.until(lambda: not any(_told(site, it) for it in range(site.of.hosts)))


async def _restarted(run: Run, site: Site[Local]) -> None:
    """A new Envoy has no memory: it must be given what was accepted, for every host."""
    await site.envoy.end()
    start = time.monotonic()
    await site.envoy.start()
    run.figures["newcomer_ready"] = time.monotonic() - start
    statuses = Counter(
        [(await site.answer(edited_route(it))).status for it in range(site.of.hosts)]
    )
    run.sent += statuses.total()
    del statuses[200]
    run.failures += Counter({f"{it} from the newcomer": n for it, n in statuses.items()})


@contextlib.asynccontextmanager
async def _loaded(run: Run, site: Site[Local]) -> AsyncIterator[None]:
    """Requests to the edited route of every host, in turn, until a while after."""
    async with site.load(RATE, path="/api/v1").running() as tally:
        yield
        await asyncio.sleep(AFTER)
    run.count(tally)


def _told(site: Site[Local], number: int) -> bool:
    names = (f"root-{number}", f"child-{number}")
    return any("Envoy refuses" in site.control.told("HTTPProxy", it) for it in names)


def _refusals(site: Site[Local], type_url: str) -> int:
    return site.control.fleet.counts["quarantined", type_url]


def _table_of(site: Site[Local], number: int) -> str:
    tables = site.control.fleet.store.types[resources.ROUTE]
    return next(it for it, found in tables.items() if world.fqdn(number) in found.parts)

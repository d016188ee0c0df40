"""F26 to F30: Envoy refuses something. Who asked for it is told, and nobody else notices."""

import time
from collections import Counter

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.route.v3 import route_pb2

from contour.xds import resources
from hack.measuring import world
from hack.measuring.faults import planted, scripted
from hack.measuring.faults.planted import Planted
from hack.measuring.faults.table import Limit, Turn, fault

sixty = planted.stage(60)


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
async def bad_cluster(turn: Turn, site: Planted) -> None:
    """Envoy refuses one cluster: the others' changes take no longer, and the owner is told."""
    rejected, refused = site.envoy.refusals, _refusals(site, resources.CLUSTER)
    number = 1_000 + turn.number * 10
    quiet = [await _edit(site, it) for it in turn.chance.sample(range(site.of.hosts), 5)]
    site.services[f"service-{number}"] = _without_balancing
    root = site.of.root(number)
    root["spec"].pop("includes")
    root["spec"]["routes"][0]["services"] = [{"name": f"service-{number}", "port": 80}]
    documents = [site.of.service(number), site.of.slice(number), root]
    async with site.loaded(turn):
        site.change(*documents)
        busy = [await _edit(site, it) for it in turn.chance.sample(range(site.of.hosts), 5)]
        quarantined = await site.until(
            lambda: _refusals(site, resources.CLUSTER) > refused and list(site.fleet.quarantine)
        )
        busy += [await _edit(site, it) for it in turn.chance.sample(range(site.of.hosts), 5)]
    turn.prove("refused by Envoy", site.envoy.refusals - rejected)
    turn.prove("counted", _refusals(site, resources.CLUSTER) - refused)
    turn.figures |= {
        "quarantined": quarantined + sum(busy[:5]),
        "others_before": max(quiet),
        "others_meanwhile": max(busy),
        "owner_not_told": float(not _told(site, number)),
    }
    site.services.clear()
    site.remove(*documents)


@fault("f27", sixty, told=Limit("s", 1), newcomer_ready=Limit("s", 3))
async def bad_host(turn: Turn, site: Planted) -> None:
    """Envoy refuses one host: it keeps what it had, the others change, and so after a restart."""
    rejected = site.envoy.refusals
    number = turn.chance.randrange(site.of.hosts)
    plant = turn.chance.choice(PLANTS)
    others = [it for it in range(site.of.hosts) if it != number]
    async with site.loaded(turn):
        site.hosts[world.fqdn(number)] = plant
        document, sign = site.edited(number)
        site.change(document)
        turn.figures["told"] = await site.until(lambda: _told(site, number))
        for it in turn.chance.sample(others, 20):
            await _edit(site, it)
        turn.expect(not sign(await site.ask(number)), "the refused edit is served")
    turn.proofs["plant"] = plant.__name__
    turn.prove("refused by Envoy", site.envoy.refusals - rejected)
    await _restarted(turn, site)
    site.hosts.clear()
    await _edit(site, number)
    await site.until(lambda: not _told(site, number))


@fault("f28", sixty, pushes_per_minute=Limit("1/min", 2), sent_to_refuser=Limit("", 40))
async def refused_for_ever(turn: Turn, site: Planted) -> None:
    """What is refused is not sent again, whatever else happens; nor to who refuses everything."""
    number = turn.chance.randrange(site.of.hosts)
    others = [it for it in range(site.of.hosts) if it != number]
    site.hosts[world.fqdn(number)] = turn.chance.choice(PLANTS)
    rejected = site.envoy.refusals
    document, _ = site.edited(number)
    site.change(document)
    await site.until(lambda: _told(site, number))
    first = site.envoy.refusals
    turn.prove("refused by Envoy", first - rejected)
    async with site.loaded(turn):
        start = time.monotonic()
        for _ in range(20):
            site.change(document)
            await _edit(site, turn.chance.choice(others))
        seconds = time.monotonic() - start
    again = site.envoy.refusals - first
    turn.proofs["unchanged publications"] = 20
    turn.figures["pushes_per_minute"] = 60 * again / seconds
    turn.figures["sent_to_refuser"] = await _sent_to_refuser(turn, site)
    turn.expect(not site.envoy.refusals - first - again, "sent again")
    await _edit(site, turn.chance.choice(others))
    site.hosts.clear()
    await _edit(site, number)
    await site.until(lambda: not _told(site, number))


async def _sent_to_refuser(turn: Turn, site: Planted) -> int:
    """How much one is sent that accepts nothing at all, until it is left alone."""
    async with scripted.client(f"unix:{site.folder}/xds", "refuser") as client:
        shard = _table_of(site, turn.chance.randrange(site.of.hosts))
        await client.say(resources.ROUTE, resource_names_subscribe=[shard])
        answer = await client.hear()
        await client.refuse(answer, "never")
        times = 1
        while (answer := await client.hear_within(0.3)) is not None:
            await client.refuse(answer, "never")
            times += 1
        turn.expect(await client.hear_within(0.5) is None, "it is never left alone")
    return times


@fault("f29", sixty, in_sync=Limit("s", 1), bad_to_the_old_one=Limit("", 1))
async def refused_by_some(turn: Turn, site: Planted) -> None:
    """An older Envoy refuses what the others accept: it keeps the old, they go on with the new."""
    number = turn.chance.randrange(site.of.hosts)
    root = site.of.root(number)
    shard = _table_of(site, number)
    document, sign = site.edited(number)
    marker = document["spec"]["routes"][0]["responseHeadersPolicy"]["set"][0]["value"]
    async with scripted.client(f"unix:{site.folder}/xds", "older") as old:
        await old.say(resources.ROUTE, resource_names_subscribe=[shard])
        await old.accept(await old.hear())
        async with site.loaded(turn):
            start = time.monotonic()
            site.change(document)
            seen = await site.seen(number, sign)
            refused = 0
            while (answer := await old.hear_within(0.5)) is not None:
                if marker.encode() in answer.SerializeToString():
                    refused += 1
                    await old.refuse(answer, f"unknown field of {root['metadata']['name']}")
                else:
                    await old.accept(answer)
        turn.prove("refused by the older", refused)
        turn.figures |= {"in_sync": seen - start, "bad_to_the_old_one": refused}
        await _edit(site, (number + 1) % site.of.hosts)
        turn.expect(sign(await site.ask(number)), "the others have lost what they accepted")
    await site.until(lambda: not _told(site, number))


@fault("f30", sixty, told=Limit("s", 2), newcomer_ready=Limit("s", 3))
async def all_bad(turn: Turn, site: Planted) -> None:
    """A push spoils every host: all keep what they had, also on an Envoy that comes later."""
    rejected = site.envoy.refusals
    site.hosts |= {world.fqdn(it): turn.chance.choice(PLANTS) for it in range(site.of.hosts)}
    edits = [site.edited(it) for it in range(site.of.hosts)]
    async with site.loaded(turn):
        site.change(*(document for document, _ in edits))
        told = await site.until(
            lambda: all(_told(site, it) for it in range(site.of.hosts)), seconds=20
        )
    turn.prove("refused by Envoy", site.envoy.refusals - rejected)
    turn.figures["told"] = told
    await _restarted(turn, site)
    for number, (_, sign) in enumerate(edits):
        turn.expect(not sign(await site.ask(number)), "a refused edit is served")
    site.hosts.clear()
    again = [site.edited(it) for it in range(site.of.hosts)]
    site.change(*(document for document, _ in again))
    for number, (_, sign) in enumerate(again):
        await site.seen(number, sign)
    await site.until(lambda: not any(_told(site, it) for it in range(site.of.hosts)))


async def _restarted(turn: Turn, site: Planted) -> None:
    """A new Envoy has no memory: it must be given what was accepted, for every host."""
    await site.envoy.kill()
    start = time.monotonic()
    await site.envoy.start()
    turn.figures["newcomer_ready"] = time.monotonic() - start
    statuses = Counter([(await site.ask(it)).status for it in range(site.of.hosts)])
    turn.sent += statuses.total()
    del statuses[200]
    turn.failures += Counter({f"{it} from the newcomer": n for it, n in statuses.items()})


async def _edit(site: Planted, number: int) -> float:
    """Edits a host and waits until Envoy serves it."""
    document, sign = site.edited(number)
    start = time.monotonic()
    site.change(document)
    return await site.seen(number, sign) - start


def _told(site: Planted, number: int) -> bool:
    names = (f"root-{number}", f"child-{number}")
    return any("Envoy refuses" in site.told("HTTPProxy", it) for it in names)


def _refusals(site: Planted, type_url: str) -> int:
    return site.fleet.counts["quarantined", type_url]


def _table_of(site: Planted, number: int) -> str:
    tables = site.fleet.store.types[resources.ROUTE]
    return next(it for it, found in tables.items() if world.fqdn(number) in found.parts)

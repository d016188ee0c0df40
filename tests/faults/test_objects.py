"""F51 to F56: objects that are huge, vanish in crowds, come back, or cannot be read; CRDs too.

Whatever users or CRDs do to one object or kind, the others are served as before.
"""

import asyncio
import time
from typing import Any

import orjson

from tests.cluster.double import resources
from tests.faults.rows import Limit, Run, fault
from tests.testbed import doubled, world
from tests.testbed.doubled import Site
from tests.testbed.load import Request
from tests.testbed.world import Document, World

HOSTS, ROUTES, DOOMED = 50, 5_000, 125
FIRST = 1_000  # the number of the first host in the namespace that goes
GATEWAY_KINDS = ("GatewayClass", "Gateway", "HTTPRoute")

DOOMED_NAMESPACE: Document = {
    "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "doomed"},
}  # fmt: skip

fifty = doubled.stage(HOSTS, more=(*world.gateway(), DOOMED_NAMESPACE))
without_gateways = doubled.stage(HOSTS, absent=GATEWAY_KINDS)


@fault(
    "f51",
    fifty,
    patience=90,
    size=Limit("KiB"),
    served=Limit("s", 10),
    others=Limit("s", 5),
    memory=Limit("MiB", 600),
)
async def huge(run: Run, site: Site) -> None:
    """An HTTPProxy with 5,000 routes, or an annotation of 1 MB: served, and others go on."""
    document, request = _huge(site.of, run.number)
    async with site.load(100).running() as tally:
        start = time.monotonic()
        site.slip(document)  # the double would read it for seconds
        others = await site.edit(run.chance.randrange(1, HOSTS))
        seen = await site.seen(request, lambda it: it.status == 200, {404, 200})
        await site.remove(document)
        await site.seen(request, lambda it: it.status == 404)
    run.count(tally)
    size = len(orjson.dumps(document)) / 1024
    run.prove("KiB", size)
    memory = site.replica.resident
    run.figures |= {"size": size, "served": seen - start, "others": others, "memory": memory}


def _huge(of: World, number: int) -> tuple[Document, Request]:
    document = of.root(FIRST + number)
    document["spec"].pop("includes")
    if number % 2:
        document["metadata"]["annotations"] = {"example.com/notes": "x" * (1 << 20)}
        return document, Request(world.fqdn(FIRST + number))
    route = document["spec"]["routes"][0]
    document["spec"]["routes"] = [
        route | {"conditions": [{"prefix": f"/{number}/{it:04}/{'long' * 30}"}]}
        for it in range(ROUTES)
    ]
    path = document["spec"]["routes"][-1]["conditions"][0]["prefix"]
    return document, Request(world.fqdn(FIRST + number), path)


@fault("f52", fifty, patience=120, gone=Limit("s", 10), ghosts=Limit("", 0), granted=Limit("", 0))
async def namespace_deleted(run: Run, site: Site) -> None:
    """A namespace goes with 500 objects, in any order: nothing is left, nor granted."""
    documents = [_moved(it) for it in _crowd(site.of)]
    route, request = _borrowing()
    await site.write(*documents, _grant(), route)
    # Each kind has a watch of its own: the route may be known before the endpoints are.
    await site.seen(request, lambda it: it.status == 200, {404, 500, 503, 200})
    hosts = [it["spec"]["virtualhost"]["fqdn"] for it in documents if "virtualhost" in _spec(it)]
    await site.seen(Request(hosts[-1]), lambda it: it.status == 200, {404, 503, 200})
    before = await _known(site)
    run.chance.shuffle(documents)
    async with site.load(100).running() as tally:
        await site.remove(*documents, _grant())
        start = time.monotonic()
        for host in hosts:
            await site.seen(Request(host), lambda it: it.status == 404, {200, 404, 503, 502})
        await site.seen(request, lambda it: it.status == 500, {200, 500, 503})
        run.figures["gone"] = time.monotonic() - start
    run.count(tally)
    after = await _known(site)
    run.prove("removed", before - after)
    run.figures["ghosts"] = after - (before - len(documents) - 1)
    run.figures["granted"] = float((await site.answer(request)).status != 500)
    await site.remove(route)


@fault("f53", fifty, honoured=Limit("", 0), granted_anew=Limit("s", 5))
async def namespace_recreated(run: Run, site: Site) -> None:
    """A namespace comes back under its name, without what it granted: that is not honoured."""
    shared = [_moved(it) for it in (site.of.service(0), site.of.slice(0))]
    route, request = _borrowing()
    await site.write(*shared, _grant(), route)
    await site.seen(request, lambda it: it.status == 200, {404, 500, 200})
    async with site.load(100).running() as tally:
        granted = site.double.remove(site.stored(_grant()))
        for document in shared:
            site.double.remove(site.stored(document))
        await site.write(*shared)
        uid = granted["metadata"]["uid"]
        honoured = 0
        await site.seen(request, lambda it: it.status == 500, {200, 500, 503})
        for _ in range(50):
            honoured += (await site.answer(request)).status != 500
            await asyncio.sleep(0.01)
        start = time.monotonic()
        await site.write(_grant())
        run.prove("another grant", site.stored(_grant())["metadata"]["uid"] != uid)
        seen = await site.seen(request, lambda it: it.status == 200, {500, 200})
    run.count(tally)
    run.figures |= {"honoured": honoured, "granted_anew": seen - start}
    await site.remove(route, _grant(), *shared)
    # Else the next run would take the answer of this one for its own.
    await site.seen(request, lambda it: it.status == 404, {404, 500, 503, 200})


@fault("f54", without_gateways, served=Limit("s", 13), gone=Limit("s", 10), edit=Limit("s", 1))
async def crds_come_and_go(run: Run, site: Site) -> None:
    """CRDs come while the replica runs, and go: no restart, and nobody else notices."""
    pid, kinds = site.replica.pid, list(GATEWAY_KINDS)
    run.chance.shuffle(kinds)
    route = world.http_route(run.number, 0)
    request = Request(route["spec"]["hostnames"][0])
    async with site.load(100).running() as tally:
        before = await site.answer(request)
        run.prove("404 before", before.status == 404)
        start = time.monotonic()
        site.double.define(doubled.resource(it) for it in kinds)
        await site.write(*world.gateway(), route)
        served = await site.seen(request, lambda it: it.status == 200, {404, 200}) - start
        start = time.monotonic()
        for kind in kinds:
            site.double.remove(resources.definition(doubled.resource(kind)))
        gone = await site.seen(request, lambda it: it.status == 404, {404, 200, 503}) - start
        edit = await site.edit(run.chance.randrange(HOSTS))
    run.count(tally)
    run.expect(site.replica.pid == pid and site.replica.status is None, "not the same process")
    run.figures |= {"served": served, "gone": gone, "edit": edit}


@fault("f55", fifty, served=Limit("s", 25), strangers=Limit("s", 2), crashes=Limit("", 0))
async def crds_change(run: Run, site: Site) -> None:
    """A CRD changes its versions; objects have fields and values that nobody here has heard of."""
    route = world.http_route(run.number, 0)
    request = Request(route["spec"]["hostnames"][0])
    resource = doubled.resource("HTTPRoute")
    versions = ("v1beta1",) if run.number % 2 else ("v1", "v2")
    run.prove("versions before", site.double.served and resource.versions)
    async with site.load(100, range(1, HOSTS)).running() as tally:
        site.double.put(resources.definition(resource._replace(versions=versions)))
        for watch in site.double.open_watches("httproutes"):
            watch.end()
        start = time.monotonic()
        version = f"{resource.group}/{versions[0]}"
        await site.write(route | {"apiVersion": version})
        served = await site.seen(request, lambda it: it.status == 200, {404, 200}) - start
        start = time.monotonic()
        strange, asked, sign = site.edited(run.chance.randrange(1, HOSTS))
        strange["spec"]["novelty"] = {"depth": [1, None, {"x": "y"}]}
        strange["spec"]["routes"][1]["loadBalancerPolicy"] = {"strategy": "Quantum"}
        await site.write(strange)
        await site.seen(asked, sign)
        strangers = time.monotonic() - start
        site.double.put(resources.definition(resource))
        for watch in site.double.open_watches("httproutes"):
            watch.end()
        await site.remove(route)
        await site.seen(request, lambda it: it.status == 404)
    run.count(tally)
    crashes = float(site.replica.status is not None)
    run.figures |= {"served": served, "strangers": strangers, "crashes": crashes}


MALFORMED = (b"\xff\xfe", b"\\ud800", b"\xc3\x28", b"\\u0000", b"\xed\xa0\x80")


@fault("f56", fifty, others=Limit("s", 1), crashes=Limit("", 0), healed=Limit("s", 1))
async def malformed(run: Run, site: Site) -> None:
    """Strings that are no text: the object is passed over, and the stream goes on."""
    await site.watched()
    host = run.chance.randrange(HOSTS)
    bytes_ = MALFORMED[run.number % len(MALFORMED)]
    async with site.load(100).running() as tally:
        watches = site.double.open_watches("httpproxies")
        for watch in watches:
            await watch.send(_event(site, site.of.root(host), bytes_))
        run.prove("watches that told it", len(watches))
        other = (host + 1) % HOSTS
        run.figures["others"] = await site.edit(other)
        run.figures["healed"] = await site.edit(host)
        run.expect(site.double.open_watches("httpproxies") == watches, "the watch has ended")
    run.count(tally)
    run.figures["crashes"] = float(site.replica.status is not None)


def _event(site: Site, document: Document, malformed: bytes) -> bytes:
    """An event of a version that is new, with these bytes in a name and in a value."""
    site.double.store.version += 1
    stored = site.stored(document)
    version = {"resourceVersion": str(site.double.store.version)}
    value = {"name": "x-MALFORMED", "value": "MALFORMED"}
    changed: dict[str, Any] = orjson.loads(orjson.dumps(stored))
    changed["metadata"] |= version | {"labels": {"MALFORMED": "MALFORMED"}}
    changed["spec"]["routes"][0]["responseHeadersPolicy"] = {"set": [value]}
    line = orjson.dumps({"type": "MODIFIED", "object": changed}) + b"\n"
    return line.replace(b"MALFORMED", malformed)


def _crowd(of: World) -> list[Document]:
    """500 objects that belong together."""
    shared = (of.service(0), of.slice(0))
    hosts = (
        document
        for number in range(FIRST, FIRST + DOOMED)
        for document in (of.service(number), of.slice(number), *_own(of, number))
    )
    return [*shared, *hosts]


def _own(of: World, number: int) -> tuple[Document, ...]:
    """A host on a Service of its own."""
    found = of.host(number)
    for proxy in found:
        for route in proxy["spec"]["routes"]:
            route["services"] = [{"name": f"service-{number}", "port": 80}]
    return found


def _moved(document: Document) -> Document:
    """The same, in the namespace that goes."""
    return document | {"metadata": document["metadata"] | {"namespace": "doomed"}}


def _grant() -> Document:
    """Routes of others may use its Services."""
    origin = {
        "group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": world.namespace(0),
    }  # fmt: skip
    return {
        "apiVersion": "gateway.networking.k8s.io/v1beta1",
        "kind": "ReferenceGrant",
        "metadata": {"name": "grant", "namespace": "doomed"},
        "spec": {"from": [origin], "to": [{"group": "", "kind": "Service"}]},
    }


def _borrowing() -> tuple[Document, Request]:
    """A route to a Service of the namespace that goes."""
    route = world.http_route(FIRST, 0, "borrowing.example.com")
    reference = {"name": "service-0", "namespace": "doomed", "port": 80}
    route["spec"]["rules"][0]["backendRefs"] = [reference]
    return route, Request("borrowing.example.com")


def _spec(document: Document) -> Document:
    found: Document = document.get("spec", {})
    return found


async def _known(site: Site) -> float:
    found = await site.replica.metrics()
    return sum(it for name, it in found.items() if name.startswith("contour_dag_cache_object{"))

"""F11, F14 and F15: statuses that others write as well, and an API server that lags behind itself.

Nobody's words may be lost, neither ours nor those of others; and one change is one write.
"""

import asyncio
import contextlib
import time
from random import Random

import orjson

from tests.cluster.double.faults import Request as Asked
from tests.cluster.double.faults import Rule
from tests.faults.rows import Limit, Run, fault
from tests.testbed import caller, doubled, world
from tests.testbed.doubled import Site
from tests.testbed.world import Document

HOSTS = 20
FOREIGN = "example.com/another"
ROUTE = world.http_route(0, 0)

twenty = doubled.stage(HOSTS, more=(*world.gateway(), ROUTE))


@fault("f11", twenty, untold=Limit("", 0), told=Limit("s", 20))
async def read_lags(run: Run, site: Site) -> None:
    """A status is refused for a conflict, and a read of the object says that there is none."""
    await _settled(site)
    hosts = run.chance.sample(range(HOSTS), 5)
    documents = [site.of.child(host, header=f"lag-{run.number}") for host in hosts]
    times = run.chance.randint(1, len(hosts))
    conflicts = site.double.script.add(Rule("patch", "httpproxies", _is_status, 409, times=times))
    missing = site.double.script.add(Rule("get", "httpproxies", status=404, times=times))
    start = time.monotonic()
    await site.write(*documents)
    with contextlib.suppress(TimeoutError):
        await site.told(documents, 25)
    run.figures["told"] = time.monotonic() - start
    run.prove("conflicts", conflicts.met)
    run.prove("reads that found nothing", missing.met)
    run.figures["untold"] = sum(not doubled.is_told(site.stored(it)) for it in documents)
    site.double.script.heal()


@fault("f14", twenty, foreign_writes=Limit(""), conflicts=Limit(""), lost=Limit("", 0))
async def contended(run: Run, site: Site) -> None:
    """Somebody else writes to the same statuses all the time: nobody's condition is lost."""
    await _settled(site)
    hosts = run.chance.sample(range(HOSTS), 5)
    documents = [site.of.child(host) for host in hosts]
    before = await _conflicts(site)
    foreign = _Foreign(run.chance, site, {it["metadata"]["name"] for it in documents})
    site.double.script.add(Rule("patch", "httpproxies", foreign.is_first))
    for number in range(4):
        edits = [site.of.child(host, header=f"{run.number}-{number}") for host in hosts]
        await site.write(*edits)
        await asyncio.sleep(0.2)
    site.double.script.heal()
    await site.told(documents)
    run.prove("conflicts", conflicts := await _conflicts(site) - before)
    lost = sum(
        caller.status_condition(site.stored(it), FOREIGN).get("message") != said
        for it in documents
        if (said := foreign.said.get(it["metadata"]["name"]))
    )
    run.figures |= {
        "foreign_writes": foreign.count, "conflicts": conflicts, "lost": lost,
    }  # fmt: skip


class _Foreign:
    """Somebody who writes a condition of his own just before we write to the same status."""

    def __init__(self, chance: Random, site: Site, names: set[str]) -> None:
        self.said: dict[str, str] = {}
        self.count = 0
        self._chance, self._site, self._names = chance, site, names

    def is_first(self, request: Asked) -> bool:
        """Writes, often; the request that came behind it is answered as it deserves."""
        is_one = request.subresource == "status" and request.name in self._names
        if is_one and self._chance.random() < 0.6:
            self.count += 1
            self._write(request.namespace, request.name)
        return False

    def _write(self, namespace: str, name: str) -> None:
        document = {"kind": "HTTPProxy", "metadata": {"namespace": namespace, "name": name}}
        stored = self._site.stored(document)
        status = stored.get("status", {})
        self.said[name] = f"{self.count}"
        mine = {
            "type": FOREIGN, "status": "True", "reason": "Here", "message": self.said[name],
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }  # fmt: skip
        conditions = [*(it for it in status.get("conditions", ()) if it["type"] != FOREIGN), mine]
        self._site.double.put(stored | {"status": status | {"conditions": conditions}})


async def _conflicts(site: Site) -> float:
    found = await site.replica.metrics()
    named = "contour_status_update_conflict_total"
    return sum(it for name, it in found.items() if name.startswith(named))


async def _patch_status(site: Site, stored: Document, status: Document) -> None:
    version = stored["metadata"]["resourceVersion"]
    body = orjson.dumps({"metadata": {"resourceVersion": version}, "status": status})
    await site.api.ask(caller.Call("PATCH", f"{caller.path(stored)}/status", body, caller.MERGE))


@fault("f15", twenty, foreign_writes=Limit(""), writes=Limit("", 1), lost=Limit("", 0))
async def foreign_parents(run: Run, site: Site) -> None:
    """Another controller writes its entries of `parents` all the time: ours leaves them alone."""
    await _settled(site)
    await _until_ours(site)
    foreign = [_parent(number) for number in range(run.chance.randint(1, 3))]
    patches = len(site.asked(0, "patch", "httproutes"))
    for number in range(20):
        ours = [it for it in _parents(site) if it["controllerName"] != FOREIGN]
        for parent in foreign:
            parent["conditions"][0]["message"] = f"{run.number}-{number}"
        with contextlib.suppress(caller.Refused):
            await _patch_status(site, site.stored(ROUTE), {"parents": [*ours, *foreign]})
        await asyncio.sleep(0.01)
    await asyncio.sleep(1)  # the longest rest of an object is over: whatever comes of it, came
    run.expect(len(site.asked(0, "patch", "httproutes")) == patches, "writes without a change")
    before, generation = orjson.dumps(_foreign(site)), _generation(site)
    backend = {"name": f"service-{1 + run.number % 9}", "port": 80}
    route = world.http_route(0, 0)
    route["spec"]["rules"][0]["backendRefs"] = [backend]
    await site.write(route)
    run.prove("changed", _generation(site) - generation)
    await _until_ours(site)
    await asyncio.sleep(0.5)
    kinds = [it["controllerName"] for it in _parents(site)]
    run.expect(kinds.count(FOREIGN) == len(foreign), f"foreign entries: {kinds}")
    run.expect(len(kinds) == len(foreign) + 1, f"entries: {kinds}")
    run.figures |= {
        "foreign_writes": 20,
        "writes": len(site.asked(0, "patch", "httproutes")) - patches,
        "lost": float(orjson.dumps(_foreign(site)) != before),
    }


def _parent(number: int) -> Document:
    condition = {
        "type": "Accepted", "status": "True", "reason": "Accepted", "message": "",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    reference = {"name": f"another-{number}", "namespace": world.namespace(0)}
    return {"parentRef": reference, "controllerName": FOREIGN, "conditions": [condition]}


def _parents(site: Site) -> list[Document]:
    found: list[Document] = site.stored(ROUTE).get("status", {}).get("parents", [])
    return found


def _foreign(site: Site) -> list[Document]:
    return [it for it in _parents(site) if it["controllerName"] == FOREIGN]


def _generation(site: Site) -> int:
    return int(site.stored(ROUTE)["metadata"]["generation"])


async def _until_ours(site: Site) -> None:
    """Waits until our entry tells of the newest version of the route."""

    def is_told() -> bool:
        conditions = (
            condition
            for parent in _parents(site)
            if parent["controllerName"] != FOREIGN
            for condition in parent["conditions"]
        )
        told = [it["observedGeneration"] for it in conditions]
        return bool(told) and min(told) == _generation(site)

    async with asyncio.timeout(30):
        while not is_told():
            await site.double.news()


async def _settled(site: Site) -> None:
    """Everything has been told."""
    await site.told(it for host in range(HOSTS) for it in site.of.host(host))


def _is_status(request: Asked) -> bool:
    return request.subresource == "status"

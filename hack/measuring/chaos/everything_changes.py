"""One ContourConfiguration change that touches every cluster, at 10,000 hosts, under load."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from tests.testbed import longlived, served, world
from tests.testbed.envoys import Envoy, backends
from tests.testbed.fed import Fed
from tests.testbed.figures import Figure
from tests.testbed.load import Load, Request
from tests.testbed.longlived import Target
from tests.testbed.measuring import Options, measures
from tests.testbed.served import Site
from tests.testbed.world import Document, World

NAME = "configuration-change"
RATE, PATIENCE = 200, 120
ASKED = {"resource": "dynamic_active_clusters", "mask": "cluster.connect_timeout,cluster.name"}


@measures(NAME)
def configuration_change(options: Options) -> Iterator[Figure]:
    """The connect timeout of all clusters, which gives each of them another name."""
    hosts, times = (1_000 if options.quick else 10_000), options.times(3, 1)
    found = asyncio.run(_run(hosts, times, options))
    yield Figure("hosts", hosts, "")
    yield Figure("clusters", found["clusters"], "")
    yield Figure("changes that reached every cluster", found["changes"], "", times, at_least=True)
    yield Figure("requests sent", found["sent"], "")
    yield Figure("requests lost", found["lost"], "", 0)
    yield Figure("lasting responses that were whole", found["whole"], "")
    yield Figure("of these cut", found["cut"], "", 0)
    yield Figure("event to publication, slowest", found["published"], "s")
    yield Figure("event to the last cluster, slowest", found["everywhere"], "s")
    yield Figure("most memory of the control plane", found["most"], "MiB")
    yield Figure("memory of Envoy before", found["before"], "MiB")
    yield Figure("most memory of Envoy", found["envoy"], "MiB")


async def _run(hosts: int, times: int, options: Options) -> dict[str, float]:
    async with backends(2) as ports:
        of = World.of(hosts, backends=ports)
        documents = [world.allow_websockets(document) for document in of.documents()]
        async with served.running(of, (_configuration(2), *documents)) as it:
            found: dict[str, float] = {"before": it.envoy.resident, "changes": 0}
            requests = [Request(world.fqdn(host)) for host in range(0, hosts, 7)]
            load = Load(it.port, requests, RATE)
            lasts = longlived.running(Target(it.port, world.fqdn(0)))
            async with load.running() as tally, lasts as lasting:
                for number in range(times):
                    await _changed(it, 3 + number, of.services, found)
            options.note(
                NAME, failures=dict(tally.failures), cut=dict(lasting.cut), sent=tally.sent
            )
            found["envoy"] = it.envoy.most
    found |= {"sent": tally.sent, "lost": tally.lost, "clusters": of.services}
    return found | {"whole": lasting.whole.total(), "cut": lasting.cut.total()}


async def _changed(it: Site[Fed], seconds: int, clusters: int, found: dict[str, float]) -> None:
    took = await it.change([_configuration(seconds)])
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(PATIENCE):
        while await _reached(it.envoy, seconds) < clusters:
            await asyncio.sleep(0.1)
    found["changes"] += 1
    found["most"] = max(found.get("most", 0), took.most)
    found["published"] = max(found.get("published", 0), took.published - took.came)
    found["everywhere"] = max(found.get("everywhere", 0), loop.time() - took.came)


async def _reached(envoy: Envoy, seconds: int) -> int:
    """How many clusters have the new timeout; 0 while any cluster has another one."""
    dump: dict[str, Any] = json.loads(await envoy.page("/config_dump", **ASKED))
    found = [it["cluster"].get("connect_timeout") for it in dump.get("configs", ())]
    return len(found) if set(found) == {f"{seconds}s"} else 0


def _configuration(seconds: int) -> Document:
    return world.configuration(envoy={"timeouts": {"connectTimeout": f"{seconds}s"}})

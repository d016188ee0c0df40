"""The control plane is killed and started again, under load, with 1,000 hosts.

A host is edited while it is away; an answer that shows the edit proves that Envoy is in sync with
the new process. Requests and long responses must not be affected.
"""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.testbed import longlived, served, world
from tests.testbed.envoys import backends
from tests.testbed.figures import Figure, percentile
from tests.testbed.load import Load, Request, Tally
from tests.testbed.longlived import Target
from tests.testbed.measuring import Options, measures
from tests.testbed.world import World

NAME = "restarts"
HOSTS, RATE = 1_000, 300


@dataclass(slots=True)
class Seen:
    """For each restart: seconds from the kill to the open port, and from that to the sync."""

    opened: list[float] = field(default_factory=list)
    synced: list[float] = field(default_factory=list)


@measures(NAME)
def restarts(options: Options) -> Iterator[Figure]:
    """Killed without a word, as often as asked for."""
    times = options.times(100, 5)
    seen, tally, lasting = asyncio.run(_run(times, options))
    yield Figure("kills", times, "")
    yield Figure("kills survived: the edit made meanwhile was served", len(seen.synced), "",
                 times, at_least=True)  # fmt: skip
    yield Figure("requests sent", tally.sent, "")
    yield Figure("requests lost", tally.lost, "", 0)
    yield Figure("lasting responses that were whole", lasting.whole.total(), "")
    yield Figure("of these cut", lasting.cut.total(), "", 0)
    yield Figure("kill to port open, median", percentile(seen.opened, 0.5), "s")
    yield Figure("kill to port open, slowest", max(seen.opened), "s", 3)
    yield Figure("port open to Envoy in sync, median", percentile(seen.synced, 0.5), "s")
    yield Figure("port open to Envoy in sync, p99", percentile(seen.synced, 0.99), "s", 2.5)


async def _run(times: int, options: Options) -> tuple[Seen, Tally, longlived.Lasting]:
    seen, chance = Seen(), options.random(NAME)
    async with backends(4) as ports:
        of = World.of(HOSTS, backends=ports)
        documents = map(world.allow_websockets, of.documents())
        async with served.running(of, documents) as it:
            load = Load(it.port, [Request(world.fqdn(host)) for host in range(HOSTS)], RATE)
            target = Target(it.port, world.fqdn(0))
            async with load.running() as tally, longlived.running(target) as lasting:
                for number in range(times):
                    document, request, sign = it.edited(chance.randrange(HOSTS))
                    it.put(document)
                    start = time.monotonic()
                    await it.control.end()
                    opened = await it.restart()
                    seen.opened.append(opened - start)
                    seen.synced.append(await it.seen(request, sign) - opened)
                    options.note(NAME, run=number, open=seen.opened[-1], sync=seen.synced[-1])
    options.note(
        NAME, sent=tally.sent, failures=dict(tally.failures),
        whole=dict(lasting.whole), cut=dict(lasting.cut),
    )  # fmt: skip
    return seen, tally, lasting

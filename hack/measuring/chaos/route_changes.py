"""Routes are changed in every way that moves traffic, under load: no request may be lost.

Backends flip, response headers change, Services are renamed, weights are swapped. Before the next
change, an answer that only the new configuration can give proves that a change is served.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from tests.testbed import longlived, probe, served, world
from tests.testbed.envoys import backends
from tests.testbed.fed import Fed
from tests.testbed.figures import Figure, percentile
from tests.testbed.load import Connection, Load, Request
from tests.testbed.longlived import Lasting, Target
from tests.testbed.measuring import Options, measures
from tests.testbed.served import Site
from tests.testbed.world import Document, World

NAME = "route-changes"
HOSTS, BACKENDS, RATE = 40, 4, 600
SLOWEST_RATE = 500


class Change(NamedTuple):
    """The objects that are written and removed at one moment, and how an answer shows it."""

    put: list[Document]
    gone: list[Document]
    sign: probe.Sign


@dataclass(slots=True)
class Host:
    """A host with two Services of its own, on two of the backends."""

    number: int
    of: World
    services: tuple[int, int]
    weights: tuple[int, int] = (1, 0)
    header: str = "0"

    def documents(self) -> list[Document]:
        """All its objects."""
        return [*self._services(), self.proxy()]

    def proxy(self) -> Document:
        """Its HTTPProxy."""
        made = self.of.root(self.number)
        route = made["spec"]["routes"][0]
        pairs = zip(self.services, self.weights, strict=True)
        route["enableWebsockets"] = True
        route["services"] = [{"name": f"service-{it}", "port": 80, "weight": w} for it, w in pairs]
        set_ = [{"name": "x-edit", "value": self.header}]
        route["responseHeadersPolicy"] = {"set": set_}
        del made["spec"]["includes"]
        return made

    def flip(self, _: int) -> Change:
        """Points the route to the other Service."""
        self.services = (self.services[1], self.services[0])
        return Change([self.proxy()], [], self._is_backend())

    def swap(self, _: int) -> Change:
        """Swaps the weights."""
        self.weights = (self.weights[1], self.weights[0])
        return Change([self.proxy()], [], self._is_backend())

    def edit(self, number: int) -> Change:
        """Sets another response header."""
        self.header = str(number)
        return Change([self.proxy()], [], lambda it: it.headers.get("x-edit") == str(number))

    def rename(self, number: int) -> Change:
        """Replaces both Services with new ones, on other backends."""
        gone = self._services()
        first, second = (1_000 * number + (it + 1) % 1_000 for it in self.services)
        self.services = (first, second)
        self.header = f"renamed {number}"
        sign = self._is_backend()
        shown = self.header
        return Change(
            [*self._services(), self.proxy()],
            gone,
            lambda it: sign(it) and it.headers.get("x-edit") == shown,
        )

    def _services(self) -> list[Document]:
        return [
            document | {"metadata": document["metadata"] | {"namespace": self._namespace}}
            for it in self.services
            for document in (self.of.service(it), self.of.slice(it))
        ]

    @property
    def _namespace(self) -> str:
        return world.namespace(self.number)

    def _is_backend(self) -> probe.Sign:
        served = self.services[0] if self.weights[0] else self.services[1]
        name = f"b{served % BACKENDS}"
        return lambda it: it.status == 200 and json.loads(it.body)["backend"] == name


KINDS: dict[str, Callable[[Host, int], Change]] = {
    "backend flip": Host.flip,
    "weights turned": Host.swap,
    "header edit": Host.edit,
    "Service renamed": Host.rename,
}


@measures(NAME)
def route_changes(options: Options) -> Iterator[Figure]:
    """As many changes as asked for, of random kinds on random hosts."""
    number = options.times(10_000, 1_000)
    load, lasting, observed, seconds = asyncio.run(_run(number, options))
    yield Figure("changes made", number, "")
    yield Figure("changes observed in an answer", observed.total(), "", number, at_least=True)
    for kind, times in sorted(observed.items()):
        yield Figure(f"of these: {kind}", times, "")
    rate = load.tally.sent / load.seconds
    yield Figure("requests per second", rate, "1/s", SLOWEST_RATE, at_least=True)
    yield Figure("requests sent", load.tally.sent, "")
    yield Figure("requests lost", load.tally.lost, "", 0)
    yield Figure("8 s streams, HTTP/2 streams and WebSockets that were whole",
                 lasting.whole.total(), "")  # fmt: skip
    yield Figure("of these cut", lasting.cut.total(), "", 0)
    yield Figure("event to first answer, median", percentile(seconds, 0.5) * 1000, "ms")
    yield Figure("event to first answer, p99", percentile(seconds, 0.99) * 1000, "ms")


class Run(NamedTuple):
    """The outcomes of a run."""

    load: Load
    lasting: Lasting
    observed: Counter[str]
    seconds: list[float]


async def _run(number: int, options: Options) -> Run:
    chance = options.random(NAME)
    async with backends(BACKENDS) as ports:
        of = World(HOSTS, HOSTS, backends=ports)
        hosts = [Host(it, of, (2 * it, 2 * it + 1)) for it in range(HOSTS)]
        documents = (it for host in hosts for it in host.documents())
        async with served.running(of, documents) as it:
            load = Load(it.port, [Request(world.fqdn(host)) for host in range(HOSTS)], RATE)
            lasts = longlived.running(Target(it.port, world.fqdn(0)))
            async with load.running() as tally, lasts as lasting:
                observed, seconds = await _changed(it, hosts, number, chance)
    options.note(
        NAME, sent=tally.sent, failures=dict(tally.failures), observed=dict(observed),
        whole=dict(lasting.whole), cut=dict(lasting.cut),
    )  # fmt: skip
    return Run(load, lasting, observed, seconds)


async def _changed(
    it: Site[Fed], hosts: list[Host], times: int, chance: Random
) -> tuple[Counter[str], list[float]]:
    connection, observed, seconds = Connection(it.port), Counter[str](), []
    for number in range(1, times + 1):
        host, kind = chance.choice(hosts), chance.choice(tuple(KINDS))
        change = KINDS[kind](host, number)
        request = Request(world.fqdn(host.number))
        seen, took = await asyncio.gather(
            probe.observed(connection, request, change.sign),
            it.change(change.put, change.gone),
        )
        observed[kind] += 1
        seconds.append(seen - took.came)
    connection.close()
    return observed, seconds

"""The cost of RateLimitFilters: decisions of the process of `contour run`, and edits of filters.

The target of decisions is their number in a second of a core, from the processor time of that
process, so that other load does not matter. The target of edits is the work that they touch, which
is the same however many routes name the filter.
"""

import asyncio
import contextlib
import http.client
import os
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

from hack.measuring import fresh, metered
from hack.measuring.bench import edited, filtered
from hack.measuring.bench.edited import Edit
from hack.measuring.bench.request_cost import answering
from hack.measuring.rush import Rush
from tests.e2e import standalone
from tests.e2e.standalone import Standalone, exchange
from tests.testbed import processes, ratelimit, world
from tests.testbed.figures import Figure, spread
from tests.testbed.measuring import Options, measures
from tests.testbed.programs import processor
from tests.testbed.world import Document, World

MOST = 1_000_000_000
EXACT = 3_000
KIND = "RateLimitFilter"
HOST = "limited.example.com"
DECISIONS = {"memory": 4_000, "Redis": 2_000}
"""The least number of decisions in a second of a core, by where they are counted."""


@measures("rate-limit-decisions", "bench")
def decisions(options: Options) -> Iterator[Figure]:
    """Through Envoy, counted in memory and in a Redis; then how many of 10,000 requests pass."""
    yield from asyncio.run(_decisions(options))


async def _decisions(options: Options) -> list[Figure]:
    rounds, number = options.times(5, 3), 2_000 if options.quick else 10_000
    made: list[Figure] = []
    async with answering() as backend:
        for store in DECISIONS:
            made += _of_store(store, backend, rounds, number, options.random(store))
    return made


def _of_store(
    store: str, backend: int, rounds: int, number: int, chance: Random
) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="limits-") as path, contextlib.ExitStack() as stack:
        folder = Path(path)
        is_stored = store == "Redis"
        address = stack.enter_context(ratelimit.redis(folder)).address if is_stored else ""
        it = stack.enter_context(_running(folder, address, backend))
        name = f"decisions a second of its processor time, in {store}"
        value = _decided(it, rounds, number, chance)
        yield Figure(name, value, "", DECISIONS[store], at_least=True)
        yield from _exact(it, store)


def _decided(it: Standalone, rounds: int, number: int, chance: Random) -> float:
    pid, rush = _process(it), Rush(it.ports["http"], [HOST], chance)
    rush.send(number)  # to warm up
    found: list[float] = []
    for _ in range(rounds):
        before = processor(pid)
        rush.send(number)
        found.append(number / (processor(pid) - before))
    rush.close()
    return statistics.median(found)


def _exact(it: Standalone, store: str) -> Iterator[Figure]:
    """Of more requests than the limit, exactly the limit passes, and all are counted."""
    with contextlib.closing(it.connection("http", HOST)) as connection:
        answers = [exchange(connection, HOST, "/exact").status for _ in range(10_000)]
    passed = answers.count(200)
    yield Figure(f"of 10,000 requests, too many or few that pass, in {store}",
                 abs(passed - EXACT), "", 0)  # fmt: skip
    errors = sum(it.statistics(r"^cluster\..*\.ratelimit\.error$").values())
    yield Figure(f"requests that Envoy could not have counted, in {store}", errors, "", 0)


def _process(it: Standalone) -> int:
    """The PID of the service."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if f"-m contour.ratelimits unix:{it.state}" in words:
                return int(path.parent.name)
    raise RuntimeError("the rate limit service does not run")


P99 = 20.0
"""Milliseconds that the slowest of a hundred decisions may take while every host is rebuilt."""


_PATIENCE = 600.0
"""Seconds to wait until all hosts are served."""


@measures("rate-limit-latency", "bench")
def latency(options: Options) -> Iterator[Figure]:
    """Requests that are counted, one after another, at rest and while every host is rebuilt."""
    yield from asyncio.run(_latency(options))


async def _latency(options: Options) -> list[Figure]:
    hosts, rounds = (1_000, 2) if options.quick else (10_000, 5)
    async with answering() as backend:
        with (
            tempfile.TemporaryDirectory(prefix="limits-") as path,
            _running(Path(path), "", backend) as it,
            contextlib.closing(it.connection("http", HOST)) as connection,
        ):
            it.write("hosts.yaml", world.text(World.of(hosts).documents()))
            last = f"http://{world.fqdn(hosts - 1)}/"
            processes.wait(lambda: it.ask(last).status != 404, "the hosts", _PATIENCE)
            pid = _process(it)
            rest, waited = _asked(connection, 5), _waited(pid)
            rebuilding: list[float] = []
            for number in range(rounds):
                every = f"envoy: {{cluster: {{circuitBreakers: {{maxConnections: {9 + number}}}}}}}"
                it.write("configuration.yaml", _configuration("failClosed: false", every))
                rebuilding += _asked(connection, 5)
            waited = _waited(pid) - waited
            it.process.kill()  # it may be in the middle of a rebuild
    name = f"a request that is counted: while {hosts:,} hosts are rebuilt"
    return [
        *spread("a request that is counted: at rest", rest),
        *spread(name, rebuilding, None, P99),
        # Nice levels could improve this: the service is ready, and other processes have the cores.
        Figure(f"{name}, the service waited for a core", waited / len(rebuilding) * 1000, "ms"),
        Figure("load of the machine", os.getloadavg()[0], ""),
    ]


def _waited(pid: int) -> float:
    """The seconds for which the threads of a process were ready but did not run."""
    found = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(it.read_text().split()[1]) for it in found) / 1e9


def _asked(connection: http.client.HTTPConnection, duration: float) -> list[float]:
    """The seconds that each request took, of as many as fit into the time."""
    found: list[float] = []
    end = time.perf_counter() + duration
    while (start := time.perf_counter()) < end:
        if exchange(connection, HOST, "/").status != 200:
            raise AssertionError("a request within its limit was refused")
        found.append(time.perf_counter() - start)
    return found


@contextlib.contextmanager
def _running(folder: Path, redis: str, backend: int) -> Iterator[Standalone]:
    settings = f"redis: {{address: '{redis}'}}" if redis else "failClosed: false"
    files = {
        "limits.yaml": world.text(_limited(backend)),
        "configuration.yaml": _configuration(settings),
    }
    with standalone.standalone(folder, files) as it:
        subject = "RateLimitFilter default/exact"
        processes.wait(lambda: it.status()[subject]["state"] == "ok", "the service")
        yield it


def _configuration(limits: str, more: str = "") -> str:
    return (
        "apiVersion: projectcontour.io/v1alpha1\nkind: ContourConfiguration\n"
        "metadata: {name: contour, namespace: default}\nspec:\n"
        "  gateway: {controllerName: projectcontour.io/gateway-controller}\n"
        f"  rateLimitFilters: {{{limits}}}\n  {more}\n"
    )


def _limited(backend: int) -> Iterator[Document]:
    yield from filtered.gateway()
    endpoints = {
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["127.0.0.1"]}],
        "ports": [{"name": "", "port": backend}],
    }
    named = {"name": "one", "namespace": "default", "labels": {"kubernetes.io/service-name": "one"}}
    identity = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": named}
    yield identity | endpoints
    yield _filter("all", MOST)
    yield _filter("exact", EXACT)
    yield _route("limited", {"/": "all", "/exact": "exact"})


EDITS = 20


@measures("rate-limit-edits", "bench")
def edits(options: Options) -> Iterator[Figure]:
    """The number of one filter of many is edited; then of one that many routes name."""
    many = 200 if options.quick else 1_000
    yield from _figures(f"one of {many:,} filters edited", fresh.fresh(_alone, many))
    sizes = (100, 1_000) if options.quick else (1_000, 10_000)
    found = [fresh.fresh(_shared, it) for it in sizes]
    for routes, edit in zip(sizes, found, strict=True):
        yield from _figures(f"a filter that {routes:,} routes name edited", edit)
    yield Figure(
        "rules run more for ten times as many routes", found[1].runs - found[0].runs, "", 0
    )


def _figures(name: str, found: Edit) -> Iterator[Figure]:
    return edited.figures(name, found, most=None, parts=1)


async def _alone(filters: int) -> Edit:
    """Each filter has a route of its own."""
    documents = [
        *(_filter(f"f{it}", 5) for it in range(filters)),
        *(_route(f"r{it}", {"/": f"f{it}"}, f"h{it}.example") for it in range(filters)),
    ]
    return await _edited(documents, [_filter(f"f{it}", 6) for it in range(EDITS)])


async def _shared(routes: int) -> Edit:
    """Each route names the same filter, of ten rules."""
    made = (_route(f"r{it}", {"/": "all"}, f"h{it}.example") for it in range(routes))
    documents = [_filter("all", 5, more=9), *made]
    return await _edited(documents, [_filter("all", 6 + it, more=9) for it in range(EDITS)])


async def _edited(documents: Iterable[Document], edits_: Iterable[Document]) -> Edit:
    made, _ = metered.built([*filtered.gateway(), *documents])
    await made.connect()
    return await edited.edit(made, edits_)


def _filter(name: str, requests: int, more: int = 0) -> Document:
    """A filter with one rule for all requests, and more for those with a certain header."""
    rules: list[dict[str, object]] = [{"limit": {"requests": requests, "unit": "Day"}}]
    for it in range(more):
        selected = {"headers": [{"name": f"x-{it}", "value": "a"}]}
        rules.append({"clientSelectors": [selected], "limit": {"requests": 5, "unit": "Day"}})
    return filtered.filter_(KIND, name, {"type": "Global", "global": {"rules": rules}})


def _route(name: str, filters: dict[str, str], host: str = HOST) -> Document:
    return filtered.route(name, KIND, filters, host)

"""One change in a large world: from the event to the answer that shows it, through a real Envoy."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from random import Random
from typing import Any

from tests.testbed import probe, served, world
from tests.testbed.envoys import backends
from tests.testbed.fed import Fed, Took
from tests.testbed.figures import Figure, spread
from tests.testbed.load import Connection, Request
from tests.testbed.measuring import Options, measures
from tests.testbed.served import Site, is_ok
from tests.testbed.world import World

Measured = tuple[float, float]
"""Seconds from the event to the publication, and to the answer."""

Memory = tuple[float, float]
"""Envoy's memory in MiB, before and after the changes."""


@measures("one-route-edit")
def one_route_edit(options: Options) -> Iterator[Figure]:
    """A response header changes on one of 10,000 plain HTTP hosts."""
    times = options.times(500, 100)
    of = World.of(2_000 if options.quick else 10_000)
    found, memory = asyncio.run(_measured(of, _edits, times, options.random("one-route-edit")))
    yield Figure("hosts", of.hosts, "")
    yield from spread("event to publication", [it for it, _ in found], 2)
    yield from spread("event to the answer that shows it", [it for _, it in found], 10)
    yield Figure("Envoy's memory", memory[1], "MiB")


@measures("endpoint-change")
def endpoint_change(options: Options) -> Iterator[Figure]:
    """The endpoint of one of 5,000 Services changes."""
    times, number = options.times(500, 100), 1_000 if options.quick else 5_000
    of = World(number, number)
    found, memory = asyncio.run(_measured(of, _endpoints, times, options.random("endpoint-change")))
    yield Figure("clusters", number, "")
    yield from spread("event to the answer from it", [it for _, it in found], 5)
    yield Figure("Envoy's memory", memory[1], "MiB")


@measures("tls-host")
def tls_host(options: Options) -> Iterator[Figure]:
    """A TLS host joins 10,000 that share 100 certificates."""
    times = options.times(50, 20)
    of = World.of(2_000 if options.quick else 10_000, certificates=100, children=False)
    found, memory = asyncio.run(_measured(of, _tls_hosts, times, options.random("tls-host")))
    yield Figure("TLS hosts", of.hosts, "")
    yield from spread("event to publication", [it for it, _ in found])
    yield from spread("event to served over TLS", [it for _, it in found], 100)
    yield Figure("Envoy's memory before", memory[0], "MiB", 300)
    yield Figure("Envoy's memory after", memory[1], "MiB", 300)


Changes = Callable[[Site[Fed], World, Random], AsyncIterator[Measured]]


async def _measured(
    of: World, changes: Changes, times: int, chance: Random
) -> tuple[list[Measured], Memory]:
    found: list[Measured] = []
    async with backends(2) as ports:
        of = dataclasses.replace(of, backends=ports)
        async with served.running(of) as it:
            before = it.envoy.resident
            async for measured in changes(it, of, chance):
                found.append(measured)
                if len(found) == times:
                    break
            return found, (before, it.envoy.resident)


async def _edits(it: Site[Fed], of: World, chance: Random) -> AsyncIterator[Measured]:
    connection, number = Connection(it.port), 0
    while True:
        number += 1
        host, shown = chance.randrange(of.hosts), f"edit {number}"
        request = Request(world.fqdn(host), "/api/v1")
        edited = it.change([of.child(host, header=shown)])
        seen = probe.observed(connection, request, _shows(shown))
        yield await _took(seen, edited)


async def _endpoints(it: Site[Fed], of: World, chance: Random) -> AsyncIterator[Measured]:
    connection, turned = Connection(it.port), set[int]()
    while True:
        service = chance.randrange(of.services)
        turned ^= {service}
        backend = (service + (service in turned)) % 2
        changed = it.change([of.slice(service, [of.backends[backend]])])
        request = Request(world.fqdn(service))
        yield await _took(probe.observed(connection, request, _is_from(f"b{backend}")), changed)


async def _tls_hosts(it: Site[Fed], of: World, _: Random) -> AsyncIterator[Measured]:
    number = of.hosts
    may_be = frozenset({probe.NO_CONNECTION, 404, 421})
    while True:
        name = world.fqdn(number)
        connection = Connection(it.tls_port, server_name=name)
        seen = probe.observed(connection, Request(name), is_ok, may_be)
        yield await _took(seen, it.change(of.host(number)))
        connection.close()
        number += 1


async def _took(seen: Coroutine[Any, Any, float], change: Coroutine[Any, Any, Took]) -> Measured:
    answered, took = await asyncio.gather(seen, change)
    return took.published - took.came, answered - took.came


def _shows(shown: str) -> probe.Sign:
    return lambda answer: answer.headers.get("x-edit") == shown


def _is_from(backend: str) -> probe.Sign:
    return lambda answer: bool(json.loads(answer.body)["backend"] == backend)

"""An extension with all four hooks fails in every way, under load and changes.

It guards a path of each host. While it hangs, is dead, replies with garbage, with 5 MB, with
resources of others, or differently each time, and while the control plane restarts without it, no
request may be lost and no guarded one let through. Edits made meanwhile are served soon after it is
back. After replies with resources of others it comes back as another process, as a repaired one
would, because answered calls are not repeated on one connection. The control plane is killed after
it has saved the replies, which it does every second, and before any edit: a restart keeps only
replies, not the last good state of a host.
"""

import asyncio
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from hack.measuring.guarding import GOOD, GOOD_TAG, GUARDED, SCRIPTS, Guarding
from tests.testbed import probe, served, world
from tests.testbed.envoys import backends
from tests.testbed.fed import Fed
from tests.testbed.figures import Figure, percentile
from tests.testbed.load import Load, Request, Tally
from tests.testbed.measuring import Options, measures
from tests.testbed.served import Site
from tests.testbed.world import Document, World

NAME = "extension-faults"
HOSTS, RATE, EDITS = 40, 200, 5
LEFT_ALONE = 10
"""Hosts that nobody edits, so what the extension has answered about them may never change."""
REQUESTS = 50_000
CALLED = "guarded.example.com"
KIND = {"group": "example.com", "version": "v1", "kind": "Guard"}
REFUSED = "403 "
DIES, RESTART = "dies", "is away while the control plane starts again"
FAULTS = (*(it for it in SCRIPTS if it != GOOD), DIES, RESTART)


@dataclass(slots=True)
class Seen:
    """The outcomes of all faults."""

    faults: Counter[str] = field(default_factory=Counter)
    back: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    """By the fault: seconds from the return of the extension until all edits are served."""
    pushed: int = 0
    """How many hosts were served with another reply although nobody edited them."""


@measures(NAME)
def extension_faults(options: Options) -> Iterator[Figure]:
    """Faults in a random order, at least as many as asked for, until enough requests are sent."""
    times, least = options.times(20, 8), 2_000 if options.quick else REQUESTS
    seen, open_, guarded = asyncio.run(_run(times, least, options))
    yield Figure("faults", seen.faults.total(), "", times, at_least=True)
    for name, number in sorted(seen.faults.items()):
        yield Figure(f"of these: the extension {name}", number, "")
    yield Figure("requests sent", open_.sent, "", least, at_least=True)
    yield Figure("requests lost", open_.lost, "", 0)
    yield Figure("guarded requests sent", guarded.sent, "")
    yield Figure("of these let through", guarded.answers.total(), "", 0)
    others = guarded.failures.total() - guarded.failures[REFUSED]
    yield Figure("of these not answered by the guard", others, "", 0)
    yield Figure("hosts served otherwise that nobody edited", seen.pushed, "", 0)
    for name, seconds in sorted(seen.back.items()):
        yield Figure(
            f"the extension {name}: back to all edits served, slowest", max(seconds), "s", 1
        )
    every = [it for seconds in seen.back.values() for it in seconds]
    yield Figure("back to all edits served, median", percentile(every, 0.5), "s", 1)


async def _run(times: int, least: int, options: Options) -> tuple[Seen, Tally, Tally]:
    with tempfile.TemporaryDirectory(prefix="guard-") as folder:
        server = Guarding(Path(folder, "guard.sock"))
        await server.start()
        try:
            return await _loaded(server, times, least, options)
        finally:
            await server.end()


async def _loaded(
    server: Guarding, times: int, least: int, options: Options
) -> tuple[Seen, Tally, Tally]:
    seen, chance = Seen(), options.random(NAME)
    async with backends(2) as ports:
        of = World(HOSTS, HOSTS, backends=ports)
        documents = [_configuration(server), *of.documents(), *_route()]
        async with served.running(of, documents) as site:
            secret = [Request(world.fqdn(it), GUARDED) for it in range(HOSTS)]
            secret.append(Request(CALLED, GUARDED))
            async with (
                site.load(RATE).running() as open_,
                Load(site.port, secret, RATE / 2).running() as guarded,
            ):
                order = list(FAULTS)
                while seen.faults.total() < times or open_.sent < least:
                    if seen.faults.total() % len(FAULTS) == 0:
                        chance.shuffle(order)
                    fault = order[seen.faults.total() % len(FAULTS)]
                    await _one(site, server, fault, chance, seen)
                    seen.faults[fault] += 1
                    options.note(NAME, fault=fault, back=seen.back[fault][-1], lost=open_.lost)
    options.note(NAME, failures=dict(open_.failures), guarded=dict(guarded.failures))
    return seen, open_, guarded


async def _one(site: Site[Fed], server: Guarding, fault: str, chance: Random, seen: Seen) -> None:
    """Causes a fault, edits hosts, and ends the fault; each edit has to be served in the end."""
    edited, other = chance.sample(range(LEFT_ALONE, HOSTS), EDITS), chance.randrange(LEFT_ALONE)
    if fault in (DIES, RESTART):
        await server.end()
    else:
        await server.ask(fault)
    if fault == RESTART:
        await site.control.end()
        await site.restart()
    awaited: list[tuple[Request, probe.Sign]] = []
    for number in edited:
        document, request, sign = site.edited(number)
        awaited.append((request, sign))
        await site.change([document])
        await asyncio.sleep(chance.uniform(0.05, 0.5))
    await asyncio.sleep(chance.uniform(0.5, 2.0))
    seen.pushed += await _tag(site, other) != GOOD_TAG
    if fault in (DIES, RESTART):
        await server.start()
    else:
        await server.ask(GOOD)
    start = time.monotonic()
    times = await asyncio.gather(*(site.seen(*it) for it in awaited))
    seen.back[fault].append(max(0.0, max(times) - start))


async def _tag(site: Site[Fed], number: int) -> str:
    """The value of the header that shows which reply of the extension is served for a host."""
    return (await site.answer(Request(world.fqdn(number)))).headers["x-tag"]


def _configuration(server: Guarding) -> Document:
    entry: dict[str, Any] = {
        "name": "guard",
        "hooks": {"post": ["Route", "VirtualHost", "HTTPListener", "Translation"]},
        "resources": [KIND],
        "service": {"unix": str(server.path)},
        "timeout": "1s",
        "retries": 1,
    }
    gateway = {"controllerName": "projectcontour.io/gateway-controller"}
    return world.configuration(extensions=[entry], gateway=gateway)


def _route() -> list[Document]:
    """A host of the Gateway API; an object of the extension closes its guarded path."""
    route = world.http_route(1, 0, CALLED, GUARDED)
    reference = {key: KIND[key] for key in ("group", "kind")} | {"name": "one"}
    route["spec"]["rules"][0]["filters"] = [{"type": "ExtensionRef", "extensionRef": reference}]
    metadata = {"name": "one", "namespace": world.namespace(0)}
    guard = {"apiVersion": "example.com/v1", "kind": "Guard", "metadata": metadata, "spec": {}}
    return [*world.gateway(), guard, route]

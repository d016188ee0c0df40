"""The cost of an edit with an extension that is called for every host, and for all clusters.

The targets are in processor time of the control plane, until the host is served and until the reply
for all clusters has come. The extension runs in a process of its own.
"""

import asyncio
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from contour.envoy.fleets import FleetKey
from contour.envoy.hooks import questions
from contour.events import Batch
from dag.fleetnames import DEFAULT_FLEET
from hack.measuring import edits, fresh, metered
from tests.testbed import world
from tests.testbed.figures import Figure, spread
from tests.testbed.measuring import Options, measures
from tests.testbed.world import World

ONE = ("VirtualHost",)
ALL = ("Route", "VirtualHost", "HTTPListener", "Translation")
PATIENCE = 120.0
_EDIT, _CLUSTER = 5.0, 100.0
"""Milliseconds, at most."""


@measures("extension-edits", "bench")
def extension_edits(options: Options) -> Iterator[Figure]:
    """One route, and then one cluster, edited behind an extension."""
    hosts = 1_000 if options.quick else 10_000
    for hooks in (ONE, ALL):
        found = fresh.fresh(_edited, hosts, hooks, options.times(100, 20), options.seed)
        for name, (seconds, limit) in found.items():
            said = f"{hosts:,} hosts, {len(hooks)} of the hooks: {name}, processor time"
            yield from spread(said, seconds, limit)


async def _edited(
    hosts: int, hooks: tuple[str, ...], times: int, seed: int
) -> dict[str, tuple[list[float], float | None]]:
    of = World.of(hosts)
    with tempfile.TemporaryDirectory(prefix="tags-") as folder:
        path = Path(folder, "tags.sock")
        server = subprocess.Popen([sys.executable, "-m", "hack.measuring.tagging", str(path)])
        try:
            made = await _begun(of, hooks, path)
            routes = list(itertools.islice(edits.route_edited(of, Random(seed)), times))
            clusters = list(itertools.islice(_other_clusters(of), max(3, times // 10)))
            served = [await _measured(made, it) for it in routes]
            found: dict[str, tuple[list[float], float | None]] = {
                "a route edited, until it is served": ([it for it, _ in served], _EDIT),
                "with all answers that follow": ([it for _, it in served], None),
            }
            changed = [await _measured(made, it) for it in clusters]
            found["a cluster changed, until it is served"] = ([it for it, _ in changed], _CLUSTER)
            await made.asker.close()
        finally:
            server.terminate()
            server.wait()
    return found


async def _begun(of: World, hooks: tuple[str, ...], path: Path) -> metered.Metered:
    """An instance whose first calls are all answered."""
    entry = {
        "name": "tags", "hooks": {"post": list(hooks)}, "service": {"unix": str(path)},
        "timeout": "60s", "resources": [{"group": "example.com", "version": "v1", "kind": "Tag"}],
    }  # fmt: skip
    if "Route" not in hooks:
        del entry["resources"]
    made, _ = metered.built([world.configuration(extensions=[entry]), *of.documents()])
    await made.asker.begin(patience=PATIENCE)
    await made.connect()
    return made


def _other_clusters(of: World) -> Iterator[Batch]:
    """Another policy of one route, which results in a new cluster."""
    for number in range(of.hosts):
        document = of.child(number)
        document["spec"]["routes"][0]["loadBalancerPolicy"] = {"strategy": "Random"}
        yield world.batch(document)


async def _measured(made: metered.Metered, batch: Batch) -> tuple[float, float]:
    """Seconds of processor time until something was published, and until no call is open."""
    start = time.process_time()
    work = await made.change(batch)
    parts = made.parts - work.parts
    await _until(lambda: made.parts > parts)
    served = time.process_time() - start
    await _until(lambda: not _is_asked(made))
    return served, time.process_time() - start


def _is_asked(made: metered.Metered) -> bool:
    found = made.controller.engine.answer(questions.translated, FleetKey(DEFAULT_FLEET))
    return found is not None and not found.is_finished


async def _until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not what():
            await asyncio.sleep(0.001)
